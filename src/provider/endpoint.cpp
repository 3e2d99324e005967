#include "provider/endpoint.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace heddle::provider {

// The context first: until it is gone it may still receive into the memory of all the rest.
Endpoint::~Endpoint() {
  context.reset();
}

int Endpoint::add(fi_addr_t address, Rank& rank) {
  if (addresses == nullptr || address >= addresses->names.size() || !addresses->names[address]) return -FI_EINVAL;
  rank = context->rank();
  if (*addresses->names[address] != name) {
    const auto added = context->add_peer(*addresses->names[address]);
    if (!added) return refuse(added.error());
    rank = *added;
  }
  const auto number = static_cast<std::uint32_t>(rank);
  if (address >= ranks_.size()) ranks_.resize(addresses->names.size(), kUnknown);
  if (number >= known_addresses_.size()) known_addresses_.resize(number + 1, FI_ADDR_NOTAVAIL);
  static_cast<void>(acquaintance(Rank{number}));
  ranks_[address] = number;
  known_addresses_[number] = address;
  return 0;
}

// The peer itself stays: it may still have something to say, and may be inserted again.
void Endpoint::forget(fi_addr_t address) {
  if (address >= ranks_.size() || ranks_[address] == kUnknown) return;
  if (known_addresses_[ranks_[address]] == address) known_addresses_[ranks_[address]] = FI_ADDR_NOTAVAIL;
  ranks_[address] = kUnknown;
}

// A rank that nobody has sent to may still be that of an address: then adding the address gives it.
fi_addr_t Endpoint::address_of(Rank rank) {
  const auto number = static_cast<std::uint32_t>(rank);
  const auto known = [&] { return number < known_addresses_.size() ? known_addresses_[number] : FI_ADDR_NOTAVAIL; };
  if (known() != FI_ADDR_NOTAVAIL || addresses == nullptr) return known();
  for (fi_addr_t address = 0; address < addresses->names.size(); ++address) {
    Rank found{};
    if (addresses->names[address] && rank_of(address, found) == 0 && found == rank) {
      if (number >= known_addresses_.size()) known_addresses_.resize(number + 1, FI_ADDR_NOTAVAIL);
      return known_addresses_[number] = address;
    }
  }
  return FI_ADDR_NOTAVAIL;
}

Operation& Endpoint::take(Operation::Kind kind) {
  if (free_ == nullptr) free_ = &operations_.emplace_back();
  Operation& operation = *free_;
  free_ = operation.next;
  operation.kind = kind;
  operation.wanted = false;
  operation.listed = false;
  operation.endpoint = this;
  operation.parent = nullptr;
  operation.code = ErrorCode::ok;
  operation.next = nullptr;
  operation.previous = nullptr;
  if (kind == Operation::Kind::receive) {
    operation.next = receives_;
    if (receives_ != nullptr) receives_->previous = &operation;
    receives_ = &operation;
  }
  return operation;
}

void Endpoint::give_back(Operation& operation) {
  if (operation.kind == Operation::Kind::receive) {
    (operation.previous == nullptr ? receives_ : operation.previous->next) = operation.next;
    if (operation.next != nullptr) operation.next->previous = operation.previous;
  }
  if (!operation.copy.empty()) operation.copy = {};
  operation.next = free_;
  free_ = &operation;
}

std::size_t Endpoint::progress() {
  std::size_t all = 0;
  for (;;) {
    const std::size_t count = context->poll(events_);
    for (std::size_t i = 0; i < count; ++i) handle(events_[i]);
    all += count;
    if (count < events_.size()) break;
  }
  if (!outbox_.empty()) all += flush_outbox();
  if (!listed_.empty()) all += match_listed();
  return all;
}

bool Endpoint::may_sleep() {
  if (!outbox_.empty()) return false;
  const auto ready = context->ready_to_sleep();
  return ready && *ready;
}

void Endpoint::wake_all() {
  for (CompletionQueue* queue : {transmit_queue, receive_queue})
    if (queue != nullptr) queue->sleep.wake_whoever_sleeps();
  for (Counter* counter : counters)
    if (counter != nullptr) counter->sleep.wake_whoever_sleeps();
}

// The commonest end: of a plain receive that got its message.
inline bool Endpoint::received_whole(const Event& event) {
  if (event.kind != Event::Kind::received || event.completion.code != ErrorCode::ok || event.cookie == 0) return false;
  Operation& operation = *reinterpret_cast<Operation*>(event.cookie);
  if (operation.kind != Operation::Kind::receive || operation.parent != nullptr) return false;
  if (operation.wanted) {
    CompletionQueue::Entry& to = receive_queue->entries.push_back();
    to.entry = {.op_context = operation.context,
                .flags = operation.flags | (event.completion.has_data ? FI_REMOTE_CQ_DATA : 0),
                .len = event.completion.bytes,
                .buf = operation.buffer,
                .data = event.completion.has_data ? event.completion.data : 0,
                .tag = static_cast<std::uint64_t>(event.completion.tag)};
    to.source = (caps & FI_SOURCE) != 0 ? address_of(event.completion.peer) : FI_ADDR_NOTAVAIL;
    receive_queue->sleep.wake_whoever_sleeps();
  }
  count(Counted::receive, true);
  give_back(operation);
  return true;
}

void Endpoint::handle(const Event& event) {
  if (received_whole(event)) [[likely]]
    return;
  switch (event.kind) {
    case Event::Kind::sent:
    case Event::Kind::received:
      if (event.cookie == kLetter) return; // its peer is gone, as another event says
      if (event.cookie != 0)
        return ended(*reinterpret_cast<Operation*>(event.cookie), event.completion,
                     event.kind == Event::Kind::received);
      return count(Counted::send, false); // something injected has not arrived
    case Event::Kind::peer_failed:
    case Event::Kind::peer_left:
    case Event::Kind::connection_lost: return peer_gone(event.completion.peer, event.completion.code);
    case Event::Kind::unsolicited_arrived: return context->release(event.unsolicited); // no endpoint sends these
    case Event::Kind::unsolicited_left:
    case Event::Kind::barrier_passed:
    case Event::Kind::exchanged:
    case Event::Kind::pattern_ended:
    case Event::Kind::pushed:
    case Event::Kind::one_sided_ended: return;
  }
}

void Endpoint::ended(Operation& operation, const Completion& completion, bool received) {
  switch (operation.kind) {
    case Operation::Kind::send:
    case Operation::Kind::receive: report(operation, completion); break;
    case Operation::Kind::control_receive: {
      const std::span<const std::byte> whole(operation.buffer, completion.bytes);
      if (completion.code == ErrorCode::ok && whole.size() >= sizeof(Control)) {
        Control control;
        std::memcpy(&control, whole.data(), sizeof control);
        serve(completion.peer, control, whole.subspan(sizeof control));
      }
      if (completion.code != ErrorCode::cancelled) post_control(operation);
      return;
    }
    case Operation::Kind::bulk: bulk_ended(operation, completion, received); break;
    case Operation::Kind::landing: landed(operation, completion); break;
    case Operation::Kind::discard:
    case Operation::Kind::answer: break;
    case Operation::Kind::remote: return; // ends part by part
    case Operation::Kind::greeting: acquaintances_[static_cast<std::uint32_t>(operation.peer)].reached = true; break;
  }
  give_back(operation);
}

// What becomes of a message of the program's: an entry in its queue, and a count.
void Endpoint::report(Operation& operation, const Completion& completion) {
  const bool comes = operation.kind == Operation::Kind::receive;
  CompletionQueue* queue = comes ? receive_queue : transmit_queue;
  const bool ok = completion.code == ErrorCode::ok;
  std::uint64_t flags = operation.flags;
  if (comes && completion.has_data) flags |= FI_REMOTE_CQ_DATA;
  bool wanted = operation.wanted;
  if (Operation* parent = operation.parent) {
    if (--parent->children == 0 && !parent->listed) {
      flags |= FI_MULTI_RECV; // the buffer is the program's again
      wanted = true;
      give_back(*parent);
    }
  }
  const bool tells_source = comes && (caps & FI_SOURCE) != 0;
  const fi_addr_t source = tells_source ? address_of(completion.peer) : FI_ADDR_NOTAVAIL;
  if (ok && wanted && queue != nullptr) {
    queue->add(CompletionQueue::Entry{.entry = {.op_context = operation.context,
                                                .flags = flags,
                                                .len = comes ? completion.bytes : 0,
                                                .buf = comes ? operation.buffer : nullptr,
                                                .data = comes ? completion.data : 0,
                                                .tag = comes ? static_cast<std::uint64_t>(completion.tag) : 0},
                                      .source = source});
  } else if (!ok && queue != nullptr) {
    queue->add(CompletionQueue::Failure{.entry = {.op_context = operation.context,
                                                  .flags = flags,
                                                  .len = completion.bytes,
                                                  .buf = operation.buffer,
                                                  .data = completion.data,
                                                  .tag = static_cast<std::uint64_t>(completion.tag),
                                                  .olen = completion.message_bytes - completion.bytes,
                                                  .err = number_of(completion.code),
                                                  .prov_errno = static_cast<int>(completion.code),
                                                  .err_data = nullptr,
                                                  .err_data_size = 0},
                                        .source = source});
  }
  count(comes ? Counted::receive : Counted::send, ok);
}

} // namespace heddle::provider

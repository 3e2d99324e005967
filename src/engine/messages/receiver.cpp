#include "engine/messages/receiver.hpp"

#include "engine/messages/machines.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::engine {

bool Receiver::keep(Link& link, Lead lead, std::uint64_t tag, const RequestToSend& request, const std::byte* data,
                    std::uint64_t bytes) {
  const bool is_request = lead.kind == RecordKind::request_to_send;
  const auto buffer = is_request ? BufferPool::Buffer{} : core_.buffers.take(bytes);
  if (!is_request && bytes > 0 && buffer.data == nullptr) return false;
  Arrived* place = nullptr;
  try {
    place = &core_.take_unexpected();
  } catch (const std::bad_alloc&) {
    core_.buffers.give_back(buffer);
    return false;
  }
  Arrived& message = *place;
  message.source = link.rank;
  message.channel = lead.channel;
  message.tag = tag;
  message.bytes = is_request ? request.bytes : bytes;
  message.waits_at_sender = is_request;
  message.synchronous = lead.kind == RecordKind::eager_synchronous;
  message.request = request;
  message.data = buffer.data;
  message.capacity = buffer.capacity;
  if (buffer.data != nullptr) base::copy_bytes(buffer.data, data, bytes);
  core_.matching_of(lead.channel).add(message);
  return true;
}

Taken Receiver::synchronous(Link& link, Lead lead, std::uint64_t tag, const std::byte* content) {
  SynchronousHead head;
  if (lead.bytes < sizeof head) return Taken::senseless;
  std::memcpy(&head, content, sizeof head);
  const std::byte* payload = content + sizeof head;
  const std::uint64_t bytes = lead.bytes - sizeof head;
  Operation* receive = core_.matching_of(lead.channel).take_receive(link.rank, tag);
  if (receive == nullptr)
    return keep(link, lead, tag, {.sender = head.sender}, payload, bytes) ? Taken::yes : Taken::later;
  tell_matched(link, head.sender, bytes);
  deliver(*receive, link.rank, tag, payload, bytes);
  return Taken::yes;
}

void Receiver::tell_matched(Link& link, OperationName sender, std::uint64_t bytes) {
  outbox_.write_control(link, RecordKind::finish, Finish::of(sender, bytes));
}

Taken Receiver::unsolicited(Link& link, Lead lead, std::uint64_t tag, const std::byte* content) {
  // While the program has none that it could release, what is being fetched holds the memory, and may be just behind this record.
  const bool has_room = core_.unsolicited.has_room(lead.bytes) || core_.arrivals_held() == 0;
  if (!has_room || !core_.may_deliver()) return Taken::later;
  const BufferPool::Buffer buffer = core_.buffers.take(lead.bytes);
  if (lead.bytes > 0 && buffer.data == nullptr) return Taken::later;
  if (!core_.promise_arrival()) {
    core_.buffers.give_back(buffer);
    return Taken::later;
  }
  if (lead.bytes > 0) base::copy_bytes(buffer.data, content, lead.bytes);
  core_.unsolicited.take(buffer.capacity);
  core_.deliver_arrival(link.rank, tag, buffer, lead.bytes);
  return Taken::yes;
}

Taken Receiver::asked_to_send(Link& link, Lead lead, std::uint64_t tag, const std::byte* content) {
  RequestToSend request;
  if (lead.bytes != sizeof request) return Taken::senseless;
  std::memcpy(&request, content, sizeof request);
  Operation* receive = core_.matching_of(lead.channel).take_receive(link.rank, tag);
  if (receive == nullptr) return keep(link, lead, tag, request, nullptr, 0) ? Taken::yes : Taken::later;
  fetch(*receive, link, tag, request);
  return Taken::yes;
}

Taken Receiver::asked_to_send_unsolicited(Link& link, Lead lead, std::uint64_t tag, const std::byte* content) {
  RequestToSend request;
  if (lead.bytes != sizeof request) return Taken::senseless;
  std::memcpy(&request, content, sizeof request);
  if (request.bytes == 0) return Taken::senseless;
  // One that is too large for all there is would wait for ever: its sender is told. Others wait for what is released.
  if (core_.unsolicited.exceeds(request.bytes))
    refuse(link, request);
  else if (!waiting_.empty() || !fetch_unsolicited(link, tag, request))
    waiting_.push_back({.link = &link, .tag = tag, .request = request});
  return Taken::yes;
}

Link* Receiver::fetch_waiting() {
  if (waiting_.empty()) return nullptr;
  const Waiting first = waiting_.front();
  if (!fetch_unsolicited(*first.link, first.tag, first.request)) return nullptr;
  waiting_.pop_front();
  return first.link;
}

bool Receiver::fetch_unsolicited(Link& link, std::uint64_t tag, const RequestToSend& request) {
  if (!core_.unsolicited.has_room(request.bytes) || !base::Reserve::may_begin()) return false;
  const BufferPool::Buffer buffer = core_.buffers.take(request.bytes);
  if (buffer.data == nullptr) {
    refuse(link, request);
    return true;
  }
  Operation* begun = nullptr;
  try {
    begun = &core_.begin(OperationKind::unsolicited_receive, Stage::posted, {});
  } catch (const std::bad_alloc&) {
    core_.buffers.give_back(buffer);
    return false;
  }
  if (!core_.promise_arrival()) {
    core_.operations.give_back(*begun);
    core_.buffers.give_back(buffer);
    return false;
  }
  core_.unsolicited.take(buffer.capacity);
  Operation& receive = *begun;
  receive.buffer = buffer.data;
  receive.buffer_bytes = buffer.capacity;
  receive.target = Layout(buffer.data, request.bytes);
  fetch(receive, link, tag, request);
  return true;
}

void Receiver::refuse(Link& link, const RequestToSend& request) {
  core_.unsolicited.refuse();
  core_.recorder.record("no memory for an unsolicited message", link.rank, request.bytes);
  outbox_.write_control(link, RecordKind::finish, Finish::of(request.sender, 0, ErrorCode::out_of_memory));
}

void Receiver::fetch(Operation& receive, Link& link, std::uint64_t tag, const RequestToSend& request) {
  receive.link = &link;
  receive.partner = request.sender;
  receive.place = {.key = ir::MemoryKey{request.key}, .offset = request.offset};
  receive.wanted = std::min(request.bytes, receive.target.bytes());
  receive.moved = 0;
  receive.in_flight = 0;
  receive.cell = -1;
  receive.completion.peer = Rank{link.rank};
  receive.completion.tag = Tag{tag};
  receive.completion.bytes = receive.wanted;
  receive.completion.message_bytes = request.bytes;
  core_.recorder.record("matched request to send", link.rank, request.bytes, tag);
  const bool readable = request.readable != 0 && receive.target.shape() == Layout::Shape::contiguous;
  if (receive.wanted == 0) {
    fetcher_.finish(receive);
  } else if (readable) {
    receive.stage = *step(receive.stage, ReceiveInput::readable);
    fetcher_.start(receive);
  } else {
    receive.stage = *step(receive.stage, ReceiveInput::streamed);
    outbox_.write_control(link, RecordKind::clear_to_send,
                          ClearToSend{.sender = request.sender, .receiver = receive.name, .bytes = receive.wanted});
  }
}

bool Receiver::fragment(Link& link, Lead lead, std::uint64_t tag, const std::byte* content) {
  Operation* receive = core_.operations.find(tag);
  if (receive == nullptr || receive->link != &link || receive->stage != Stage::receiving_fragments) return false;
  if (lead.bytes > receive->wanted - receive->moved) return false;
  scatter(receive->target, receive->moved, content, lead.bytes);
  receive->moved += lead.bytes;
  if (receive->moved == receive->wanted) {
    receive->stage = *step(receive->stage, ReceiveInput::all_here);
    const bool cut = receive->completion.message_bytes > receive->completion.bytes;
    core_.complete(*receive, cut ? ErrorCode::truncated : ErrorCode::ok);
  }
  return true;
}

void Receiver::take(Operation& receive, Arrived& message, Link& link) {
  if (message.waits_at_sender) {
    if (link.failed()) {
      receive.completion = {.peer = Rank{message.source}, .tag = Tag{message.tag}};
      core_.complete(receive, link.fate);
    } else {
      fetch(receive, link, message.tag, message.request);
    }
  } else {
    if (message.synchronous && !link.failed()) tell_matched(link, message.request.sender, message.bytes);
    deliver(receive, message.source, message.tag, message.data, message.bytes);
  }
  core_.give_back(message);
}

void Receiver::peer_lost(Link& link) {
  std::erase_if(waiting_, [&link](const Waiting& each) { return each.link == &link; });
  for (Matching& matching : core_.matching)
    matching.visit_unexpected([this, &matching, &link](Arrived& message) {
      if (message.source != link.rank || !message.waits_at_sender) return;
      matching.take(message);
      core_.give_back(message);
    });
  fetcher_.peer_lost(link);
  core_.operations.visit_all([this, &link](Operation& operation) {
    const bool from_peer_only = operation.stage == Stage::posted && operation.kind == OperationKind::receive &&
                                operation.match.source == Rank{link.rank};
    if (from_peer_only) {
      core_.matching_of(operation.channel).remove(operation);
      operation.completion = {.peer = Rank{link.rank}, .tag = operation.match.tag};
      core_.complete(operation, link.fate);
    } else if (operation.link == &link && operation.stage == Stage::receiving_fragments) {
      operation.completion.bytes = 0;
      core_.complete(operation, link.fate);
    }
  });
}

} // namespace heddle::engine

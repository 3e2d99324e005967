#include "engine/messages/sender.hpp"

#include "engine/layout_cursor.hpp"
#include "engine/messages/machines.hpp"

#include <algorithm>
#include <new>

namespace heddle::engine {

Path path_for(const Link& link, std::uint64_t bytes, bool contiguous, bool synchronous) {
  const std::uint64_t limit =
      link.eager_limit - (synchronous ? std::min(link.eager_limit, sizeof(SynchronousHead)) : 0);
  if (bytes <= limit) return Path::eager;
  return contiguous && link.queue().capabilities().reads_any_memory ? Path::rendezvous_by_read
                                                                    : Path::rendezvous_by_fragments;
}

namespace {

bool is_contiguous(const ConstLayout& layout) {
  return layout.shape() == ConstLayout::Shape::contiguous;
}

// The link's eager limit is not known before the connection is made.
Path path_of(const Operation& send) {
  return path_for(*send.link, send.source.bytes(), is_contiguous(send.source), send.mode == SendMode::synchronous);
}

template <typename Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

} // namespace

void Sender::submit(Operation& send) {
  Link& link = *send.link;
  if (!link.connected() || !link.waiting.empty() || !write(send)) link.waiting.push_back(send);
}

bool Sender::pump(Link& link, std::size_t& done) {
  if (!link.connected()) return false;
  if (!outbox_.flush_control(link)) return false;
  while (!link.waiting.empty()) {
    Operation& send = *link.waiting.front();
    link.waiting.remove(send);
    if (!write(send)) {
      link.waiting.push_front(send);
      return false;
    }
    ++done;
  }
  while (!link.streams.empty()) {
    Operation& send = *link.streams.front();
    const std::uint64_t before = send.moved;
    const bool over = write_fragments(send);
    done += over || send.moved != before ? 1 : 0;
    if (!over) return false;
    link.streams.remove(send);
    end(send, ErrorCode::ok);
  }
  return true;
}

bool Sender::write(Operation& send) {
  return path_of(send) == Path::eager ? write_whole(send) : write_request_to_send(send);
}

const std::byte* Sender::contiguous(const Operation& send, std::uint64_t from, std::uint64_t bytes) {
  if (is_contiguous(send.source)) return send.source.data() + from;
  try {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr; // tried again when it is next its turn
  }
  gather(send.source, from, scratch_.data(), bytes);
  return scratch_.data();
}

bool Sender::write_whole(Operation& send) {
  const std::uint64_t bytes = send.source.bytes();
  const bool synchronous = send.mode == SendMode::synchronous;
  const SynchronousHead head{.sender = send.name};
  Outgoing record{.kind = RecordKind::eager,
                  .channel = send.channel,
                  .tag = static_cast<std::uint64_t>(send.completion.tag),
                  .payload = contiguous(send, 0, bytes),
                  .payload_bytes = bytes};
  if (bytes > 0 && record.payload == nullptr) return false;
  if (send.kind == OperationKind::unsolicited_send) record.kind = RecordKind::unsolicited;
  if (synchronous) {
    record.kind = RecordKind::eager_synchronous;
    record.body = bytes_of(head);
  }
  if (!outbox_.write(*send.link, record)) return false;
  send.stage = *step(send.stage, synchronous ? SendInput::put_synchronous : SendInput::put_whole);
  if (send.stage == Stage::done) end(send, ErrorCode::ok);
  return true;
}

bool Sender::write_request_to_send(Operation& send) {
  Link& link = *send.link;
  if (!send.exposed && path_of(send) == Path::rendezvous_by_read) {
    // A put or get never writes to memory exposed for reading.
    auto* data = const_cast<std::byte*>(send.source.data());
    if (auto place = link.queue().translator().expose({data, send.source.bytes()})) {
      send.place = *place;
      send.exposed = true;
    }
  }
  const RequestToSend request{.sender = send.name,
                              .bytes = send.source.bytes(),
                              .key = static_cast<std::uint64_t>(send.place.key),
                              .offset = send.place.offset,
                              .readable = send.exposed ? 1U : 0U};
  const bool unsolicited = send.kind == OperationKind::unsolicited_send;
  const bool written =
      outbox_.write(link, {.kind = unsolicited ? RecordKind::request_to_send_unsolicited : RecordKind::request_to_send,
                           .channel = send.channel,
                           .tag = static_cast<std::uint64_t>(send.completion.tag),
                           .body = bytes_of(request)});
  if (!written) return false;
  send.stage = *step(send.stage, SendInput::request_to_send);
  core_.recorder.record("request to send", link.rank, request.bytes, request.readable);
  return true;
}

bool Sender::write_fragments(Operation& send) {
  Link& link = *send.link;
  // Small enough that the receiver copies one out while the next is written.
  const std::uint64_t worthwhile = std::max(link.largest_payload / 2, std::uint64_t{64});
  const std::uint64_t most = std::min({core_.limits.chunk_bytes, link.largest_payload, worthwhile});
  while (send.moved < send.wanted) {
    const std::uint64_t bytes = std::min(most, send.wanted - send.moved);
    // Room is looked for before anything is gathered for it.
    if (!link.writes_shared && link.writer.room_for(record_span(bytes)) == RingWriter::Room::none) return false;
    if (link.writes_shared && link.claim == ClaimState::asked) return false;
    const std::byte* payload = contiguous(send, send.moved, bytes);
    if (payload == nullptr ||
        !outbox_.write(link,
                       {.kind = RecordKind::fragment, .tag = send.partner, .payload = payload, .payload_bytes = bytes}))
      return false;
    send.moved += bytes;
  }
  return true;
}

void Sender::finished(Link& link, const Finish& record) {
  Operation* send = core_.operations.find(record.sender);
  if (send == nullptr || send->link != &link) return; // the operation was abandoned here
  if (!step(send->stage, SendInput::finish)) return;
  send->completion.bytes = std::min(record.bytes(), send->source.bytes());
  end(*send, record.code());
}

bool Sender::clear_to_send(Link& link, const ClearToSend& record) {
  Operation* send = core_.operations.find(record.sender);
  if (send == nullptr || send->link != &link) return true;
  const auto next = step(send->stage, SendInput::clear_to_send);
  if (!next || record.bytes > send->source.bytes()) return false;
  send->stage = *next;
  send->partner = record.receiver;
  send->wanted = record.bytes;
  send->moved = 0;
  send->completion.bytes = record.bytes;
  link.streams.push_back(*send);
  return true;
}

void Sender::end(Operation& send, ErrorCode code) {
  if (send.exposed) send.link->queue().translator().withdraw(send.place);
  send.exposed = false;
  core_.complete(send, code);
}

void Sender::peer_lost(Link& link) {
  link.control.clear();
  link.waiting = {};
  link.streams = {};
  core_.operations.visit_all([this, &link](Operation& operation) {
    if (operation.link == &link && step(operation.stage, SendInput::peer_lost)) {
      operation.completion.bytes = 0;
      end(operation, link.fate);
    }
  });
}

} // namespace heddle::engine

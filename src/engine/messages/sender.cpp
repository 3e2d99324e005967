#include "engine/messages/sender.hpp"

#include "engine/layout_cursor.hpp"
#include "engine/messages/machines.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace heddle::engine {

MessageProtocol protocol_for(const Connection& connection, std::uint64_t bytes, bool contiguous, std::uint64_t body) {
  if (bytes <= connection.eager_limit && bytes + body <= connection.largest_payload) return MessageProtocol::eager;
  return contiguous && connection.queue().capabilities().reads_any_memory ? MessageProtocol::rendezvous_by_read
                                                                          : MessageProtocol::rendezvous_by_fragments;
}

namespace {

bool is_contiguous(const ConstLayout& layout) {
  return layout.shape() == ConstLayout::Shape::contiguous;
}

// The connection's eager limit is not known before the connection is made.
MessageProtocol protocol_of(const Operation& send) {
  return protocol_for(*send.connection, send.source.bytes(), is_contiguous(send.source),
                      (send.mode == SendMode::synchronous ? sizeof(SynchronousHead) : 0) +
                          (send.completion.has_data ? kDataWordBytes : 0));
}

template <typename Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

} // namespace

void Sender::submit(Operation& send) {
  Connection& connection = *send.connection;
  if (!connection.connected() || !connection.waiting.empty() || !write(send)) connection.waiting.push_back(send);
}

bool Sender::pump(Connection& connection, std::size_t& done) {
  if (!connection.connected()) return false;
  if (!record_writer_.flush_control(connection)) return false;
  while (!connection.waiting.empty()) {
    Operation& send = *connection.waiting.front();
    connection.waiting.remove(send);
    if (!write(send)) {
      connection.waiting.push_front(send);
      return false;
    }
    ++done;
  }
  while (!connection.streams.empty()) {
    Operation& send = *connection.streams.front();
    const std::uint64_t before = send.moved;
    const bool over = write_fragments(send);
    done += over || send.moved != before ? 1 : 0;
    if (!over) return false;
    connection.streams.remove(send);
    end(send, advance(send, SendInput::last_fragment) ? ErrorCode::ok : ErrorCode::system_failed);
  }
  return true;
}

bool Sender::write(Operation& send) {
  return protocol_of(send) == MessageProtocol::eager ? write_whole(send) : write_request_to_send(send);
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
  // Of these words as many as it has; the last are left out.
  std::array<std::uint64_t, 2> body{};
  std::size_t words = 0;
  if (send.completion.has_data) body[words++] = send.completion.data;
  if (synchronous) body[words++] = send.name; // as SynchronousHead
  Outgoing record{.kind = RecordKind::eager,
                  .channel = send.channel,
                  .has_data = send.completion.has_data,
                  .tag = static_cast<std::uint64_t>(send.completion.tag),
                  .payload = contiguous(send, 0, bytes),
                  .payload_bytes = bytes};
  if (bytes > 0 && record.payload == nullptr) return false;
  if (send.kind == OperationKind::unsolicited_send) record.kind = RecordKind::unsolicited;
  if (synchronous) record.kind = RecordKind::eager_synchronous;
  record.body = std::as_bytes(std::span(body).first(words));
  if (!record_writer_.write(*send.connection, record)) return false;
  if (!advance(send, synchronous ? SendInput::put_synchronous : SendInput::put_whole))
    end(send, ErrorCode::system_failed);
  else if (send.stage == Stage::done)
    end(send, ErrorCode::ok);
  return true;
}

bool Sender::write_request_to_send(Operation& send) {
  Connection& connection = *send.connection;
  if (!send.exposed && protocol_of(send) == MessageProtocol::rendezvous_by_read) {
    // A put or get never writes to memory exposed for reading.
    auto* data = const_cast<std::byte*>(send.source.data());
    if (auto place = connection.queue().translator().expose({data, send.source.bytes()})) {
      send.place = *place;
      send.exposed = true;
      send.engine = connection.queue().sending().take();
    }
  }
  const RequestToSend request{.sender = send.name,
                              .bytes = send.source.bytes(),
                              .key = static_cast<std::uint64_t>(send.place.key),
                              .offset = send.place.offset,
                              .readable = send.exposed ? 1U : 0U,
                              .engine = send.exposed ? send.engine : ir::kAnyEngine};
  const bool unsolicited = send.kind == OperationKind::unsolicited_send;
  const bool written = record_writer_.write(
      connection, {.kind = unsolicited ? RecordKind::request_to_send_unsolicited : RecordKind::request_to_send,
                   .channel = send.channel,
                   .has_data = send.completion.has_data,
                   .tag = static_cast<std::uint64_t>(send.completion.tag),
                   .body = bytes_of(request),
                   .payload = reinterpret_cast<const std::byte*>(&send.completion.data),
                   .payload_bytes = send.completion.has_data ? kDataWordBytes : 0});
  if (!written) return false;
  if (!advance(send, SendInput::request_to_send)) end(send, ErrorCode::system_failed);
  engine_.recorder.record("request to send", connection.rank, request.bytes, request.readable);
  return true;
}

void Sender::finished(Connection& connection, const Finish& record) {
  Operation* send = engine_.operations.find(record.sender);
  if (send == nullptr || send->connection != &connection) return; // the operation was abandoned here
  if (!advance(*send, SendInput::finish)) return;
  send->completion.bytes = std::min(record.bytes(), send->source.bytes());
  end(*send, record.code());
}

void Sender::end(Operation& send, ErrorCode code) {
  if (send.exposed) {
    send.connection->queue().translator().withdraw(send.place);
    send.connection->queue().sending().give_back(send.engine);
  }
  send.exposed = false;
  if (send.injected) engine_.release_injected(send);
  engine_.complete(send, code);
}

void Sender::peer_lost(Connection& connection) {
  connection.control.clear();
  connection.waiting = {};
  connection.streams = {};
  engine_.operations.visit_all([this, &connection](Operation& operation) {
    if (operation.connection == &connection && advance(operation, SendInput::peer_lost)) {
      operation.completion.bytes = 0;
      end(operation, connection.fate);
    }
  });
}

} // namespace heddle::engine

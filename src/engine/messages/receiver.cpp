#include "engine/messages/receiver.hpp"

#include "engine/messages/machines.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::engine {

bool Receiver::keep(Connection& connection, Lead lead, const Label& label, const RequestToSend& request,
                    const std::byte* data, std::uint64_t bytes) {
  const bool is_request = lead.kind == RecordKind::request_to_send;
  const auto buffer = is_request ? BufferPool::Buffer{} : engine_.buffers.take(bytes);
  if (!is_request && bytes > 0 && buffer.data == nullptr) return false;
  UnexpectedMessage* place = nullptr;
  try {
    place = &engine_.take_unexpected();
  } catch (const std::bad_alloc&) {
    engine_.buffers.give_back(buffer);
    return false;
  }
  UnexpectedMessage& message = *place;
  message.source = connection.rank;
  message.channel = lead.channel;
  message.tag = label.tag;
  message.word = label.word;
  message.bytes = is_request ? request.bytes : bytes;
  message.waits_at_sender = is_request;
  message.synchronous = lead.kind == RecordKind::eager_synchronous;
  message.request = request;
  message.data = buffer.data;
  message.capacity = buffer.capacity;
  if (buffer.data != nullptr) base::copy_bytes(buffer.data, data, bytes);
  engine_.matching_of(lead.channel).add(message);
  return true;
}

Taken Receiver::synchronous(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
  SynchronousHead head;
  DataWord word;
  if (lead.has_data && !take_word(lead, content, word)) return Taken::malformed;
  if (lead.bytes < sizeof head) return Taken::malformed;
  std::memcpy(&head, content, sizeof head);
  const std::byte* payload = content + sizeof head;
  const std::uint64_t bytes = lead.bytes - sizeof head;
  Operation* receive = engine_.matching_of(lead.channel).take_receive(connection.rank, tag);
  if (receive == nullptr)
    return keep(connection, lead, {.tag = tag, .word = word}, {.sender = head.sender}, payload, bytes) ? Taken::yes
                                                                                                       : Taken::later;
  tell_matched(connection, head.sender, bytes);
  deliver(*receive, connection.rank, tag, payload, bytes, word);
  return Taken::yes;
}

void Receiver::tell_matched(Connection& connection, OperationName sender, std::uint64_t bytes) {
  record_writer_.write_control(connection, RecordKind::finish, Finish::of(sender, bytes));
}

Taken Receiver::unsolicited(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
  // While the program has none that it could release, what is being fetched holds the memory, and may be just behind this record.
  const bool has_room = engine_.unsolicited.has_room(lead.bytes) || engine_.unsolicited_held() == 0;
  if (!has_room || !engine_.may_deliver()) return Taken::later;
  const BufferPool::Buffer buffer = engine_.buffers.take(lead.bytes);
  if (lead.bytes > 0 && buffer.data == nullptr) return Taken::later;
  if (!engine_.promise_unsolicited()) {
    engine_.buffers.give_back(buffer);
    return Taken::later;
  }
  if (lead.bytes > 0) base::copy_bytes(buffer.data, content, lead.bytes);
  engine_.unsolicited.take(buffer.capacity);
  engine_.deliver_unsolicited(connection.rank, tag, buffer, lead.bytes);
  return Taken::yes;
}

Taken Receiver::request_to_send(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
  RequestToSend request;
  DataWord word{.there = lead.has_data};
  if (lead.bytes != sizeof request + (word.there ? kDataWordBytes : 0)) return Taken::malformed;
  std::memcpy(&request, content, sizeof request);
  if (word.there) std::memcpy(&word.value, content + sizeof request, kDataWordBytes);
  Operation* receive = engine_.matching_of(lead.channel).take_receive(connection.rank, tag);
  const Label label{.tag = tag, .word = word};
  if (receive == nullptr) return keep(connection, lead, label, request, nullptr, 0) ? Taken::yes : Taken::later;
  fetch(*receive, connection, label, request);
  return Taken::yes;
}

Taken Receiver::request_to_send_unsolicited(Connection& connection, Lead lead, std::uint64_t tag,
                                            const std::byte* content) {
  RequestToSend request;
  if (lead.bytes != sizeof request) return Taken::malformed;
  std::memcpy(&request, content, sizeof request);
  if (request.bytes == 0) return Taken::malformed;
  // One that is larger than all there is would wait for ever: it is refused. Others wait for what is released.
  if (engine_.unsolicited.exceeds(request.bytes))
    refuse(connection, request);
  else if (!waiting_.empty() || !fetch_unsolicited(connection, tag, request))
    waiting_.push_back({.connection = &connection, .tag = tag, .request = request});
  return Taken::yes;
}

Connection* Receiver::fetch_waiting() {
  if (waiting_.empty()) return nullptr;
  const Waiting first = waiting_.front();
  if (!fetch_unsolicited(*first.connection, first.tag, first.request)) return nullptr;
  waiting_.pop_front();
  return first.connection;
}

bool Receiver::fetch_unsolicited(Connection& connection, std::uint64_t tag, const RequestToSend& request) {
  if (!engine_.unsolicited.has_room(request.bytes) || !base::Reserve::may_begin()) return false;
  const BufferPool::Buffer buffer = engine_.buffers.take(request.bytes);
  if (buffer.data == nullptr) {
    refuse(connection, request);
    return true;
  }
  Operation* begun = nullptr;
  try {
    begun = &engine_.begin(OperationKind::unsolicited_receive, Stage::posted, {});
  } catch (const std::bad_alloc&) {
    engine_.buffers.give_back(buffer);
    return false;
  }
  if (!engine_.promise_unsolicited()) {
    engine_.operations.give_back(*begun);
    engine_.buffers.give_back(buffer);
    return false;
  }
  engine_.unsolicited.take(buffer.capacity);
  Operation& receive = *begun;
  receive.buffer = buffer.data;
  receive.buffer_bytes = buffer.capacity;
  receive.target = Layout(buffer.data, request.bytes);
  fetch(receive, connection, {.tag = tag}, request);
  return true;
}

void Receiver::refuse(Connection& connection, const RequestToSend& request) {
  engine_.unsolicited.refuse();
  engine_.recorder.record("no memory for an unsolicited message", connection.rank, request.bytes);
  record_writer_.write_control(connection, RecordKind::finish, Finish::of(request.sender, 0, ErrorCode::out_of_memory));
}

void Receiver::fetch(Operation& receive, Connection& connection, const Label& label, const RequestToSend& request) {
  receive.connection = &connection;
  receive.partner = request.sender;
  receive.place = {.key = ir::MemoryKey{request.key}, .offset = request.offset};
  receive.peer_engine = static_cast<std::uint8_t>(std::min<std::uint32_t>(request.engine, ir::kAnyEngine));
  receive.wanted = std::min(request.bytes, receive.target.bytes());
  receive.moved = 0;
  receive.in_flight = 0;
  receive.cell = -1;
  receive.completion.peer = Rank{connection.rank};
  receive.completion.tag = Tag{label.tag};
  receive.completion.has_data = label.word.there;
  receive.completion.data = label.word.value;
  receive.completion.bytes = receive.wanted;
  receive.completion.message_bytes = request.bytes;
  engine_.recorder.record("matched request to send", connection.rank, request.bytes, label.tag);
  const bool readable = request.readable != 0 && receive.target.shape() == Layout::Shape::contiguous;
  const ReceiveInput matched = receive.wanted == 0 ? ReceiveInput::whole
                               : readable          ? ReceiveInput::readable
                                                   : ReceiveInput::streamed;
  if (!advance(receive, matched)) {
    engine_.complete(receive, ErrorCode::system_failed); // it was not waiting for a message
  } else if (receive.wanted == 0) {
    fetcher_.finish(receive);
  } else if (readable) {
    fetcher_.start(receive);
  } else {
    record_writer_.write_control(
        connection, RecordKind::clear_to_send,
        ClearToSend{.sender = request.sender, .receiver = receive.name, .bytes = receive.wanted});
  }
}

void Receiver::take(Operation& receive, UnexpectedMessage& message, Connection& connection) {
  if (message.waits_at_sender) {
    if (connection.failed()) {
      receive.completion = {.peer = Rank{message.source}, .tag = Tag{message.tag}};
      engine_.complete(receive, connection.fate);
    } else {
      fetch(receive, connection, {.tag = message.tag, .word = message.word}, message.request);
    }
  } else {
    if (message.synchronous && !connection.failed()) tell_matched(connection, message.request.sender, message.bytes);
    deliver(receive, message.source, message.tag, message.data, message.bytes, message.word);
  }
  engine_.give_back(message);
}

void Receiver::peer_lost(Connection& connection) {
  std::erase_if(waiting_, [&connection](const Waiting& each) { return each.connection == &connection; });
  for (Matching& matching : engine_.matching)
    matching.visit_unexpected([this, &matching, &connection](UnexpectedMessage& message) {
      if (message.source != connection.rank || !message.waits_at_sender) return;
      matching.take(message);
      engine_.give_back(message);
    });
  fetcher_.peer_lost(connection);
  engine_.operations.visit_all([this, &connection](Operation& operation) {
    const bool from_peer_only = operation.stage == Stage::posted && operation.kind == OperationKind::receive &&
                                operation.match.source == Rank{connection.rank};
    if (from_peer_only && advance(operation, ReceiveInput::peer_lost)) {
      engine_.matching_of(operation.channel).remove(operation);
      operation.completion = {.peer = Rank{connection.rank}, .tag = operation.match.tag};
      engine_.complete(operation, connection.fate);
    } else if (operation.connection == &connection && operation.stage == Stage::receiving_fragments &&
               advance(operation, ReceiveInput::peer_lost)) {
      operation.completion.bytes = 0;
      engine_.complete(operation, connection.fate);
    }
  });
}

} // namespace heddle::engine

// Sends: whole in one ring record, or by a request to send, and then fetched by the receiver or streamed.
#pragma once

#include "engine/engine_state.hpp"
#include "engine/rings/record_writer.hpp"

#include <vector>

namespace heddle::engine {

// How a message travels to a connected peer. A pure function of the sizes, so that it can be asked for.
enum class MessageProtocol : std::uint8_t { eager, rendezvous_by_read, rendezvous_by_fragments };
// `body` is what a whole message carries beside its bytes: of a synchronous one, or one with a data word.
MessageProtocol protocol_for(const Connection& connection, std::uint64_t bytes, bool contiguous, std::uint64_t body);

// The same for a contiguous message to a peer that is not connected yet, as it will be on a ring of its own.
struct ExpectedProtocol {
  MessageProtocol protocol{};
  std::uint64_t eager_limit = 0; // as far as the ring and the network let the option be used
};
ExpectedProtocol expected_protocol(const Limits& limits, const ir::Capabilities& capabilities, std::uint64_t bytes);

class Sender {
 public:
  Sender(EngineState& engine, RecordWriter& record_writer) : engine_(engine), record_writer_(record_writer) {}

  // Takes over a queued send; it is written now if its turn has come, otherwise by pump.
  void submit(Operation& send);
  // Writes what waits for the peer, as far as there is room; `done` grows by what that was. True when nothing is left.
  bool pump(Connection& connection, std::size_t& done);

  void finished(Connection& connection, const Finish& record);
  // False: the record is malformed.
  bool clear_to_send(Connection& connection, const ClearToSend& record);
  // Every send on the connection ends.
  void peer_lost(Connection& connection);

 private:
  bool write(Operation& send);
  bool write_whole(Operation& send);
  bool write_request_to_send(Operation& send);
  bool write_fragments(Operation& send);
  // The payload [from, from + bytes) as contiguous memory: the caller's own, or gathered into scratch memory.
  const std::byte* contiguous(const Operation& send, std::uint64_t from, std::uint64_t bytes);
  void end(Operation& send, ErrorCode code);

  EngineState& engine_;
  RecordWriter& record_writer_;
  std::vector<std::byte> scratch_;
};

} // namespace heddle::engine

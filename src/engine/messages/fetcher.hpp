// Large messages by remote read: the receiver fetches them, chunk by chunk, from the sender's memory into the posted
// buffer. Where the processor does the copying, the sender is asked to help: both then take chunks off one counter, so a
// sender that is busy elsewhere delays nothing, and one that waits doubles the speed.
// Not here: the sender's half of that help (assistant.hpp).
#pragma once

#include "engine/engine_state.hpp"
#include "engine/rings/record_writer.hpp"

namespace heddle::engine {

class Fetcher {
 public:
  Fetcher(EngineState& engine, RecordWriter& record_writer) : engine_(engine), record_writer_(record_writer) {}

  // Takes over a matched receive in Stage::reading. Its connection, place, partner and wanted are set.
  void start(Operation& receive);
  [[nodiscard]] bool idle() const { return reads_.empty(); }
  // Posts further reads. Returns how many.
  std::size_t progress();
  // A read has ended.
  void read_ended(const ir::Event& event);
  // The sender has copied what it had claimed. False: the record is malformed.
  bool assist_done(Connection& connection, const AssistDone& done);
  // The peer is gone: its receives end, those with reads under way when these have.
  void peer_lost(Connection& connection);

  // Ends a receive whose message is in place, and tells the sender.
  void finish(Operation& receive);

 private:
  // It is read no more.
  void remove(Operation& receive);
  static void give_back_engine(Operation& receive);
  bool post_next(Operation& receive);
  void post_chunk(Operation& receive, std::uint64_t chunk_number);
  void ask_for_help(Operation& receive);
  void refused(Operation& receive);
  void fail(Operation& receive);
  void check_all_here(Operation& receive);
  void leave_cell(Operation& receive);

  EngineState& engine_;
  RecordWriter& record_writer_;
  OperationList reads_;
  std::size_t under_way_ = 0; // commands
};

} // namespace heddle::engine

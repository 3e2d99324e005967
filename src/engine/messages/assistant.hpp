// The sender's half of a shared copy: claims chunks off the receiver's counter and writes them into the posted buffer,
// until none is left. See fetcher.hpp.
#pragma once

#include "base/reserve.hpp"
#include "engine/engine_state.hpp"
#include "engine/rings/record_writer.hpp"

#include <vector>

namespace heddle::engine {

class Assistant {
 public:
  Assistant(EngineState& engine, RecordWriter& record_writer) : engine_(engine), record_writer_(record_writer) {}

  // The receiver of a message of this process asks for help. A message that is gone already is answered with "nothing".
  void begin(Connection& connection, const AssistRequest& request);
  // The receiver's counter has answered.
  void claim_ended(const ir::Event& event);
  // A chunk has been written.
  void copy_ended(const ir::Event& event);
  // The connection goes: what is under way with it ends when the network answers.
  void replace(const Connection& connection, Connection& by);

 private:
  struct Assist {
    Connection* connection = nullptr; // null when unused
    AssistRequest request;
    const std::byte* source = nullptr;
    std::uint64_t copied = 0;
    std::uint64_t claimed = 0; // the chunk being copied
    std::uint64_t copying = 0; // its bytes
  };

  void claim(std::size_t number);
  // `lost`: number + 1 of a chunk claimed but not copied.
  void end(Assist& assist, std::uint64_t lost);

  EngineState& engine_;
  RecordWriter& record_writer_;
  base::BackedVector<Assist> assists_;
};

} // namespace heddle::engine

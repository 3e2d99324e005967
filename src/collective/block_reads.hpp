// Large blocks, read straight out of the memory of those who have them: a command each, or several for one that is very large.
#pragma once

#include "engine/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace heddle::collective {

class BlockReads {
 public:
  explicit BlockReads(engine::Engine& engine);
  ~BlockReads() { engine_.handlers().remove(this); }
  BlockReads(const BlockReads&) = delete;
  BlockReads& operator=(const BlockReads&) = delete;

  // So many may wait without memory being asked for.
  void reserve(std::size_t blocks) { waiting_.reserve(blocks); }
  // Until idle(), the memory is the network's.
  void add(std::uint32_t rank, const ir::RemotePlace& place, std::span<std::byte> into) {
    waiting_.push_back({.rank = rank, .place = place, .into = into});
  }
  // Begins some; what has ended comes in with the engine's progress. Returns how many.
  std::size_t advance();
  // Begins no more.
  void give_up() { waiting_.clear(); }
  [[nodiscard]] bool idle() const { return waiting_.empty() && under_way_ == 0; }
  // The first outcome since the last call that was not ok.
  [[nodiscard]] ErrorCode take_code() { return std::exchange(code_, ErrorCode::ok); }

 private:
  // Where the processor copies, it does nothing else meanwhile: so much at a time.
  static constexpr std::uint64_t kAtOnce = 1 << 20;
  struct Read {
    std::uint32_t rank = 0;
    ir::RemotePlace place;
    std::span<std::byte> into; // what is left of it
  };
  void ended(const engine::Connection* connection, ir::Status status);

  engine::Engine& engine_;
  std::vector<Read> waiting_;
  std::size_t under_way_ = 0; // commands
  ErrorCode code_ = ErrorCode::ok;
};

} // namespace heddle::collective

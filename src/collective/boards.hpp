// All-to-all of small blocks inside a machine: every process writes what it has for the others on its board (board.hpp), and reads theirs.
// One after the other, in the order in which they were started.
//
// Whether all can read all boards they find out together when the first exchange is started: each offers its board to everybody, tries
// those that it is offered, and tells everybody whether it reads all. Who has heard everybody's word knows what all the others know.
#pragma once

#include "collective/board.hpp"
#include "collective/exchange_plan.hpp"
#include "engine/engine.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace heddle::collective {

class Boards {
 public:
  // The grouping has one node, and outlives it.
  Boards(engine::Engine& engine, const Grouping& grouping);
  ~Boards();

  // Whether blocks of that size are exchanged here. The same at all processes for the same exchange.
  [[nodiscard]] bool serves(std::uint64_t block_bytes) const {
    return state_ != State::refused && block_bytes > 0 && block_bytes <= shape_.largest_block();
  }
  // The largest block that a board of so many processes has room for.
  static std::uint64_t largest_block(std::uint32_t processes);
  [[nodiscard]] std::uint64_t largest() const { return shape_.largest_block(); }
  [[nodiscard]] bool met() const { return state_ == State::ready; }
  [[nodiscard]] bool refused() const { return state_ == State::refused; }

  struct Exchange {
    Request request;
    Tag tag{}; // for messages, should it come to that
    std::span<const std::byte> out;
    std::span<std::byte> in;
    std::uint64_t each = 0;
  };
  // In the order in which they were started. Where boards are refused they go by messages, and whoever sees to that takes them out.
  [[nodiscard]] std::deque<Exchange>& started() { return started_; }
  // Takes every step that is ready. Returns how many steps were made.
  std::size_t advance();
  [[nodiscard]] bool idle() const { return started_.empty() && state_ != State::meeting; }

  // Contact with a process has ended: what it has written counts, and nothing of it is looked at any more.
  void parted(std::uint32_t rank);
  // A process has died: all that is under way ends with that.
  void give_up();

 private:
  enum class State : std::uint8_t { unmet, meeting, ready, refused };
  struct Meeting;

  void begin_meeting();
  std::size_t meet();
  // Whether this process can read all boards that it was offered.
  bool open_all();
  std::size_t carry_out();
  void publish();
  std::size_t gather();
  void take(std::uint32_t rank);
  void note(ErrorCode code) {
    if (code_ == ErrorCode::ok) code_ = code;
  }

  engine::Engine& engine_;
  const Grouping& grouping_;
  BoardShape shape_;
  State state_ = State::unmet;
  std::unique_ptr<Meeting> meeting_;
  ir::ExposedMemory own_;              // never given back: others may still read it when this process leaves
  std::vector<ir::DirectRing> theirs_; // by rank; its own, and of those that have gone: none
  std::deque<Exchange> started_;       // the first one is under way
  // Of that one:
  std::uint64_t number_ = 1;
  bool published_ = false;
  std::vector<std::uint32_t> missing_; // whose blocks are not there yet
  std::uint64_t received_ = 0;
  ErrorCode code_ = ErrorCode::ok;
};

} // namespace heddle::collective

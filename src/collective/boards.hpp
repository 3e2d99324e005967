// All-to-all of equal blocks inside a machine: every process writes what it has for the others on its board (board.hpp), and reads theirs.
// Of large blocks the boards say where they lie, each process reads its own from there, and who has given them waits until all have.
// One after the other, in the order in which they were started.
//
// Whether all can read all boards, and each other's memory, they find out together when the first exchange is started: each offers its board
// to everybody, tries those that it is offered, and tells everybody what it can read. Who has heard everybody's word knows what all the others know.
#pragma once

#include "collective/block_reads.hpp"
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
    return state_ != State::refused && block_bytes > 0 &&
           (block_bytes <= shape_.largest_block() || (reads_memory_ && is_large(block_bytes)));
  }
  // Read from where they lie. Blocks between these and what a board has room for are quicker by messages: the kernel takes longer to begin
  // a copy than rings take to make two.
  [[nodiscard]] static bool is_large(std::uint64_t block_bytes) { return block_bytes >= kReadFrom; }
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
  // In the order in which they were started. Those that boards turn out not to serve go by messages: whoever sees to that takes them out
  // when they come first.
  [[nodiscard]] std::deque<Exchange>& started() { return started_; }
  // Takes every step that is ready. Returns how many steps were made.
  std::size_t advance();
  [[nodiscard]] bool idle() const { return started_.empty() && state_ != State::meeting; }

  // Contact with a process has ended: what it has written counts, and nothing of it is looked at any more.
  void parted(std::uint32_t rank);
  // Not all have heard that this process cannot read everything. It should not leave before: those who have heard it would go on by
  // messages, and the others wait for them at their boards.
  [[nodiscard]] bool owes_words() const;
  // A process has died: all that is under way ends with that, the first one when nobody reads this process's memory for it any more.
  void give_up();

 private:
  static constexpr std::uint64_t kReadFrom = 256 << 10; // measured: docs/performance.md
  enum class State : std::uint8_t { unmet, meeting, ready, refused };
  struct Meeting;

  void begin_meeting();
  std::size_t meet();
  // Whether this process can read all boards that it was offered.
  bool open_all();
  // Tries to read everybody's memory.
  void try_memory();
  std::size_t carry_out();
  void publish();
  std::size_t gather();
  void take(std::uint32_t rank);
  void expose(std::span<const std::byte> out);
  void withdraw();
  // To all, that this process needs nobody's memory for exchanges up to that number.
  void tell_read(std::uint64_t number);
  // Whether all have read what lies in this process's memory.
  bool all_have_read();
  void wake(std::uint32_t rank);
  // All are reached by the same network.
  [[nodiscard]] std::uint32_t somebody() const { return engine_.rank() == 0 ? 1 : 0; }
  [[nodiscard]] ir::Translator& translator() const { return engine_.queue_to(somebody()).translator(); }
  void note(ErrorCode code) {
    if (code_ == ErrorCode::ok) code_ = code;
  }

  engine::Engine& engine_;
  const Grouping& grouping_;
  BoardShape shape_;
  State state_ = State::unmet;
  bool reads_memory_ = true; // all read each other's memory, as far as is known
  bool given_up_ = false;
  std::unique_ptr<Meeting> meeting_;
  ir::ExposedMemory own_;              // never given back: others may still read it when this process leaves
  std::vector<ir::DirectRing> theirs_; // by rank; its own, and of those that have gone: none
  std::deque<Exchange> started_;       // the first one is under way
  // Of that one:
  std::uint64_t number_ = 1;
  bool published_ = false;
  ir::RemotePlace exposed_;            // what it sends, where that is large
  std::vector<std::uint32_t> missing_; // whose blocks are not there yet
  std::vector<std::uint32_t> readers_; // who has not read yet what lies in this process's memory
  BlockReads reads_{engine_};
  bool large_ = false; // some of its blocks are read from memory: this process's, or by it
  bool told_ = false;  // that this process has read all
  std::uint64_t received_ = 0;
  ErrorCode code_ = ErrorCode::ok;
};

} // namespace heddle::collective

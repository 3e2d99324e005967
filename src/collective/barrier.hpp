// Barriers by dissemination: in round k every process tells those 1, 2, ... r - 1 times r^k further on, and waits for those as far before.
// After ceil(log_r n) rounds each knows of all. The radix r is 2 between machines; inside one, where a round may take a turn of everybody
// there, a few more messages are cheaper than another round. Non-blocking: a barrier is a plan that progress carries out.
// Where one network with gates leads to everybody, the first barrier goes by messages and sets the gates up, and all later ones are the
// network's (docs/protocols/barrier.md).
// Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988.
#pragma once

#include "collective/costs.hpp"
#include "collective/tags.hpp"
#include "engine/engine.hpp"
#include "engine/swallower.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::collective {

class Barriers {
 public:
  explicit Barriers(engine::Engine& engine);
  ~Barriers() { engine_.handlers().remove(this); }
  Barriers(const Barriers&) = delete;
  Barriers& operator=(const Barriers&) = delete;

  // All processes choose alike, before the first barrier.
  void choose_radix(const Costs& costs);

  // Starts the next barrier of this process. All processes start theirs in the same order.
  Request start(Notify notify);
  // Takes every step that is ready. Returns how many steps were made.
  std::size_t progress() { return running_.empty() && !failed_ ? 0 : advance_all(); }
  // After a death: others still have to hear of it from this process. It should not leave before.
  [[nodiscard]] bool owes_words() const { return failed_ && (!running_.empty() || !passed_on_); }

 private:
  using Part = unsigned;
  static constexpr Part kSend = 1;
  static constexpr Part kReceive = 2;
  static constexpr std::uint32_t kMostPartners = 15;
  // Of a round: the one so far on that is told, and the one so far before that is waited for.
  struct Partner {
    Part to_begin = kSend | kReceive;
    ErrorCode news_in{};
    Request send;
    Request receive;

    void reset() {
      to_begin = kSend | kReceive;
      news_in = {};
      send = receive = {};
    }
  };
  struct Plan {
    Request request;
    std::uint64_t number = 0;
    std::uint32_t round = 0;
    std::uint64_t distance = 1; // radix to the power of the round
    ErrorCode code{};           // the gravest that this process knows of
    ErrorCode news_out{};       // `code` when the round began
    bool over =
        false; // its request has ended; what is left are its messages, and words to those who still wait for some
    // for utofu: begin
    enum class By : std::uint8_t { messages, gates_next, gates } by = By::messages; // gates_next: it waits for its turn
    // for utofu: end
    std::uint32_t partners = 0; // of the round
    std::array<Partner, kMostPartners> with{};

    void begin(Request its_request, std::uint64_t its_number) {
      request = its_request;
      number = its_number;
      round = 0;
      distance = 1;
      code = {};
      over = false;
      by = By::messages; // for utofu
      partners = 0;      // for utofu
    }
    [[nodiscard]] std::span<Partner> all() { return std::span(with).first(partners); }
  };

  // Once a process has died barriers under way, and all to come, end with peer_failed. They end without their messages: another process
  // that has seen its last barrier fail may never start the one that this process waits in. What others still send of theirs is
  // swallowed. Who waits for this process is told, in its remaining rounds and in those of the barrier that comes next: otherwise it
  // would learn first that this process has left.
  std::size_t end_all();
  void give_up(Plan& plan);
  std::size_t advance_all();
  bool advance(Plan& plan);
  void enter_round(Plan& plan);
  // False: that was the last.
  bool enter_next_round(Plan& plan);
  // False: something of it found no memory.
  bool begin_messages(Plan& plan);
  [[nodiscard]] bool messages_ended(Plan& plan) const;
  void finish(Plan& plan, ErrorCode code);
  // for utofu: begin
  // Of barriers by gates. Sets them up, as far as this process is concerned.
  void set_gates();
  // After the first barrier, which has told whether everybody has set theirs.
  void settle_gates(const Plan& first);
  // True: the plan has ended, or goes on by messages.
  bool advance_gates(Plan& plan);
  // for utofu: end
  bool wind_up(Plan& plan);

  engine::Engine& engine_;
  std::uint32_t radix_ = 2;
  std::vector<std::unique_ptr<Plan>> running_;
  std::vector<std::unique_ptr<Plan>> spare_;
  std::uint64_t number_ = 0;
  // for utofu: begin
  enum class Gates : std::uint8_t { unset, none, set, ready } gates_ = Gates::unset; // set: here; ready: everywhere
  ir::BarrierGates* network_ = nullptr;
  std::uint64_t next_by_gates_ = 2; // number of the barrier whose turn it is
  std::uint32_t looks_ = 0;         // at that one since somebody has gone
  bool some_lack_gates_ = false;
  // for utofu: end
  bool failed_ = false;    // a process has died: by what the engine tells, or by the word of another process
  Plan next_;              // once failed: the barrier after the last that was started, of which only words are sent
  bool passed_on_ = false; // those words have gone
  engine::Swallower swallower_{engine_, engine::Channel::collective, Tag{0}, kExchangeMark}; // once failed
};

} // namespace heddle::collective

// How processes agree on a pattern. Nobody knows beforehand who will write to it, so:
//
//   tell each target what is wanted of it, by synchronous sends; take what others want, portion by portion; answer with places
//   when all own wants have been taken: meet. After the meeting nobody has any left (Hoefler, Siebert, Lumsdaine: Scalable
//     communication protocols for dynamic sparse data exchange, 2010)
//   when all answers are here: meet again, and say whether anything was wrong and which options the pattern has (common_options.hpp),
//     so that all fail or none
#pragma once

#include "base/reserve.hpp"
#include "engine/engine.hpp"
#include "pattern/first_error.hpp"
#include "pattern/mail.hpp"
#include "pattern/meeting.hpp"
#include "pattern/pairing.hpp"
#include "pattern/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace heddle::pattern {

class Compiler {
 public:
  Compiler(engine::Engine& engine, Plan& plan, std::uint32_t serial, const PatternOptions& options);
  Compiler(const Compiler&) = delete; // its parts refer to it
  Compiler& operator=(const Compiler&) = delete;

  void begin();
  // True when it is over; then error() says how.
  bool progress();
  [[nodiscard]] const std::optional<Error>& error() const { return error_.get(); }
  // Whether all processes know how it ended. Otherwise one has died, and others may believe that the pattern stands: until
  // each of its partners has shown itself in a round, they listen for `given_up` of this serial.
  [[nodiscard]] bool agreed() const { return agreed_; }
  // Whether a death has ended it: others may still send what belongs to it.
  [[nodiscard]] bool gave_up() const { return stage_ == Stage::over && !agreed_; }
  // Once it is over: whether no message of it is under way any more.
  [[nodiscard]] bool wound_up();
  [[nodiscard]] std::uint32_t serial() const { return serial_; }
  // How many processes had failed when it began.
  [[nodiscard]] std::uint64_t failures_before() const { return failures_before_; }

 private:
  enum class Stage : std::uint8_t { telling, meeting, answers, agreeing, over };

  void tell(std::uint32_t rank, const base::BackedVector<std::uint32_t>& items);
  void await_wants(Incoming& incoming);
  void take_header();
  void take_wants();
  void answer_all(Incoming& incoming, base::BackedVector<std::byte> answers);
  void await_further_wants();
  void take_answers();
  void make_plan();
  void give_up();
  [[nodiscard]] std::uint32_t partner_with(std::uint32_t rank);

  engine::Engine& engine_;
  Plan& plan_;
  const std::uint32_t serial_;
  const PatternOptions options_;
  const std::uint64_t failures_before_;
  Stage stage_ = Stage::telling;
  Meeting meeting_;
  Meeting agreement_;
  base::BackedMap<std::uint32_t, base::BackedVector<std::uint32_t>> targets_; // rank -> items, in order
  FirstError error_;
  Pairing pairing_;
  Mail mail_;
  bool agreed_ = false;
};

} // namespace heddle::pattern

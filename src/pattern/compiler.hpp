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
#include "pattern/meeting.hpp"
#include "pattern/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>

namespace heddle::pattern {

class Compiler {
 public:
  Compiler(engine::Engine& engine, Plan& plan, std::uint32_t serial, const PatternOptions& options);

  void begin();
  // True when it is over; then error() says how.
  bool progress();
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
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

  struct Message {
    std::uint32_t rank = 0;
    Topic topic{};
    bool synchronous = false; // until the peer has it, the telling is not over
    base::BackedVector<std::byte> bytes;
    bool begun = false; // not while there is no memory for it: it is tried again
    Request request;
  };
  struct Incoming { // wants of one peer, or answers of one
    std::uint32_t rank = 0;
    Topic topic{};
    std::size_t size = 0;
    base::BackedVector<std::byte> bytes; // that many, once begun
    bool begun = false;                  // as above
    bool taken = false;
    Request request;
    std::uint64_t left = 0; // wants that come after these
    std::size_t first = 0;  // of the items that these answer
  };

  void wrong(Error error) {
    if (!error_) error_ = std::move(error);
  }
  // The same, of an error that needs memory for its words. Without any it is still one.
  template <typename Make>
    requires std::is_invocable_r_v<Error, Make>
  void wrong(const Make& make) {
    try {
      if (!error_) error_ = make();
    } catch (const std::bad_alloc&) {
      error_ = engine::Engine::no_memory();
    }
  }
  void pair_up_within();
  void tell(std::uint32_t rank, const base::BackedVector<std::uint32_t>& items);
  void post(std::uint32_t rank, Topic topic, base::BackedVector<std::byte> bytes, SendMode mode);
  void begin(Message& message);
  void await_wants(Incoming& incoming);
  void begin(Incoming& incoming);
  void await_header();
  void begin_what_waits();
  void take_header();
  void take_wants();
  void answer_all(Incoming& incoming, base::BackedVector<std::byte> answers);
  void await_further_wants();
  void take_answers();
  [[nodiscard]] bool has_come(const Incoming& incoming) const;
  bool take(Incoming& incoming);
  Answer answer(Partner& partner, std::uint32_t index, const Want& want);
  Answer answer_put(Partner& partner, std::uint32_t index, const Want& want);
  Answer land(Partner& partner, std::uint32_t index, In in, const Declared& item);
  void adopt(Partner& partner, std::uint32_t item, const Answer& answer);
  // Whether it can be the answer to that item: what is written by it must stay inside what it names.
  [[nodiscard]] bool plausible(const Answer& answer, const Declared& item) const;
  Error refusal(const Declared& item, Verdict verdict) const;
  void check_receives();
  void open_direct_memory();
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
  base::BackedVector<bool> paired_;                                           // by item
  base::BackedDeque<Message> sent_;
  Header header_in_;
  Request header_;
  bool listening_ = false; // for it; where header_ names nothing, there is no memory for that yet
  base::BackedDeque<Incoming> wants_;
  base::BackedDeque<Incoming> answers_;
  std::optional<Error> error_;
  bool agreed_ = false;
};

} // namespace heddle::pattern

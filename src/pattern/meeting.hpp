// Where all processes of the job wait for each other and pass on a few bits: what any of them says, all hear. One of them is
// whether anything is wrong.
// Dissemination as in collective/barrier.hpp, on the patterns' own channel: patterns meet when their puts have ended, which is
// at another time in every process, and so must not count as barriers of the program.
#pragma once

#include "engine/engine.hpp"

#include <cstddef>
#include <cstdint>

namespace heddle::pattern {

// What a message of the patterns' channel is about.
enum class Topic : std::uint8_t { header = 1, content, answer, given_up, meeting = 0x40 };
constexpr Tag tag_of(std::uint32_t serial, std::uint32_t number, Topic topic, std::uint32_t round = 0) {
  return Tag{(std::uint64_t{serial} << 32U) | (std::uint64_t{number & 0xff'ffffU} << 8U) |
             (static_cast<std::uint64_t>(topic) + round)};
}

// Takes the outcome of an operation that nobody waits for any more, so that it is given back. True when that is done.
inline bool wind_up(engine::Engine& engine, Request& request) {
  if (request.name != 0 && engine.take_completion(request)) request = {};
  return request.name == 0;
}

class Meeting {
 public:
  enum class State : std::uint8_t { idle, running, passed, failed };

  Meeting(engine::Engine& engine, std::uint32_t serial) : engine_(engine), serial_(serial) {}

  static constexpr std::uint8_t kWrong = 1;
  // Why it is wrong, where the meeting needs its bits for nothing else.
  static constexpr std::uint8_t kDeath = 2;
  static constexpr std::uint8_t kCutOff = 4;
  static constexpr std::uint8_t kDeparture = 8;
  static std::uint8_t wrong_because(ErrorCode code);
  static ErrorCode reason(std::uint8_t news); // pattern_freed: none of these

  // Begins the next one; `news` are told to everyone.
  void begin(std::uint8_t news);
  // Takes what steps can be taken.
  State progress();
  // A process is gone: it will not come. What it waited for is given up, but has not ended before wound_up.
  void abandon();
  // Whether no message of it is under way any more. Not while it is running.
  [[nodiscard]] bool wound_up();
  [[nodiscard]] bool abandoned() const { return abandoned_; }
  [[nodiscard]] State state() const { return state_; }
  // What all have said, once it is over.
  [[nodiscard]] std::uint8_t news() const { return news_; }
  [[nodiscard]] std::uint32_t serial() const { return serial_; }

 private:
  void begin_round();
  // What there is no memory for now is tried again: the others wait for it.
  void begin_messages();

  engine::Engine& engine_;
  std::uint32_t serial_;
  std::uint32_t number_ = 0;
  std::uint32_t round_ = 0;
  State state_ = State::idle;
  bool abandoned_ = false;
  bool to_send_ = false;
  bool to_receive_ = false;
  Request send_;
  Request receive_;
  std::uint8_t news_ = 0;
  std::uint8_t news_out_ = 0;
  std::uint8_t news_in_ = 0;
};

} // namespace heddle::pattern

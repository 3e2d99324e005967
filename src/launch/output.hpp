// Where the lines of a job's processes on other machines are written, and the launcher's own: to this process's standard output and
// error, each line whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "launch/stream.hpp"

namespace heddle::launch {

class Output {
 public:
  explicit Output(bool label) : label_(label) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { finish(); }

  // Bytes of a rank's stream 1 or 2. What is no whole line yet is kept, up to a bound.
  void add(std::uint32_t rank, std::uint8_t stream, std::span<const std::byte> bytes);
  // The rank has ended: its last line may have no end, and gets one only where lines are labelled.
  void end(std::uint32_t rank);
  // A line of the launcher's own to standard error; dropped where nobody takes a great many.
  void add_own(std::string_view line);

  // Writes what can be written without waiting.
  void flush();
  // What a stream still has to be written; nobody should be read from while it is much.
  [[nodiscard]] std::size_t waiting() const { return streams_[0].waiting() + streams_[1].waiting(); }
  // What is waited for until it takes more; -1: nothing.
  [[nodiscard]] int waits_for(std::uint8_t stream) const {
    return streams_[stream - 1].waiting() > 0 ? streams_[stream - 1].descriptor() : -1;
  }
  // Writes the rest, and waits for it. Once the job is being ended, or this process is asked to end, it waits for nobody who takes
  // nothing for long.
  void finish();
  // The job is being ended: whoever takes nothing for long does not keep it from that.
  void be_brief() { brief_ = true; }
  // Why lines of the job are lost: of the first of the streams that has one, an errno; 0: none is, but for those whose reader has gone.
  [[nodiscard]] int problem() const {
    return streams_[0].problem() != 0 ? streams_[0].problem() : streams_[1].problem();
  }
  // Nobody reads that stream any more.
  [[nodiscard]] bool is_closed(std::uint8_t stream) const { return streams_[stream - 1].closed(); }

 private:
  void put(std::uint32_t rank, std::uint8_t stream, std::string_view line); // with its end

  bool label_;
  bool brief_ = false;
  std::array<Stream, 2> streams_{Stream(1), Stream(2)};
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::string> begun_; // lines without an end
};

} // namespace heddle::launch

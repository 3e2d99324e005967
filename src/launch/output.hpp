// Where the lines of a job's processes are written: to this process's own standard output and error, each line whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace heddle::launch {

class Output {
 public:
  explicit Output(bool label) : label_(label) {}

  // Bytes of a rank's stream 1 or 2. What is no whole line yet is kept, up to a bound.
  void add(std::uint32_t rank, std::uint8_t stream, std::span<const std::byte> bytes);
  // The rank has ended: its last line may have no end, and gets one only where lines are labelled.
  void end(std::uint32_t rank);

  // Writes what can be written without waiting.
  void flush();
  // What a stream still has to be written; nobody should be read from while it is much.
  [[nodiscard]] std::size_t waiting() const { return streams_[0].text.size() + streams_[1].text.size(); }
  // Whether the stream is waited for until it takes more.
  [[nodiscard]] bool waits_for(std::uint8_t stream) const { return !streams_[stream - 1].text.empty(); }
  // Writes the rest, and waits for it. Once the job is being ended, or this process is asked to end, it waits for nobody who takes
  // nothing for long.
  void finish();
  // The job is being ended: whoever takes nothing for long does not keep it from that.
  void be_brief() { brief_ = true; }
  // Nobody reads that stream any more.
  [[nodiscard]] bool is_closed(std::uint8_t stream) const { return streams_[stream - 1].closed; }

 private:
  struct Stream {
    int descriptor = -1;
    std::string text; // to be written
    bool closed = false;
    base::Deadline stuck_since{}; // it takes nothing; only while there is text
  };
  void put(std::uint32_t rank, std::uint8_t stream, std::string_view line); // with its end
  // Waits so many milliseconds for each part.
  void write(Stream& stream, int wait_ms);
  void give_up_if_stuck(Stream& stream);

  bool label_;
  bool brief_ = false;
  std::array<Stream, 2> streams_{{{.descriptor = 1}, {.descriptor = 2}}};
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::string> begun_; // lines without an end
};

} // namespace heddle::launch

// What the processes of one machine write and read, as an agent passes it on.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/descriptor.hpp"
#include "heddle/error.hpp"
#include "launch/process.hpp"

namespace heddle::launch {

class Pipes {
 public:
  // True: go on.
  using Take = std::function<bool(std::uint32_t rank, std::uint8_t stream, std::span<const std::byte> bytes)>;

  // Two for each rank from `first` on; one more for what rank 0 reads.
  static Result<Pipes> make(std::uint32_t first, std::uint32_t count, bool input);

  [[nodiscard]] ProcessStreams streams_of(std::uint32_t rank) const;
  // The processes have theirs.
  void close_far_ends();

  // Adds what is worth waking up for. `output`: what the processes write is wanted now.
  void add_to(std::vector<pollfd>& entries, bool output) const;
  // Once from each that has something.
  void read(const Take& take);
  // Of one that has ended: what stands there. What somebody who has left its group goes on writing is nobody's.
  void read_all_of(std::uint32_t rank, const Take& take);
  // Whoever writes there is told by the system that nobody reads it.
  void close_stream(std::uint8_t stream);

  // Empty: the end.
  void add_input(std::span<const std::byte> bytes);
  // Bytes that have gone.
  std::size_t write_input();

 private:
  struct Pipe {
    base::Descriptor near;
    base::Descriptor far;
  };
  // Output and error of a rank.
  using Pair = std::array<Pipe, 2>;

  // How many bytes.
  std::size_t read_once(std::uint32_t index, std::size_t stream, const Take& take, bool& goes_on);

  std::uint32_t first_ = 0;
  std::vector<Pair> pairs_;
  Pipe input_; // near: what is written to
  std::vector<std::byte> input_bytes_;
  bool input_ends_ = false;
};

} // namespace heddle::launch

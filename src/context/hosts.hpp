// On which machine each process of a job runs, by name, and its place among those there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::context {

// As a process publishes it; zeros follow where it is shorter.
inline constexpr std::size_t kLongestHostName = 64;
using HostName = std::array<char, kLongestHostName>;
HostName own_host_name();
HostName host_name_of(std::string_view text); // cut where it is longer

class Hosts {
 public:
  // By rank. Equal numbers are one machine, which is called what the first of its processes says. What is no name that can be
  // printed, since processes may say anything, is made one.
  Hosts(std::span<const std::uint64_t> machines, std::span<const HostName> names);

  [[nodiscard]] std::string_view name(std::uint32_t rank) const { return names_[seats_[rank].machine]; }
  [[nodiscard]] std::uint32_t local_rank(std::uint32_t rank) const { return seats_[rank].place; }

 private:
  struct Seat {
    std::uint32_t machine = 0;
    std::uint32_t place = 0;
  };
  std::vector<Seat> seats_;        // by rank
  std::vector<std::string> names_; // by machine
};

} // namespace heddle::context

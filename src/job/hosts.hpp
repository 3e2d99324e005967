// On which machine each process of a job runs, by name, and its place among those there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::job {

inline constexpr std::size_t kLongestHostName = 64; // what is longer is cut
// Of this machine: as the launcher calls it, where that is a name, otherwise as the system says.
std::string own_host_name(std::string_view told);

class Hosts {
 public:
  // By rank. Equal numbers are one machine, which is called what the first of its processes says. What is no name that can be
  // printed, since processes may say anything, is made one.
  Hosts(std::span<const std::uint64_t> machines, std::span<const std::string> names);

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

} // namespace heddle::job

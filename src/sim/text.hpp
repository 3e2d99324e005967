// How numbers of the simulator are written: rates as 2GB/s or 6.8GB/s, times as 80ns or 1.5us, sizes as 2KiB. Exact: no floating
// point. Errors say what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/error.hpp"
#include "sim/units.hpp"

namespace heddle::sim {

Result<Rate> parse_rate(std::string_view text);        // B/s, KB/s, MB/s, GB/s: powers of 1,000, as networks are sold
Result<Picoseconds> parse_time(std::string_view text); // ps, ns, us, ms
Result<std::uint64_t> parse_count(std::string_view text);

// The same back, in the largest unit that leaves a whole number.
std::string print_rate(Rate rate);
std::string print_time(Picoseconds time);

// Cuts `text` at the first `mark`; the whole text and nothing where there is none.
struct Halves {
  std::string_view before;
  std::string_view after;
  bool cut = false;
};
Halves cut_at(std::string_view text, char mark);

} // namespace heddle::sim

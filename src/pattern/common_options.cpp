#include "pattern/common_options.hpp"

#include "pattern/meeting.hpp"
#include "schedule/algorithms.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace heddle::pattern {

namespace {

constexpr int kBits = 3;
constexpr std::uint8_t kMask = 0xfe; // without Meeting::kWrong
static_assert((kMask & Meeting::kWrong) == 0);

bool is_word(unsigned bits) {
  return (bits & ~unsigned{kMask}) == 0 && std::popcount(bits) == kBits;
}

} // namespace

CommonOptions::CommonOptions(const PatternOptions& options) {
  const auto names = schedule::algorithm_names();
  const auto algorithm = std::ranges::find(names, options.algorithm) - names.begin();
  std::ptrdiff_t number = 2 * algorithm + (options.barriers ? 1 : 0); // of the word: there are 35
  unsigned word = 0;
  while (word < kMask && (!is_word(word) || number-- > 0)) ++word;
  bits_ = static_cast<std::uint8_t>(word);
}

bool CommonOptions::are_one(std::uint8_t news) {
  return std::popcount(static_cast<unsigned>(news & kMask)) == kBits;
}

std::string text_of(const PatternOptions& options) {
  return std::string(options.barriers ? "with" : "without") + " barriers and by algorithm '" + options.algorithm + "'";
}

} // namespace heddle::pattern

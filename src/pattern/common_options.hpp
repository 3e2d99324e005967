// Whether all processes have given a pattern the same options. Each says its own in a Meeting, where all hear the "or" of what
// everybody says: as a word with three of seven bits set, so that where two differ there are more (Sperner 1928: no set of a
// family of equally large ones holds another).
#pragma once

#include <heddle/pattern.hpp>

#include <cstdint>
#include <string>

namespace heddle::pattern {

class CommonOptions {
 public:
  // Options that a pattern was made with: the algorithm is known.
  explicit CommonOptions(const PatternOptions& options);

  // As bits, for a Meeting: all but Meeting::kWrong.
  [[nodiscard]] std::uint8_t news() const { return bits_; }
  // Of what all have said.
  static bool are_one(std::uint8_t news);

 private:
  std::uint8_t bits_ = 0;
};

// "with barriers and by algorithm 'sharing'"
std::string text_of(const PatternOptions& options);

} // namespace heddle::pattern

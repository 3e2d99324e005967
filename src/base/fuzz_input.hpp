// What fuzz targets (*_fuzz.cpp) share. A target is a function heddle::fuzz::NAME(Input&) in NAME_fuzz.cpp: it takes any bytes,
// and must neither crash nor hang, nor see a demand broken. cmake/fuzz.cmake finds targets by their files' names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "heddle/error.hpp"

namespace heddle::fuzz {

// Bytes that a target's choices and contents are taken from, from the front. Zeros where nothing is left.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

  template <typename Value>
  Value take() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value{};
    const std::size_t count = std::min(sizeof value, rest_.size());
    if (count > 0) std::memcpy(static_cast<void*>(&value), rest_.data(), count);
    rest_ = rest_.subspan(count);
    return value;
  }
  // 0 <= result < limit, from one byte, or two where one is not enough.
  std::uint32_t below(std::uint32_t limit) {
    return (limit <= 256 ? take<std::uint8_t>() : take<std::uint16_t>()) % limit;
  }
  // A word in a byte or a few: small numbers, numbers near powers of two, or eight bytes as they are.
  std::uint64_t word() {
    const auto choice = take<std::uint8_t>();
    if (choice < 128) return choice;
    if (choice < 192) return (std::uint64_t{1} << (choice & 63U)) - (take<std::uint8_t>() & 1U);
    if (choice < 224) return ~std::uint64_t{0} - (choice & 31U);
    return take<std::uint64_t>();
  }
  // Up to so many bytes.
  std::span<const std::byte> bytes(std::size_t most) {
    const auto part = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(part.size());
    return part;
  }
  std::string_view text(std::size_t most = static_cast<std::size_t>(-1)) {
    const auto part = bytes(most);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  // Up to the next newline, which is left out.
  std::string_view line() {
    const std::string_view all(reinterpret_cast<const char*>(rest_.data()), rest_.size());
    const std::size_t end = std::min(all.find('\n'), all.size());
    rest_ = rest_.subspan(std::min(end + 1, all.size()));
    return all.substr(0, end);
  }

 private:
  std::span<const std::byte> rest_;
};

// What must hold whatever the bytes are.
inline void demand(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "fuzz: broken: %s\n", what);
  std::abort();
}

// An error says something, in one line, whatever the text it is about.
inline void demand_message(const Error& error) {
  demand(!error.fact.empty(), "an error says what is wrong");
  demand(!error.message().empty(), "an error has a message");
}

using Target = void (*)(Input&);
struct NamedTarget {
  std::string_view name;
  Target target;
};
// Made from the files' names, in the order of the alphabet.
std::span<const NamedTarget> targets();

} // namespace heddle::fuzz

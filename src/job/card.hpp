// What a process publishes when it joins: where it is, and its address on each network that it uses. Read with suspicion: it comes
// from another process, which may run another version.
#pragma once

#include "ir/translator.hpp"

#include <heddle/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::job {

// The processors that a process may run on, one bit each.
using ProcessorSet = std::array<std::uint64_t, 16>;

struct Card {
  static constexpr std::size_t kMostNetworks = 16;
  static constexpr std::size_t kLongestName = 32; // of a network
  static constexpr std::size_t kLongestHost = 64; // its first part

  struct Entry {      // of one network
    std::string name; // the translator's; no two are equal
    ir::Address address{};
    std::uint64_t location = 0; // ir::Paths::location
  };

  std::uint64_t node = 0; // equal for processes that share a machine's memory
  std::string host;       // its name, for people
  ProcessorSet processors{};
  std::vector<Entry> networks; // in order of preference

  [[nodiscard]] const Entry* find(std::string_view name) const;

  [[nodiscard]] std::vector<std::byte> encode() const;
  // Error: these bytes are no card of this version.
  static Result<Card> decode(std::span<const std::byte> bytes);
};

} // namespace heddle::job

// What stands in a heddle::Name: who the process is, and where it is found on one network. The rest follows on contact.
#pragma once

#include "ir/translator.hpp"

#include <heddle/name.hpp>

#include <cstdint>
#include <string>

namespace heddle::job {

struct ContactName {
  static constexpr std::size_t kLongestTranslator = 11;

  std::uint64_t uid = 0;
  std::string translator; // at most kLongestTranslator
  ir::Address address{};

  [[nodiscard]] Name encode() const;
  static ContactName decode(const Name& name);
};

// As no other process has: drawn by the system.
std::uint64_t draw_uid();

} // namespace heddle::job

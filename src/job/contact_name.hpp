// What stands in a heddle::Name: who the process is, and where it is found on each network that it uses. The rest follows on contact.
#pragma once

#include "ir/translator.hpp"

#include <heddle/name.hpp>

#include <cstdint>
#include <vector>

namespace heddle::job {

struct ContactName {
  struct Entry {
    char letter = 0; // ir::Naming::letter of the network; not 0
    ir::ShortAddress address{};
  };

  std::uint64_t uid = 0;
  std::vector<Entry> networks; // in the order that the process prefers

  // unsupported where they have not all room.
  [[nodiscard]] Result<Name> encode() const;
  // Names come from anybody: what is not sound in one is left out.
  static ContactName decode(const Name& name);

  [[nodiscard]] const Entry* find(char letter) const;
};

// As no other process has: drawn by the system.
std::uint64_t draw_uid();

} // namespace heddle::job

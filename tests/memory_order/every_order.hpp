// What is asked of each protocol: no execution breaks it, and each order that its code asks for is needed, since without it
// some execution does.
#pragma once

#include "tests/weak_memory/explorer.hpp"

#include <string>
#include <vector>

namespace heddle::memory_order {

struct Named {
  std::string name;
  Program program;
};

// Together the programs need every order at every site that they pass; what a test itself asks for does not count, nor what
// stands in the file `elsewhere`, whose other uses need more.
// Prints how much was explored, and what shows each weakening.
void expect_sound_and_minimal(std::vector<Named> programs, const std::string& elsewhere = {});

} // namespace heddle::memory_order

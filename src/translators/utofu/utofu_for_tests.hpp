// The translator on the machine that libtofucom.so of tests/tofu_emulation emulates.
#pragma once

#include "translators/entry.hpp"
#include "translators/utofu/utofu.hpp"

#include <gtest/gtest.h>

namespace heddle::translators {

inline std::unique_ptr<Utofu> utofu_of(std::uint32_t rank, const char* library) {
  base::Values own({.name = Utofu::kName, .options = Utofu::kOptions});
  EXPECT_TRUE(own.assign(utofu::kLibrary, library));
  auto made = Utofu::make({.rank = rank, .size = 4, .own = &own});
  EXPECT_TRUE(made) << made.error().message();
  return std::unique_ptr<Utofu>(made ? static_cast<Utofu*>(made->release()) : nullptr);
}

} // namespace heddle::translators

// The list of translators: the one place that names them all.
#pragma once

#include "base/log.hpp"
#include "base/options.hpp"
#include "ir/translator.hpp"

#include <heddle/error.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace heddle::context {

// What a translator is made from.
struct Ground {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  const base::Settings* settings = nullptr;
  base::Log log{};
};

struct Entry {
  std::string_view name;
  std::string_view reach; // who can be reached with it, for people
  Result<std::unique_ptr<ir::Translator>> (*make)(const Ground& ground);
};

// In order of preference.
std::span<const Entry> registry();

} // namespace heddle::context

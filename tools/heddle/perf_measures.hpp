// The measures of `heddle perf` as its user meets them: names, units, sizes. Not here: measuring (measure.hpp).
#pragma once

#include "measure.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace heddle::tool {

struct Unit {
  const char* name;   // for people
  const char* member; // of the JSON result
  double scale;       // from the JSON's unit to the one for people
};

struct NamedMeasure {
  const char* name;
  Measure what;
  Unit unit;
  const char* sizes; // where none are given
};

// The measure of that name, which is one of measure_names().
const NamedMeasure& measure_named(std::string_view name);
std::vector<std::string> measure_names();

// What is wrong with a size for a measure; empty where nothing is.
std::string_view objection(Measure what, std::uint64_t bytes);

} // namespace heddle::tool

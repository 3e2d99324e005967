// What the report on RDMA scheduling shows, and what it makes of it: shared by those who run the exchanges and those who judge them.
#pragma once

#include "halo.hpp"
#include "reproduce.hpp"

#include <array>
#include <map>
#include <string_view>

namespace heddle::tool::scheduling {

// Messages instead of planned puts. As the report has them: each whole, each on the engine that follows from its peer. The same with
// engines planned as messages come. And as a program has them: the library's default options, which plan, too, and send in pieces of
// chunk_bytes.
inline constexpr std::string_view kOriginal = "orig";
inline constexpr std::string_view kOriginalPlanned = "orig-planned";
inline constexpr std::string_view kOriginalDefault = "orig-default";

// The report's six; its idea for small sizes (figure 14), which it did not try; ours; messages.
inline constexpr std::array<std::string_view, 11> kMethods{
    "round-robin-1",      "round-robin-2", "round-robin-4", "bottom-left-1",  "bottom-left-2", "bottom-left-4",
    "bottom-left-seeded", "sharing",       kOriginal,       kOriginalPlanned, kOriginalDefault};

struct PlottedPattern {
  int number; // of the figure
  const char* name;
  const char* directions;
};

inline constexpr std::uint32_t kLargestGrid = kGridSizes.back();
inline constexpr std::uint32_t kSmallestGrid = kGridSizes.front();
inline constexpr const char* kFabric = "tofu:4x1x1";

using Times = std::map<std::string_view, std::map<std::uint32_t, double>>; // method -> k -> us

// All that is shown of one pattern: every point, what the text says of it, and charts. `barriers` are those around an exchange, in us.
Result<void> add_pattern(Reproduction& all, const PlottedPattern& figure, const Run& run, Times& times,
                         double barriers);
// What the text says of order and sameness, for each grid size. reproduce_scheduling_orders.cpp
void add_orders(Reproduction& all, const PlottedPattern& figure, Times& times);

} // namespace heddle::tool::scheduling

// Which of libfabric's providers there are here, and which can serve.
#pragma once

#include "translators/ofi/library.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::translators::ofi {

// Our own: below it would be Heddle again.
inline constexpr std::string_view kOwnProvider = "heddle";

using Info = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

struct Choice {
  Info info{nullptr, nullptr}; // one entry
  bool remote = false;         // it leads to other machines, too
  bool ends_in_turn = false; // what a dead peer was to answer holds up the completions of all that was posted after it
};

// The one that the options name, or the first that leads to other machines. The error lists those found.
Result<Choice> choose(const Library& library, const std::string& provider, const std::string& domain);

struct Found {
  std::string provider;
  std::string why_not; // empty: it is usable
};
// Takes its time: every provider looks for its hardware.
std::vector<Found> find_all(const Library& library);
std::string to_text(const std::vector<Found>& found);

} // namespace heddle::translators::ofi
#endif

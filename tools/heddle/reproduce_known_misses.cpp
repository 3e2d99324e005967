// Predicted figures that are not within their tolerance, and why: shown, not tuned away. What is listed here and holds after all is
// an error of the list, which a test finds.
#include "reproduce.hpp"

#include <array>

namespace heddle::tool {
namespace {

struct KnownMiss {
  std::string_view id; // or what it begins with, where it ends in /
  std::string_view reason;
};

constexpr std::array kKnownMisses{
    KnownMiss{"fat-tree/random16/pair/hot_spot_free",
              "the listing, as we read what is left of it, leaves hot spots on about one set of twenty "
              "(docs/routing.md); 002 says on none"},
    KnownMiss{"fat-tree/packets/node/gain",
              "scaled down, a message is not much larger than what buffers on its way hold, so that collisions cost "
              "less; with "
              "--full-size it holds"},
    KnownMiss{"scheduling/east-west/overhead",
              "two barriers by messages of the library among 48 processes, and start-ups that have no source; the K "
              "computer's "
              "barriers are its network's"},
    KnownMiss{"scheduling/north-south/overhead", "the reason is that of scheduling/east-west/overhead"},
    KnownMiss{"scheduling/four/overhead", "the reason is that of scheduling/east-west/overhead"},
    KnownMiss{"scheduling/four/872/orig_to_bottom-left-4",
              "theirs is another library's eager and rendezvous, of which 003 says nothing; ours is Heddle's own"},
};

} // namespace

std::string_view known_miss(std::string_view id) {
  for (const KnownMiss& miss : kKnownMisses)
    if (id == miss.id || (miss.id.ends_with('/') && id.starts_with(miss.id))) return miss.reason;
  return "";
}

} // namespace heddle::tool

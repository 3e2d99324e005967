// Predicted figures that are not within their tolerance, why, and how far: shown, not tuned away. What is listed here and holds after
// all is an error of the list, which a test finds; what goes beyond its range misses.
#include "reproduce_figure.hpp"

#include <algorithm>
#include <array>

namespace heddle::tool {
namespace {

constexpr std::string_view kOverhead =
    "two barriers by messages of the library among 48 processes, where the K computer's are its network's. Tested as "
    "far as it goes: overhead/left_for_barriers_of_report says what the report's would have to take, 5 to 6 us less "
    "than ours in two directions, and 3 less in four. It should be the same in all, so barriers are not the whole "
    "reason: "
    "start-ups have no source";
constexpr std::string_view kQueues =
    "of small puts the turns from queue to queue decide, of which 003 says without numbers that they do (figure 13). "
    "Tested: with "
    "--set tofu.queue_access=0ns it holds";
constexpr std::string_view kStartUps =
    "two engines take twice as many small puts one after the other as four do, and what it costs to start one has no "
    "source. Tested: "
    "with --set tofu.startup=100ns it holds, but at small sizes bottom-left-4 and round-robin-4 then fall behind";

constexpr std::array kKnownMisses{
    KnownMiss{"fat-tree/random16/pair/hot_spot_free", 920, 999,
              "the listing, as we read what is left of it, leaves hot spots on about one set of twenty "
              "(docs/routing.md); 002 says on none"},
    KnownMiss{"fat-tree/packets/node/gain", 1.12, 1.34 * 0.92,
              "scaled down to 64 KiB and 4 processes a node. Tested: with --full-size it holds, and it does where "
              "either is "
              "nearer to the report's, with --set packets.processes=8 or --set packets.message=262144. It is not "
              "buffers that "
              "hold much of a message: with --set infiniband.buffer=4KiB or 1MiB it hardly moves"},
    KnownMiss{"scheduling/east-west/overhead", 19.4, 24.5, kOverhead},
    KnownMiss{"scheduling/north-south/overhead", 19.4, 25, kOverhead},
    KnownMiss{"scheduling/four/overhead", 24.8, 27.5, kOverhead},
    KnownMiss{"scheduling/four/872/orig_to_bottom-left-4", 1.6, 2 * 0.92 - 1e-6,
              "theirs is another library's eager and rendezvous, of which 003 says nothing; ours is Heddle's own. Not "
              "tested: there is "
              "nothing to test it by"},
    KnownMiss{"scheduling/north-south/order/60/round-robin-4_to_bottom-left-4", 1, 1.02, kQueues},
    KnownMiss{"scheduling/diagonal/order/60/bottom-left-2_to_round-robin-4", 1, 1.03, kStartUps},
    KnownMiss{"scheduling/diagonal/order/70/bottom-left-2_to_round-robin-4", 1, 1.03, kStartUps},
    KnownMiss{"scheduling/diagonal/order/80/bottom-left-2_to_round-robin-4", 1, 1.03, kStartUps},
    KnownMiss{"scheduling/diagonal/order/109/bottom-left-2_to_round-robin-4", 1, 1.04, kStartUps},
    KnownMiss{"scheduling/diagonal/order/218/bottom-left-2_to_round-robin-4", 1, 1.09, kStartUps},
    KnownMiss{"scheduling/diagonal/order/327/bottom-left-2_to_round-robin-4", 1, 1.06, kStartUps},
    KnownMiss{"scheduling/diagonal/order/436/bottom-left-2_to_round-robin-4", 1, 1.02, kStartUps},
    KnownMiss{"scheduling/eight/order/60/bottom-left-4_to_best_of_others", 1, 1.02, kQueues},
    KnownMiss{"scheduling/eight/order/70/bottom-left-4_to_best_of_others", 1, 1.03, kQueues},
    KnownMiss{"scheduling/eight/order/80/bottom-left-4_to_best_of_others", 1, 1.02, kQueues},
};

} // namespace

const KnownMiss* known_miss(std::string_view id) {
  const auto* const known = std::ranges::find(kKnownMisses, id, &KnownMiss::id);
  return known == kKnownMisses.end() ? nullptr : known;
}

} // namespace heddle::tool

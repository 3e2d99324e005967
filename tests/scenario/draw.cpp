#include "tests/scenario/draw.hpp"

#include "tests/scenario/lot.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace heddle::tests {

namespace {

using std::chrono::nanoseconds;

// What the parts of one drawing share.
struct Drawing {
  Lot lot;
  Scenario scenario;
  bool rhinet = false;
  std::uint64_t message_ns = 0; // that a small message takes, about
  std::uint64_t largest = 0;    // bytes of a message
  std::uint64_t least = 0;      // the same: those of one that may die carry their number
};

struct FabricChoice {
  const char* name;
  std::uint32_t nodes;
};

void draw_fabric(Drawing& drawing) {
  constexpr std::array kSmall = {
      FabricChoice{"infiniband:2-ary-2-tree", 4},  FabricChoice{"infiniband:4-ary-2-tree,lmc=2", 16},
      FabricChoice{"infiniband:2-ary-3-tree", 8},  FabricChoice{"tofu:1x1x1", 12},
      FabricChoice{"tofu:2x1x1,generation=d", 24}, FabricChoice{"rhinet:star:8", 8},
      FabricChoice{"rhinet:ring:12", 12},          FabricChoice{"infiniband:6-ary-2-tree", 36}};
  constexpr std::array kLarge = {FabricChoice{"infiniband:8-ary-2-tree,lmc=1", 64}, FabricChoice{"tofu:2x2x2", 96},
                                 FabricChoice{"rhinet:star:64", 64}};
  Lot& lot = drawing.lot;
  simulation::Setup& setup = drawing.scenario.setup;
  const std::uint64_t size = lot.below(1000);
  std::uint32_t wanted = static_cast<std::uint32_t>(2 + lot.below(7));
  if (size >= 850) wanted = static_cast<std::uint32_t>(8 + lot.below(9));
  if (size >= 985) wanted = static_cast<std::uint32_t>(17 + lot.below(48));
  const FabricChoice& fabric = wanted > 24 ? lot.pick(kLarge) : lot.pick(kSmall);
  setup.fabric = fabric.name;
  setup.peers_per_node = wanted > fabric.nodes ? (wanted + fabric.nodes - 1) / fabric.nodes : lot.chance(25) ? 2 : 1;
  setup.peers = wanted;
  drawing.rhinet = setup.fabric.starts_with("rhinet");
  drawing.message_ns = drawing.rhinet ? 20'000 : 2000;
}

void draw_limits(Drawing& drawing) {
  Lot& lot = drawing.lot;
  Options& options = drawing.scenario.setup.options;
  const std::uint64_t ring = std::uint64_t{1} << (12 + lot.below(5));
  options.ring_bytes = ring;
  options.ring_memory = ring * (lot.chance(35) ? 2 + lot.below(3) : 64); // often so little that rings are shared
  options.eager_limit = lot.chance(5) ? 0 : lot.below(ring / 4);
  options.chunk_bytes = 4096 << lot.below(4);
  if (lot.chance(15) && *options.eager_limit >= 64) options.unsolicited_memory = 4096 + lot.below(4096);
  drawing.largest = 500 + lot.below(lot.chance(80) ? 12'000 : 100'000);
}

void draw_faults(Drawing& drawing) {
  Lot& lot = drawing.lot;
  simulation::Setup& setup = drawing.scenario.setup;
  if (lot.chance(60))
    setup.faults = {.seed = 1 + lot.below(1'000'000'000),
                    .short_count = lot.chance(50) ? 0.2 : 0,
                    .delay_command = lot.chance(50) ? 0.2 : 0,
                    .delay_event = lot.chance(50) ? 0.2 : 0,
                    .reorder_events = lot.chance(50) ? 0.2 : 0,
                    .refuse_reads = lot.chance(20) ? 0.5 : 0,
                    .reorder_commands = lot.chance(50)};
  drawing.scenario.leaves.assign(setup.peers, false);
  const std::uint64_t going = lot.chance(45) ? 0 : 1 + lot.below(std::min<std::uint64_t>(setup.peers, 3));
  for (std::uint64_t i = 0; i < going; ++i) {
    const auto rank = static_cast<std::uint32_t>(lot.below(setup.peers));
    if (drawing.scenario.goes(rank)) continue;
    if (lot.chance(30)) {
      drawing.scenario.leaves[rank] = true;
    } else {
      const std::uint64_t span = drawing.message_ns * (lot.chance(30) ? 500 : 60);
      setup.deaths.push_back({.rank = Rank{rank}, .at = nanoseconds(lot.below(span))});
    }
  }
  drawing.least = setup.deaths.empty() ? 0 : 8;
  if (!drawing.rhinet || !lot.chance(25)) return;
  // A cable of a node, or one between switches; plugged again, since packets for a node that is cut off wait for that.
  for (std::uint64_t i = 1 + lot.below(2); i > 0; --i) {
    const auto cable = static_cast<std::uint32_t>(lot.below(8));
    const std::uint64_t cut = lot.below(1'000'000);
    setup.cables.push_back({.cable = cable, .at = nanoseconds(cut), .plugged = false});
    setup.cables.push_back({.cable = cable, .at = nanoseconds(cut + 200'000 + lot.below(2'000'000)), .plugged = true});
  }
  std::ranges::sort(setup.cables, {}, &simulation::Setup::CableChange::at);
}

void draw_meetings(Drawing& drawing) {
  Lot& lot = drawing.lot;
  const std::uint32_t peers = drawing.scenario.peers();
  for (std::uint64_t left = lot.chance(60) ? lot.below(4) : 0; left > 0; --left) {
    Meeting meeting{.kind = static_cast<Meeting::Kind>(lot.below(5))};
    if (peers > 16 && meeting.kind > Meeting::Kind::alltoall) meeting.kind = Meeting::Kind::barrier;
    if (meeting.kind != Meeting::Kind::barrier) meeting.bytes = lot.chance(70) ? lot.below(600) : lot.below(9000);
    if (peers > 16) meeting.bytes /= 16;
    // So small that they travel together, over others.
    if (peers > 24 && meeting.kind == Meeting::Kind::alltoall && lot.chance(60)) meeting.bytes = 1 + lot.below(24);
    if (meeting.kind >= Meeting::Kind::pattern) {
      meeting.distance = 1 + lot.below(peers - 1);
      meeting.rounds = lot.below(4);
      meeting.requests = lot.chance(60) ? 1 : 2 + lot.below(4);
      meeting.form = lot.below(1000);
    }
    drawing.scenario.meetings.push_back(meeting);
  }
}

std::uint64_t draw_bytes(Drawing& drawing) {
  Lot& lot = drawing.lot;
  const std::array<std::uint64_t, 7> classes = {1, 9, 65, 1025, 5000, 12'000, drawing.largest + 1};
  const std::uint64_t choice = lot.below(100);
  const std::size_t index = choice < 8    ? 0
                            : choice < 25 ? 1
                            : choice < 50 ? 2
                            : choice < 75 ? 3
                            : choice < 90 ? 4
                            : choice < 97 ? 5
                                          : 6;
  return std::min(drawing.largest, drawing.least + lot.below(classes[index]));
}

// Where there is little memory for them: in one record each, to be fetched, or too large to be taken at all.
std::uint64_t draw_unsolicited_bytes(Drawing& drawing) {
  Lot& lot = drawing.lot;
  const Options& options = drawing.scenario.setup.options;
  if (!options.unsolicited_memory) return draw_bytes(drawing);
  if (lot.chance(10)) return std::max(*options.unsolicited_memory, *options.eager_limit) + 1 + lot.below(1000);
  if (lot.chance(40)) return std::max(drawing.least, lot.below(*options.unsolicited_memory));
  const bool shared = *options.ring_memory < 64 * *options.ring_bytes;
  return drawing.least + lot.below(std::min<std::uint64_t>(*options.eager_limit, shared ? 32 : 1000) - 8);
}

std::uint64_t draw_tag(Lot& lot) {
  const std::uint64_t low = lot.below(3);
  return low | (lot.below(3) << 60U);
}

void draw_match(Lot& lot, Action& action) {
  constexpr std::array<std::uint64_t, 6> kMasks = {kWholeTag, kWholeTag, kWholeTag, 0xff, 0xfULL << 60U, 0};
  action.any = lot.chance(30) ? 1 : 0;
  action.mask = lot.pick(kMasks);
  action.tag = draw_tag(lot) & action.mask;
}

// How often each deed is drawn, out of all of these together.
struct Share {
  Deed deed;
  unsigned weight;
};
constexpr std::array kMessageShares = {Share{Deed::send, 30},  Share{Deed::unsolicited, 8}, Share{Deed::receive, 30},
                                       Share{Deed::probe, 4},  Share{Deed::reserve, 5},     Share{Deed::take, 4},
                                       Share{Deed::cancel, 4}, Share{Deed::release, 3},     Share{Deed::look, 10},
                                       Share{Deed::pause, 40}, Share{Deed::compute, 4}};
constexpr std::array kMemoryShares = {Share{Deed::push, 20},   Share{Deed::pull, 10},  Share{Deed::mcast, 5},
                                      Share{Deed::atomic, 12}, Share{Deed::lock, 8},   Share{Deed::close, 1},
                                      Share{Deed::look, 10},   Share{Deed::pause, 35}, Share{Deed::compute, 4}};

template <std::size_t Count>
Deed draw_deed(Lot& lot, const std::array<Share, Count>& shares) {
  std::uint64_t all = 0;
  for (const Share& share : shares) all += share.weight;
  std::uint64_t choice = lot.below(all);
  for (const Share& share : shares) {
    if (choice < share.weight) return share.deed;
    choice -= share.weight;
  }
  return shares[0].deed;
}

Action draw_action(Drawing& drawing, Deed deed) {
  Lot& lot = drawing.lot;
  const std::uint32_t peers = drawing.scenario.peers();
  Action action{.deed = deed};
  action.peer = static_cast<std::uint32_t>(lot.below(peers));
  action.event = lot.below(2);
  action.form = lot.below(1000);
  switch (deed) {
    case Deed::send:
      action.tag = draw_tag(lot);
      action.bytes = draw_bytes(drawing);
      action.mode = lot.chance(25) ? 1 : 0;
      break;
    case Deed::unsolicited: action.bytes = draw_unsolicited_bytes(drawing); break;
    case Deed::receive:
      draw_match(lot, action);
      action.bytes = draw_bytes(drawing);
      break;
    case Deed::probe:
    case Deed::reserve: draw_match(lot, action); break;
    case Deed::take: action.bytes = lot.chance(80) ? 0 : draw_bytes(drawing) + 1; break;
    case Deed::cancel:
    case Deed::release:
    case Deed::look:
    case Deed::close:
    case Deed::meet: break;
    case Deed::lock: // mostly the same, so that there is somebody to pass it on to
      if (lot.chance(70)) action.peer = 0;
      break;
    case Deed::pause:
    case Deed::compute:
      action.ns = lot.below(lot.chance(85) ? 2 * drawing.message_ns : 20 * drawing.message_ns);
      // So long that deaths and all that came before are found at once.
      if (deed == Deed::compute && lot.chance(10)) action.ns *= 100;
      break;
    case Deed::push:
      action.bytes = 1 + lot.below(lot.chance(60) ? 64 : 1000);
      action.offset = lot.below(1000);
      action.mode = lot.below(4);
      action.tag = lot.below(100);
      break;
    case Deed::pull:
      action.bytes = 1 + lot.below(lot.chance(60) ? 64 : 6000);
      action.offset = lot.below(6000);
      action.mode = lot.below(8) == 0 ? 2 : 0;
      break;
    case Deed::mcast:
      action.mask = lot.next() & (peers == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << peers) - 1);
      action.bytes = 1 + lot.below(300);
      action.mode = lot.below(2);
      break;
    case Deed::atomic: action.tag = 1 + lot.below(9); break;
  }
  return action;
}

void draw_actions(Drawing& drawing) {
  Lot& lot = drawing.lot;
  Scenario& scenario = drawing.scenario;
  const std::uint32_t peers = scenario.peers();
  scenario.actions.resize(peers);
  const std::uint64_t most = peers <= 8 ? 8 + lot.below(60) : peers <= 16 ? 6 + lot.below(20) : 4 + lot.below(8);
  const std::uint64_t flavour = lot.below(10); // below 4: messages alone; 4 and 5: memory alone; above: both
  for (auto& actions : scenario.actions) {
    const std::uint64_t count = 1 + lot.below(most);
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool of_memory = flavour >= 6 ? lot.chance(40) : flavour >= 4;
      const Deed deed = of_memory ? draw_deed(lot, kMemoryShares) : draw_deed(lot, kMessageShares);
      actions.push_back(draw_action(drawing, deed));
    }
    for (std::size_t i = 0; i < scenario.meetings.size(); ++i)
      actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(lot.below(actions.size() + 1)),
                     Action{.deed = Deed::meet, .event = lot.below(2)});
  }
}

} // namespace

Scenario draw(std::uint64_t seed) {
  Drawing drawing{.lot = Lot(seed), .scenario = {}};
  draw_fabric(drawing);
  draw_limits(drawing);
  draw_faults(drawing);
  draw_meetings(drawing);
  draw_actions(drawing);
  return std::move(drawing.scenario);
}

} // namespace heddle::tests

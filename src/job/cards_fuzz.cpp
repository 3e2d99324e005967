// What a peer's card may say: its LIDs, its node, its address on shared memory and its host name. A plan of paths, a grouping of
// processes, an attached segment and a name that can be printed come of it, or an error.
#include "base/fuzz_input.hpp"
#include "collective/grouping.hpp"
#include "job/card.hpp"
#include "job/hosts.hpp"
#include "job/path_plan.hpp"
#include "translators/shm/shm.hpp"

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::fuzz {
namespace {

void plan_paths(Input& input) {
  static constexpr std::array<const char*, 4> kMethods{"conventional", "node", "pair", "colouring"};
  std::vector<routing::Location> locations(1 + input.below(6));
  const std::uint32_t lmc = input.below(4) == 0 ? static_cast<std::uint32_t>(input.word()) : input.below(4);
  for (routing::Location& location : locations)
    location = {.base_lid = static_cast<std::uint32_t>(input.word()),
                .lmc = input.below(8) == 0 ? static_cast<std::uint32_t>(input.word()) : lmc};
  const auto paths = job::PathPlan::plan("2-ary-2-tree", kMethods[input.below(4)], locations);
  if (!paths) return demand_message(paths.error());
  const auto size = static_cast<std::uint32_t>(locations.size());
  for (std::uint32_t from = 0; from < size; ++from)
    for (std::uint32_t to = 0; to < size; ++to)
      demand((*paths)->offset(from, to) < (1U << locations[to].lmc), "a path is one of the LIDs of its end");
}

void group(Input& input) {
  std::vector<std::uint64_t> keys(1 + input.below(12));
  std::vector<std::uint64_t> order(keys.size());
  for (std::uint64_t& key : keys) key = input.word();
  for (std::uint64_t& each : order) each = input.word();
  const heddle::collective::Grouping grouping(heddle::collective::number_nodes(keys, order));
  for (std::uint32_t rank = 0; rank < keys.size(); ++rank) {
    std::vector<bool> met(keys.size());
    for (std::uint64_t step = 0; step < grouping.steps(); ++step) {
      const std::uint32_t to = grouping.partners(rank, step).to;
      if (to == heddle::collective::kNobody) continue;
      demand(to < keys.size() && !met[to], "a process sends to each once");
      met[to] = true;
    }
    demand(std::find(met.begin(), met.end(), false) == met.end(), "and to all");
  }
}

// Its own address, changed: other processes' files are none of the fuzzer's business.
void attach(Input& input) {
  static const auto own =
      translators::Shm::create({.rank = 0, .size = 2, .ring_memory = 1 << 20, .log = base::Log(LogLevel::silent)});
  demand(own.has_value(), "shared memory is there");
  ir::Address address = (*own)->address();
  for (std::uint32_t changes = input.below(4); changes > 0; --changes) {
    const std::uint64_t word = input.word();
    const std::size_t at = sizeof(std::int32_t) * (1 + input.below(5)); // all but the process
    std::memcpy(address.data() + at, &word, sizeof(std::int32_t));
  }
  if (const auto attached = (*own)->attach(ir::Peer{1}, address); !attached) demand_message(attached.error());
  (*own)->detach(ir::Peer{1});
}

void name_hosts(Input& input) {
  std::vector<std::uint64_t> machines(1 + input.below(4));
  std::vector<std::string> names(machines.size());
  for (std::uint64_t& machine : machines) machine = input.below(3);
  for (std::string& name : names) {
    name.resize(input.below(80));
    for (char& character : name) character = static_cast<char>(input.take<std::uint8_t>());
  }
  const job::Hosts hosts(machines, names);
  for (std::uint32_t rank = 0; rank < machines.size(); ++rank) {
    const std::string_view name = hosts.name(rank);
    demand(!name.empty() && name.size() <= job::kLongestHostName, "a host has a name");
    for (const char character : name) demand(character > ' ' && character <= '~', "that can be printed");
    demand(hosts.local_rank(rank) <= rank, "no process comes before one of a lower rank");
  }
}

// The whole card, as a peer may have written it.
void read_card(Input& input) {
  std::vector<std::byte> bytes =
      job::Card{.node = 1, .host = "a", .networks = {{.name = "shm"}, {.name = "tcp"}}}.encode();
  for (std::uint32_t changes = input.below(6); changes > 0; --changes)
    bytes[input.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::byte>(input.take<std::uint8_t>());
  bytes.resize(bytes.size() - input.below(3) * input.below(static_cast<std::uint32_t>(bytes.size()) / 2));
  const auto card = job::Card::decode(bytes);
  if (!card) return demand_message(card.error());
  demand(card->encode() == bytes, "a card that is read can be written again");
}

} // namespace

void cards(Input& input) {
  read_card(input);
  plan_paths(input);
  group(input);
  attach(input);
  name_hosts(input);
}

} // namespace heddle::fuzz

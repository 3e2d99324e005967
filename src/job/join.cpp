#include "job/join.hpp"

#include "job/network_choice.hpp"
#include "job/path_plan.hpp"
#include "job/processors.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

namespace heddle::job {

namespace {

Result<std::vector<Card>> read_cards(const Member& self, base::Deadline deadline) {
  auto blobs = self.store.gather(deadline);
  if (!blobs) return std::unexpected(std::move(blobs.error()));
  std::vector<Card> cards;
  for (const store::Bytes& blob : *blobs) {
    auto card = Card::decode(blob);
    if (!card) {
      Error error = std::move(card.error());
      error.fact = "rank " + std::to_string(cards.size()) + ": " + error.fact;
      error.peer = static_cast<std::int64_t>(cards.size());
      return std::unexpected(std::move(error));
    }
    cards.push_back(std::move(*card));
  }
  return cards;
}

// Where each process is on the network by which this one reaches it.
std::vector<std::uint64_t> locations_of(const Member& self, const std::vector<Card>& cards,
                                        std::span<const engine::Contact> contacts) {
  std::vector<std::uint64_t> locations(cards.size());
  const auto locate = [&](std::uint32_t rank, std::string_view network) {
    const Card::Entry* found = cards[rank].find(network);
    if (found != nullptr) locations[rank] = found->location;
  };
  for (std::uint32_t rank = 0; rank < cards.size(); ++rank)
    if (contacts[rank].port != 0) locate(rank, self.networks[contacts[rank].port - 1]->name());
  // This process, by the first network on which it is anywhere.
  const Card& own = cards[self.store.rank()];
  const auto placed = std::ranges::find_if(own.networks, [](const Card::Entry& entry) { return entry.location != 0; });
  if (placed != own.networks.end()) locate(self.store.rank(), placed->name);
  return locations;
}

// Of networks that do not know where they are, the nodes' names say it. Empty: neither does.
Result<std::vector<routing::Location>> places_of(const Member& self, std::span<const std::string> nodes,
                                                 std::span<const std::uint64_t> numbers) {
  std::vector<routing::Location> locations;
  for (const std::uint64_t number : numbers) locations.push_back(routing::Location::of_number(number));
  if (std::ranges::all_of(locations, &routing::Location::known)) return locations;
  auto named = locate_by_name(self.settings.topology, nodes);
  if (named || named.error().code != ErrorCode::unreachable) return named;
  self.log.warning("option topology has no effect: not every process is on a network that knows its place, and " +
                   named.error().fact);
  return std::vector<routing::Location>{};
}

// Chooses the paths to all peers, where option topology is given; `numbers` says then where each is on it.
Result<void> choose_paths(const Member& self, std::span<const engine::Contact> contacts,
                          std::span<const std::string> nodes, std::vector<std::uint64_t>& numbers) {
  if (self.settings.topology.empty()) return {};
  const auto places = places_of(self, nodes, numbers);
  if (!places) return std::unexpected(places.error());
  if (places->empty()) return {};
  const std::span<const routing::Location> locations = *places;
  for (std::size_t rank = 0; rank < locations.size(); ++rank) numbers[rank] = locations[rank].number();
  const auto paths = PathPlan::plan(self.settings.topology, self.settings.paths, locations);
  if (!paths) return std::unexpected(paths.error());
  for (std::uint32_t rank = 0; rank < contacts.size(); ++rank) {
    if (contacts[rank].port == 0) continue;
    if (ir::Paths* network = self.networks[contacts[rank].port - 1]->facets().paths)
      network->choose_path(ir::Peer{rank}, (*paths)->offset(self.store.rank(), rank));
  }
  return {};
}

// "n3 n1 n2"
std::string in_order(std::span<const std::string> hosts, std::span<const std::uint64_t> order) {
  std::map<std::uint64_t, std::string> names;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) names.try_emplace(order[rank], hosts[rank]);
  std::string text;
  for (const auto& [place, name] : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

double processes_on_each(const std::vector<Card>& cards, std::uint64_t node) {
  int processes = 0;
  ProcessorSet processors{};
  for (const Card& card : cards) {
    if (card.node != node) continue;
    ++processes;
    for (std::size_t i = 0; i < processors.size(); ++i) processors[i] |= card.processors[i];
  }
  int usable = 0;
  for (const std::uint64_t word : processors) usable += std::popcount(word);
  return static_cast<double>(processes) / std::max(usable, 1);
}

} // namespace

namespace {

// for utofu: begin
// Whether a network's atomics and the processor's do not know of each other: then a process comes to its own memory by that network, too.
bool processor_is_apart(const Member& self) {
  return !self.simulated && std::ranges::any_of(self.networks, [](const ir::Translator* network) {
    return network->capabilities().atomics && !network->capabilities().atomics_with_processor;
  });
}
// for utofu: end

} // namespace

Result<void> publish(const Member& self, base::Deadline deadline) {
  Card card{.node = self.node, .host = self.host, .processors = usable_processors()};
  for (ir::Translator* network : self.networks) {
    ir::Paths* paths = network->facets().paths;
    card.networks.push_back({.name = std::string(network->name()),
                             .address = network->address(),
                             .location = paths != nullptr ? paths->location() : 0});
  }
  return self.store.contribute(card.encode(), deadline);
}

Result<Roster> meet(const Member& self, base::Deadline deadline) {
  const auto cards = read_cards(self, deadline);
  if (!cards) {
    Error error = cards.error();
    if (error.code == ErrorCode::timed_out && error.remedy.empty())
      error.remedy = "see what keeps the others; option join_timeout_s gives them longer";
    return std::unexpected(std::move(error));
  }
  Roster roster{.contacts = std::vector<engine::Contact>(cards->size())};
  std::vector<std::uint64_t> nodes;
  std::vector<std::string> hosts;
  for (std::uint32_t rank = 0; rank < cards->size(); ++rank) {
    nodes.push_back((*cards)[rank].node);
    hosts.push_back((*cards)[rank].host);
    const bool own = rank == self.store.rank();     // for utofu
    if (own && !processor_is_apart(self)) continue; // port 0; for utofu
    const auto contact = choose_network(self.networks, *cards, self.store.rank(), rank);
    if (!contact) return std::unexpected(contact.error());
    roster.contacts[rank] = *contact;
  }
  auto locations = locations_of(self, *cards, roster.contacts);
  if (auto chosen = choose_paths(self, roster.contacts, hosts, locations); !chosen)
    return std::unexpected(chosen.error());
  std::vector<std::uint64_t> order;
  for (const std::uint64_t location : locations) order.push_back(location & 0xffff'ffffU);
  roster.grouping = std::make_shared<collective::Grouping>(collective::number_nodes(nodes, order));
  if (!self.settings.topology.empty() && self.log.enabled(LogLevel::info))
    self.log.info("nodes in the order of the fabric: " + in_order(hosts, order));
  roster.hosts = std::make_shared<Hosts>(nodes, hosts);
  roster.on_each = processes_on_each(*cards, self.node);
  roster.costs = roster.grouping->nodes() == 1 ? collective::Costs::inside_a_machine(roster.on_each)
                                               : collective::Costs::between_machines(roster.grouping->widest());
  return roster;
}

} // namespace heddle::job

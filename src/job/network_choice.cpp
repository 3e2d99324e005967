#include "job/network_choice.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::job {

namespace {

using Entries = std::span<const Card::Entry>;

std::string names_of(Entries entries) {
  std::string text;
  for (const Card::Entry& entry : entries) text += " " + entry.name;
  return text;
}

// `order` are the networks of one of the two, as it prefers them.
Result<engine::Contact> choose(std::span<ir::Translator* const> networks, Entries order, Entries theirs,
                               const std::string& who) {
  std::string reasons;
  for (const Card::Entry& entry : order) {
    const auto own = std::ranges::find(networks, entry.name, &ir::Translator::name);
    const auto far = std::ranges::find(theirs, entry.name, &Card::Entry::name);
    if (own == networks.end() || far == theirs.end()) continue;
    const auto reached = (*own)->reaches(far->address);
    if (reached)
      return engine::Contact{.address = far->address, .port = static_cast<std::uint8_t>(1 + (own - networks.begin()))};
    reasons += "; " + entry.name + ": " + reached.error().fact;
  }
  if (reasons.empty()) {
    reasons = theirs.empty() ? "; it uses others than" : "; it uses" + names_of(theirs) + ",";
    reasons += " this process";
    for (const ir::Translator* network : networks) reasons += " " + std::string(network->name());
  }
  return std::unexpected(Error{.code = ErrorCode::unreachable,
                               .fact = "no network leads to " + who + reasons,
                               .remedy = "allow more in option translators"});
}

} // namespace

Result<engine::Contact> choose_network(std::span<ir::Translator* const> networks, std::span<const Card> cards,
                                       std::uint32_t self, std::uint32_t rank) {
  const Card& theirs = cards[rank];
  const std::string who = "rank " + std::to_string(rank) + (theirs.host.empty() ? "" : " on " + theirs.host);
  auto chosen = choose(networks, cards[std::min(rank, self)].networks, theirs.networks, who);
  if (!chosen) chosen.error().peer = rank;
  return chosen;
}

Result<engine::Contact> choose_network(std::span<ir::Translator* const> networks, std::uint64_t uid,
                                       const ContactName& peer) {
  std::vector<Card::Entry> own;
  std::vector<Card::Entry> theirs;
  for (ir::Translator* network : networks) own.push_back({.name = std::string(network->name())});
  for (const ContactName::Entry& entry : peer.networks) {
    const auto same = std::ranges::find(networks, entry.letter,
                                        [](ir::Translator* network) { return network->facets().naming->letter(); });
    if (same == networks.end()) continue;
    const auto address = (*same)->facets().naming->whole_address(peer.uid, entry.address.used());
    if (!address) return std::unexpected(address.error());
    theirs.push_back({.name = std::string((*same)->name()), .address = *address});
  }
  return choose(networks, uid < peer.uid ? own : theirs, theirs, "it");
}

Result<Name> name_of(std::span<ir::Translator* const> networks, std::uint64_t uid) {
  ContactName contact{.uid = uid};
  for (ir::Translator* network : networks) {
    const ir::Naming& naming = *network->facets().naming;
    contact.networks.push_back({.letter = naming.letter(), .address = naming.short_address()});
  }
  return contact.encode();
}

} // namespace heddle::job

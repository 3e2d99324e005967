#include "job/network_choice.hpp"

#include <algorithm>
#include <string>

namespace heddle::job {

namespace {

std::string rank_text(std::uint32_t rank, const Card& card) {
  return "rank " + std::to_string(rank) + (card.host.empty() ? "" : " on " + card.host);
}

} // namespace

Result<engine::Contact> choose_network(std::span<ir::Translator* const> networks, std::span<const Card> cards,
                                       std::uint32_t self, std::uint32_t rank) {
  const Card& theirs = cards[rank];
  std::string reasons;
  for (const Card::Entry& entry : cards[std::min(rank, self)].networks) {
    const auto own = std::ranges::find(networks, entry.name, &ir::Translator::name);
    const Card::Entry* far = theirs.find(entry.name);
    if (own == networks.end() || far == nullptr) continue;
    const auto reached = (*own)->reaches(far->address);
    if (reached)
      return engine::Contact{.address = far->address, .port = static_cast<std::uint8_t>(1 + (own - networks.begin()))};
    reasons += "; " + entry.name + ": " + reached.error().fact;
  }
  if (reasons.empty()) {
    reasons = "; it uses";
    for (const Card::Entry& entry : theirs.networks) reasons += " " + entry.name;
    reasons += ", this process";
    for (const ir::Translator* network : networks) reasons += " " + std::string(network->name());
  }
  return std::unexpected(Error{.code = ErrorCode::unreachable,
                               .fact = "no network leads to " + rank_text(rank, theirs) + reasons,
                               .remedy = "allow more in option translators",
                               .peer = rank});
}

} // namespace heddle::job

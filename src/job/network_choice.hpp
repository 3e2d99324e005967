// Which network leads to a peer.
#pragma once

#include "engine/engine.hpp"
#include "ir/translator.hpp"
#include "job/card.hpp"
#include "job/contact_name.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <span>

namespace heddle::job {

// The first network that processes `self` and `rank` both use and that leads there, in the order of the lower rank, so that both sides take
// the same. `networks` are those of this process, `cards` everybody's.
Result<engine::Contact> choose_network(std::span<ir::Translator* const> networks, std::span<const Card> cards,
                                       std::uint32_t self, std::uint32_t rank);

// The same in an open world, where ids stand for ranks and a name for a card. All `networks` have names for their processes.
Result<engine::Contact> choose_network(std::span<ir::Translator* const> networks, std::uint64_t uid,
                                       const ContactName& peer);

// What the process of that id is to be called.
Result<Name> name_of(std::span<ir::Translator* const> networks, std::uint64_t uid);

} // namespace heddle::job

// Which network leads to a peer.
#pragma once

#include "engine/engine.hpp"
#include "ir/translator.hpp"
#include "job/card.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <span>

namespace heddle::job {

// The first network that processes `self` and `rank` both use and that leads there, in the order of the lower rank, so that both sides take
// the same. `networks` are those of this process, `cards` everybody's.
Result<engine::Contact> choose_network(std::span<ir::Translator* const> networks, std::span<const Card> cards,
                                       std::uint32_t self, std::uint32_t rank);

} // namespace heddle::job

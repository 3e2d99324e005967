// Barriers and exchanges share a channel.
#pragma once

#include <cstdint>

namespace heddle::collective {

// This bit of the tag tells the messages of exchanges from those of barriers.
inline constexpr std::uint64_t kExchangeMark = std::uint64_t{1} << 63U;
// And these, the messages by which processes agree on boards from those of the exchanges themselves.
inline constexpr std::uint64_t kOffersMark = std::uint64_t{1} << 62U;
inline constexpr std::uint64_t kVotesMark = std::uint64_t{1} << 61U;

} // namespace heddle::collective

// Barriers and exchanges share a channel.
#pragma once

#include <cstdint>

namespace heddle::collective {

// This bit of the tag tells the messages of exchanges from those of barriers.
inline constexpr std::uint64_t kExchangeMark = std::uint64_t{1} << 63U;

} // namespace heddle::collective

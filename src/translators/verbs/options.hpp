// What can be set of InfiniBand and RoCE alone: [verbs] in an option file, HEDDLE_VERBS_<NAME>, "verbs.<name>" in code.
#pragma once

#include "base/section.hpp"

#include <array>

namespace heddle::translators::verbs {

inline constexpr base::SectionOption kDevice{
    .name = "device",
    .initial = "automatic",
    .expected = "automatic, or a device such as mlx5_0, or one of its ports such as mlx5_0:1",
    .meaning = "the adapter to use; automatic: the first with a port that is up"};
inline constexpr base::SectionOption kGid{
    .name = "gid",
    .initial = "automatic",
    .expected = "automatic, or a number from 0 to 255",
    .meaning = "on Ethernet: which of the port's addresses others use; automatic: RoCE v2 over IPv4 first"};
inline constexpr base::SectionOption kPorts{
    .name = "ports",
    .kind = base::SectionOption::Kind::number,
    .initial = "1",
    .expected = "1 to 4",
    .meaning = "most ports of the adapter to use, each an engine; every one must reach those of all others",
    .least = 1,
    .most = 4};
inline constexpr std::uint64_t kMostPorts = kPorts.most;
inline constexpr base::SectionOption kQueuePairs{
    .name = "queue_pairs",
    .kind = base::SectionOption::Kind::number,
    .initial = "1024",
    .expected = "4 to 65536",
    .meaning = "most of this process at once; those unused for longest make room for others",
    .least = 4,
    .most = 65536};
inline constexpr base::SectionOption kSilence{
    .name = "silence",
    .kind = base::SectionOption::Kind::number,
    .initial = "10",
    .unit = "s",
    .expected = "1 to 600",
    .meaning = "a peer to which the way broke and that does not answer for so long has failed",
    .least = 1,
    .most = 600};

inline constexpr std::array kOptions{kDevice, kGid, kPorts, kQueuePairs, kSilence};

} // namespace heddle::translators::verbs

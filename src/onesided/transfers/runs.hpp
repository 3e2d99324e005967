// Pieces of a push packed together, each behind a ScatterRun, for the owner's engine to put into place.
#pragma once

#include "base/reserve.hpp"
#include "onesided/records.hpp"
#include "onesided/transfers/pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::onesided {

// Of one record's runs: the owner works on one while the next is on its way.
inline constexpr std::uint64_t kMostPacked = 16 << 10;
// What a put costs beside its bytes, in bytes of the link's time: pieces below it are better sent together.
inline constexpr std::uint64_t kPutWorth = 512;

// The next pieces of `local`, in at most `most` bytes, which hold a run and a byte at least. False: there are none left.
inline bool pack_runs(PieceCursor& cursor, std::span<const std::byte> local, std::uint64_t most,
                      base::BackedVector<std::byte>& into) {
  into.clear();
  Piece piece;
  while (into.size() + sizeof(ScatterRun) < most && cursor.next(piece, most - into.size() - sizeof(ScatterRun))) {
    const ScatterRun run{.at = static_cast<std::uint32_t>(piece.remote),
                         .bytes = static_cast<std::uint32_t>(piece.bytes)};
    const auto head = std::as_bytes(std::span(&run, 1));
    const auto data = local.subspan(piece.local, piece.bytes);
    into.insert(into.end(), head.begin(), head.end());
    into.insert(into.end(), data.begin(), data.end());
  }
  return !into.empty();
}

} // namespace heddle::onesided

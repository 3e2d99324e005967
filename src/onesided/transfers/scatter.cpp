// Pushes of many small pieces on networks where every put costs as much as some hundred bytes: the pieces travel together in
// records, and the owner's processor puts them into place, as the interface of RHiNET does for its diffs.
#include "onesided/transfers/runs.hpp"
#include "onesided/transfers/transfers.hpp"

#include <algorithm>
#include <limits>

namespace heddle::onesided {

namespace {

constexpr std::uint64_t kFewestPieces = 4;

} // namespace

bool Transfers::better_scattered(const Transfer& transfer) {
  const Connection& connection = *transfer.area->connection;
  if (transfer.kind != Transfer::Kind::push || connection.queue().capabilities().processor_copies) return false;
  const auto reach = extent(transfer.selection, transfer.local.size());
  if (transfer.selection.kind == Selection::Kind::all || *reach > std::numeric_limits<std::uint32_t>::max())
    return false;
  if (connection.largest_payload < sizeof(AreaScatter) + sizeof(ScatterRun) + kPutWorth) return false;
  PieceCursor cursor(transfer.selection, transfer.local);
  std::uint64_t pieces = 0;
  for (Piece piece; cursor.next(piece, std::numeric_limits<std::uint64_t>::max());) ++pieces;
  return pieces >= kFewestPieces && cursor.selected() < pieces * kPutWorth;
}

bool Transfers::scatter(Transfer& transfer) {
  KnownArea& area = *transfer.area;
  const AreaScatter head{.id = area.id, .key = transfer.key, .offset = transfer.offset, .transfer = transfer.index};
  const std::uint64_t most = std::min(area.connection->largest_payload - sizeof head, kMostPacked);
  while (transfer.code == ErrorCode::ok) {
    if (transfer.packed.empty()) transfer.more = pack_runs(transfer.cursor, transfer.local, most, transfer.packed);
    if (!transfer.more) break;
    if (!common_.record_writer.write(*area.connection, {.kind = RecordKind::area_scatter,
                                                        .body = std::as_bytes(std::span(&head, 1)),
                                                        .payload = transfer.packed.data(),
                                                        .payload_bytes = transfer.packed.size()}))
      return false;
    transfer.packed.clear();
    ++transfer.in_flight;
  }
  return true;
}

bool Transfers::scatter_again(Transfer& transfer) {
  if (!scatter(transfer)) return false;
  transfer.held_back = false;
  end_if_done(transfer); // it may have been refused meanwhile
  return true;
}

void Transfers::scatter_answered(const Connection& connection, const AreaScattered& answer) {
  if (answer.transfer >= pool_.size()) return;
  Transfer& transfer = pool_[answer.transfer];
  if (!transfer.scattered || transfer.in_flight == 0 || transfer.area->connection != &connection) return;
  --transfer.in_flight;
  const auto code = static_cast<ErrorCode>(answer.code);
  if (code != ErrorCode::ok) transfer.code = code;
  if (!transfer.held_back) end_if_done(transfer);
}

void Transfers::peer_lost(const Connection& connection) {
  common_.work_list.drop_if<Scattering>(
      [&connection](const Scattering& each) { return each.transfer->area->connection == &connection; });
  for (Transfer& transfer : pool_) {
    if (!transfer.scattered || transfer.area->connection != &connection) continue;
    transfer.in_flight = 0;
    transfer.code = connection.fate;
    end_if_done(transfer);
  }
}

} // namespace heddle::onesided

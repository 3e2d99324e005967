// Rings that peers fill as they like, exclusive and shared: messages of all kinds, and control records that answer nothing.
#include "tests/fuzz/hostile_job.hpp"

namespace heddle::fuzz {

void rings(Input& input) {
  HostileJob job(input);
  for (const std::uint32_t peer : {2U, 0U, 3U}) job.connect(peer);
  static constexpr Move kMoves[] = {
      Move::record,   Move::record,        Move::record,   Move::ring_bytes, Move::shared_slot,
      Move::complete, Move::complete,      Move::send,     Move::receive,    Move::send_unsolicited,
      Move::probe,    Move::cancel,        Move::collect,  Move::cell,       Move::consumed,
      Move::die,      Move::back_pressure, Move::progress, Move::notice};
  job.play(kMoves);
  job.finish();
}

} // namespace heddle::fuzz

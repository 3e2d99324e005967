// One-sided records: what peers ask for, grant, scatter, relay and say of locks; and the words that they let be read.
#include "tests/fuzz/hostile_job.hpp"

namespace heddle::fuzz {

void onesided(Input& input) {
  HostileJob job(input);
  for (const std::uint32_t peer : {2U, 0U, 3U}) job.connect(peer);
  static constexpr Move kMoves[] = {Move::record,   Move::record,       Move::record,      Move::complete,
                                    Move::complete, Move::one_sided,    Move::one_sided,   Move::own_area,
                                    Move::lock,     Move::collect,      Move::shared_slot, Move::die,
                                    Move::progress, Move::back_pressure};
  job.play(kMoves);
  job.finish();
}

} // namespace heddle::fuzz

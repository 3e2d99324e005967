// The common slot and the command slots, as peers fill them while connections are made from both sides.
#include "tests/fuzz/hostile_job.hpp"

namespace heddle::fuzz {

void connection(Input& input) {
  HostileJob job(input);
  static constexpr Move kMoves[] = {Move::request, Move::slot,     Move::slot,         Move::complete, Move::complete,
                                    Move::notice,  Move::send,     Move::receive,      Move::collect,  Move::record,
                                    Move::die,     Move::progress, Move::back_pressure};
  job.play(kMoves);
  job.finish();
}

} // namespace heddle::fuzz

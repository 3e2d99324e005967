// Barriers and all-to-alls among peers that send what they like on the channel of collectives.
#include "collective/barrier.hpp"
#include "collective/exchanges.hpp"
#include "tests/fuzz/hostile_job.hpp"

namespace heddle::fuzz {

void collective(Input& input) {
  HostileJob job(input);
  for (const std::uint32_t peer : {2U, 0U, 3U}) job.connect(peer);
  std::vector<std::vector<std::byte>> memory; // outlives the plans
  memory.reserve(64);
  heddle::collective::Barriers barriers(job.engine());
  heddle::collective::Exchanges exchanges(
      job.engine(), std::make_shared<heddle::collective::Grouping>(std::vector<std::uint32_t>{0, 0, 1, 1}));
  job.also([&] {
    barriers.progress();
    exchanges.progress();
  });
  static constexpr Move kMoves[] = {Move::record, Move::record,  Move::record, Move::complete,
                                    Move::send,   Move::receive, Move::die,    Move::progress};
  std::vector<Request> begun;
  job.play(kMoves, 4, [&](std::uint32_t which) {
    if (which >= 2) { // what belongs to the first barriers and exchanges, or nearly
      const std::uint64_t number = input.below(4);
      const std::uint64_t tag = which == 2 ? number << 8U | input.below(4) : (std::uint64_t{1} << 63U) + number;
      const std::uint32_t from = job.peer();
      const auto content = input.bytes(input.below(96));
      job.say(from, engine::RecordKind::eager, engine::Channel::collective, tag, content);
      return;
    }
    if (begun.size() == 16) return;
    if (which == 0) {
      begun.push_back(barriers.start({}));
      return;
    }
    const std::size_t block = input.below(2) == 0 ? input.below(64) : input.below(600);
    const auto& out = memory.emplace_back(HostileJob::kSize * block);
    auto& in = memory.emplace_back(HostileJob::kSize * block);
    if (const auto request = exchanges.start(out, in, {})) begun.push_back(*request);
  });
  job.finish();
  for (const Request request : begun) demand(job.engine().ended(request), "a collective among the dead has ended");
}

} // namespace heddle::fuzz

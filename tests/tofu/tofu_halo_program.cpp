// The halo exchange of SCALE-LES3 on a periodic grid of processes, 3 x 3 for nine. Arguments: the number of levels; how many such patterns
// exist at once (1); how often each is started (1). Says what is planned, checks every byte, and says how long a start took on average.
#include "tests/job/member.hpp"
#include "tests/traffic/halo.hpp"

#include <algorithm>
#include <memory>
#include <sstream>

namespace heddle::tests {
namespace {

struct Way {
  int row, column;
  std::uint64_t bytes;
};

struct Places {
  std::uint32_t rows, columns;

  explicit Places(std::uint32_t processes) : rows(1), columns(processes) {
    for (std::uint32_t tried = 1; tried * tried <= processes; ++tried)
      if (processes % tried == 0) rows = tried;
    columns = processes / rows;
  }
  [[nodiscard]] std::uint32_t from(std::uint32_t own, const Way& way) const {
    const auto row = static_cast<std::uint32_t>(static_cast<int>(own / columns + rows) + way.row) % rows;
    const auto column = static_cast<std::uint32_t>(static_cast<int>(own % columns + columns) + way.column) % columns;
    return row * columns + column;
  }
};

class Halo {
 public:
  Halo(Context& context, std::uint64_t levels)
      : own_(static_cast<std::uint32_t>(context.rank())), places_(context.size()), across_((levels + 4) * 2 * 16 * 8) {
    const std::uint64_t along = (levels + 4) * 16 * 8;
    const std::uint64_t corner = (levels + 4) * 2 * 8;
    // The first of two puts in one direction meets the first of the neighbour's in the other.
    ways_ = {{-1, -1, corner}, {-1, -1, corner}, {-1, 0, along},  {-1, 0, along},  {-1, 1, corner},
             {-1, 1, corner},  {0, -1, across_}, {0, 1, across_}, {1, -1, corner}, {1, -1, corner},
             {1, 0, along},    {1, 0, along},    {1, 1, corner},  {1, 1, corner}};
    for (const Way& way : ways_) {
      out_.push_back(halo_block(own_, out_.size(), 0, way.bytes));
      in_.emplace_back(way.bytes);
    }
    std::vector<NeighbourExchange> exchanges;
    for (std::size_t i = 0; i < ways_.size(); ++i)
      exchanges.push_back(
          {.offset = {ways_[i].row, ways_[i].column}, .out = ConstLayout(out_[i]), .in = Layout(in_[i])});
    const Grid grid{.size = {places_.rows, places_.columns}, .periodic = {true, true}, .ranks = {}};
    pattern_.push_back(demand(Pattern::neighbour_alltoall(context, grid, exchanges, {.barriers = true}), "pattern"));
    demand(pattern().compile(), "compile");
  }
  [[nodiscard]] Pattern& pattern() { return pattern_.front(); }

  void start_and_check() {
    for (auto& block : in_) std::ranges::fill(block, std::byte{0});
    start();
    for (std::size_t i = 0; i < ways_.size(); ++i)
      demand(in_[i] == halo_block(places_.from(own_, ways_[i]), ways_[i].bytes == across_ ? 13 - i : (13 - i) ^ 1U, 0,
                                  ways_[i].bytes),
             "wrong data");
  }
  void start() {
    demand(pattern().start(), "start");
    demand(pattern().wait(), "wait");
  }

 private:
  std::uint32_t own_;
  Places places_;
  std::uint64_t across_;
  std::vector<Way> ways_;
  std::vector<std::vector<std::byte>> out_, in_;
  std::vector<Pattern> pattern_; // one
};

void exchange(Context& context, std::uint64_t levels, std::uint64_t live, std::uint64_t starts) {
  std::vector<std::unique_ptr<Halo>> halos;
  while (halos.size() < live) halos.push_back(std::make_unique<Halo>(context, levels));
  std::istringstream plan(halos.front()->pattern().plan());
  for (std::string line; std::getline(plan, line);)
    say("plan " + std::to_string(static_cast<std::uint32_t>(context.rank())) + ": " + line);
  for (const auto& halo : halos) halo->start_and_check();
  demand(context.barrier(), "barrier");
  const std::uint64_t begin = machine_ns();
  for (std::uint64_t i = 1; i < starts; ++i)
    for (const auto& halo : halos) halo->start();
  if (starts > 1 && static_cast<std::uint32_t>(context.rank()) == 0)
    say("us a start: " +
        std::to_string(static_cast<double>(machine_ns() - begin) / 1000 / static_cast<double>((starts - 1) * live)));
  for (const auto& halo : halos) halo->start_and_check();
  for (const auto& halo : halos) demand(halo->pattern().free(), "free");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 2) give_up("arguments: levels [patterns [starts]]");
  auto context = demand(heddle::Context::join(), "join");
  exchange(context, number(argv[1]), argc > 2 ? number(argv[2]) : 1, argc > 3 ? number(argv[3]) : 1);
  return 0;
}

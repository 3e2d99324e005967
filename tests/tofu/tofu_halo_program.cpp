// The halo exchange of SCALE-LES3 on a periodic grid of 3 x 3. Argument: the number of levels. Says what is planned, and checks every byte.
#include "tests/job/member.hpp"
#include "tests/traffic/halo.hpp"

#include <sstream>

namespace heddle::tests {
namespace {

void exchange(Context& context, std::uint64_t levels) {
  const auto own = static_cast<std::uint32_t>(context.rank());
  const std::uint64_t across = (levels + 4) * 2 * 16 * 8;
  const std::uint64_t along = (levels + 4) * 16 * 8;
  const std::uint64_t corner = (levels + 4) * 2 * 8;
  struct Way {
    int row, column;
    std::uint64_t bytes;
  };
  // The first of two puts in one direction meets the first of the neighbour's in the other.
  const std::vector<Way> ways{{-1, -1, corner}, {-1, -1, corner}, {-1, 0, along}, {-1, 0, along},  {-1, 1, corner},
                              {-1, 1, corner},  {0, -1, across},  {0, 1, across}, {1, -1, corner}, {1, -1, corner},
                              {1, 0, along},    {1, 0, along},    {1, 1, corner}, {1, 1, corner}};
  std::vector<std::vector<std::byte>> out, in;
  for (const Way& way : ways) {
    out.push_back(halo_block(own, out.size(), 0, way.bytes));
    in.emplace_back(way.bytes);
  }
  std::vector<NeighbourExchange> exchanges;
  for (std::size_t i = 0; i < ways.size(); ++i)
    exchanges.push_back({.offset = {ways[i].row, ways[i].column}, .out = ConstLayout(out[i]), .in = Layout(in[i])});
  const Grid grid{.size = {3, 3}, .periodic = {true, true}, .ranks = {}};
  Pattern pattern = demand(Pattern::neighbour_alltoall(context, grid, exchanges, {.barriers = true}), "pattern");
  demand(pattern.compile(), "compile");
  std::istringstream plan(pattern.plan());
  for (std::string line; std::getline(plan, line);) say("plan " + std::to_string(own) + ": " + line);
  demand(pattern.start(), "start");
  demand(pattern.wait(), "wait");
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto row = static_cast<std::uint32_t>(static_cast<int>(own / 3) + ways[i].row + 3) % 3;
    const auto column = static_cast<std::uint32_t>(static_cast<int>(own % 3) + ways[i].column + 3) % 3;
    demand(in[i] == halo_block(row * 3 + column, ways[i].bytes == across ? 13 - i : (13 - i) ^ 1U, 0, ways[i].bytes),
           "wrong data");
  }
  demand(pattern.free(), "free");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 2) give_up("argument: levels");
  auto context = demand(heddle::Context::join(), "join");
  exchange(context, number(argv[1]));
  return 0;
}

// Red-black relaxation on a region that four processes share: each relaxes every fourth row, so that all of them write into every
// page, and the region's barrier brings the rows together. The result is that of one process, bit for bit.
#include <heddle/heddle.hpp>
#include <heddle/shared_region.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace {

constexpr std::size_t kSide = 66; // with the border
constexpr int kSweeps = 50;

void set_border(double* grid) {
  for (std::size_t i = 0; i < kSide; ++i) {
    grid[i] = 1.0;
    grid[(kSide - 1) * kSide + i] = static_cast<double>(i) / kSide;
  }
}

// The points of one colour in one row, from their neighbours of the other colour.
void relax_row(double* grid, std::size_t row, std::size_t colour) {
  for (std::size_t column = 1 + (row + colour) % 2; column < kSide - 1; column += 2) {
    double* point = grid + row * kSide + column;
    *point = 0.25 * (point[-1] + point[1] + point[-static_cast<std::ptrdiff_t>(kSide)] + point[kSide]);
  }
}

std::vector<double> alone() {
  std::vector<double> grid(kSide * kSide);
  set_border(grid.data());
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (const std::size_t colour : {0U, 1U})
      for (std::size_t row = 1; row < kSide - 1; ++row) relax_row(grid.data(), row, colour);
  return grid;
}

void must(heddle::ErrorCode code) {
  if (code == heddle::ErrorCode::ok) return;
  std::fprintf(stderr, "relaxation: %s\n", std::string(heddle::to_string(code)).c_str());
  std::exit(1);
}

} // namespace

int main() {
  auto context = heddle::Context::join();
  if (!context) {
    std::fprintf(stderr, "relaxation: %s\n", context.error().message().c_str());
    return 1;
  }
  auto region = heddle::SharedRegion::create(*context, heddle::AreaId{1}, kSide * kSide * sizeof(double));
  if (!region) {
    std::fprintf(stderr, "relaxation: %s\n", region.error().message().c_str());
    return 1;
  }
  auto* grid = reinterpret_cast<double*>(region->memory().data());
  const auto rank = static_cast<std::size_t>(context->rank());
  if (rank == 0) set_border(grid);
  must(region->barrier());
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (const std::size_t colour : {0U, 1U}) {
      for (std::size_t row = 1 + rank; row < kSide - 1; row += context->size()) relax_row(grid, row, colour);
      must(region->barrier());
    }
  const std::vector<double> expected = alone();
  const bool same = std::memcmp(grid, expected.data(), expected.size() * sizeof(double)) == 0;
  if (!same) std::printf("rank %zu has another result\n", rank);
  must(region->barrier());
  if (rank == 0 && same) std::printf("%u processes, %d sweeps: equal bit for bit\n", context->size(), kSweeps);
  return same ? 0 : 1;
}

// Heat on a square that four processes share, two by two, its edges joined to a torus. In every step each process needs the outermost
// row or column of its neighbours. Who sends what to whom never changes: it is said once, as a pattern, and then only started.
// While edges travel, the inner points are computed. heddle run -n 4 halo
#include <heddle/heddle.hpp>
#include <heddle/layout.hpp>
#include <heddle/pattern.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kSide = 32;         // of one process's part
constexpr std::size_t kWidth = kSide + 2; // with a border of neighbours' points
constexpr std::size_t kWhole = 2 * kSide; // of the square
constexpr int kSteps = 20;

int fail(const heddle::Error& error) {
  std::cerr << "halo: " << error.message() << '\n';
  return 1;
}

double first_value(std::size_t row, std::size_t column) {
  return static_cast<double>((row * 7 + column * 13) % 32);
}

// One process's part: `here` is read, `next` is written.
class Part {
 public:
  Part(std::size_t first_row, std::size_t first_column) {
    for (std::size_t row = 0; row < kSide; ++row)
      for (std::size_t column = 0; column < kSide; ++column)
        at(row + 1, column + 1) = first_value(first_row + row, first_column + column);
  }
  double& at(std::size_t row, std::size_t column) { return here_[row * kWidth + column]; }

  // The points of row or column `index`, without the border.
  heddle::Layout row(std::size_t index) { return {&at(index, 1), kSide * sizeof(double)}; }
  heddle::Layout column(std::size_t index) {
    return heddle::Layout::strided(&at(1, index), kSide, sizeof(double), kWidth * sizeof(double));
  }

  void relax_inside() {
    for (std::size_t row = 2; row < kSide; ++row)
      for (std::size_t column = 2; column < kSide; ++column) relax(row, column);
  }
  void relax_edge() {
    for (std::size_t i = 1; i <= kSide; ++i) {
      relax(1, i);
      relax(kSide, i);
      relax(i, 1);
      relax(i, kSide);
    }
  }
  // The memory that the pattern names stays where it is, so points are copied and not swapped.
  void step() {
    for (std::size_t row = 1; row <= kSide; ++row)
      std::memcpy(&at(row, 1), &next_[row * kWidth + 1], kSide * sizeof(double));
  }

 private:
  void relax(std::size_t row, std::size_t column) {
    next_[row * kWidth + column] =
        0.25 * (at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1));
  }
  std::vector<double> here_ = std::vector<double>(kWidth * kWidth);
  std::vector<double> next_ = std::vector<double>(kWidth * kWidth);
};

// The same by one process.
std::vector<double> alone() {
  std::vector<double> here(kWhole * kWhole);
  for (std::size_t i = 0; i < here.size(); ++i) here[i] = first_value(i / kWhole, i % kWhole);
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<double> last = here;
    const auto at = [&](std::size_t row, std::size_t column) { return last[row % kWhole * kWhole + column % kWhole]; };
    for (std::size_t row = 0; row < kWhole; ++row)
      for (std::size_t column = 0; column < kWhole; ++column)
        here[row * kWhole + column] = 0.25 * (at(row + kWhole - 1, column) + at(row + 1, column) +
                                              at(row, column + kWhole - 1) + at(row, column + 1));
  }
  return here;
}

} // namespace

int main() {
  auto job = heddle::Context::join();
  if (!job) return fail(job.error());
  const auto rank = static_cast<std::size_t>(job->rank());
  const std::size_t first_row = rank / 2 * kSide;
  const std::size_t first_column = rank % 2 * kSide;
  Part part(first_row, first_column);

  // Towards each neighbour: what it gets, and where what it sends is put.
  const std::vector<heddle::NeighbourExchange> exchanges{
      {.offset = {-1, 0}, .out = part.row(1), .in = part.row(0)},
      {.offset = {1, 0}, .out = part.row(kSide), .in = part.row(kSide + 1)},
      {.offset = {0, -1}, .out = part.column(1), .in = part.column(0)},
      {.offset = {0, 1}, .out = part.column(kSide), .in = part.column(kSide + 1)},
  };
  auto pattern =
      heddle::Pattern::neighbour_alltoall(*job, {.size = {2, 2}, .periodic = {true, true}, .ranks = {}}, exchanges);
  if (!pattern) return fail(pattern.error());
  if (const auto compiled = pattern->compile(); !compiled) return fail(compiled.error());

  for (int step = 0; step < kSteps; ++step) {
    if (const auto started = pattern->start(); !started) return fail(started.error());
    part.relax_inside();
    if (const auto arrived = pattern->wait(); !arrived) return fail(arrived.error());
    part.relax_edge();
    part.step();
  }

  const std::vector<double> expected = alone();
  bool same = true;
  for (std::size_t row = 0; row < kSide; ++row)
    same = same && std::memcmp(&part.at(row + 1, 1), &expected[(first_row + row) * kWhole + first_column],
                               kSide * sizeof(double)) == 0;
  if (!same) std::cout << "rank " + std::to_string(rank) + " has another result\n";
  if (const auto done = job->barrier(); !done) return fail(done.error());
  if (rank == 0 && same) std::cout << kSteps << " steps on " << job->size() << " processes: equal bit for bit\n";
  return same ? 0 : 1;
}

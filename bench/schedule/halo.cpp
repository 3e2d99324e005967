// Eight messages to and eight from the other process, as a halo with eight neighbours: as a started pattern, and one by one.
// Run it as: heddle run -n 2 schedule_halo
// Samples are short and many: the fastest tenth of them is what the code needs, the median what a busy machine makes of it.
#include <heddle/heddle.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace heddle;

constexpr std::size_t kNeighbours = 8;
constexpr int kRounds = 50;
constexpr int kSamples = 200;

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::exit(2);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

template <typename Round>
double ns_per_round(Round&& round) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) round();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kRounds;
}

double quantile(std::vector<double> values, double which) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(static_cast<double>(values.size()) * which)];
}

void compare(Context& context, std::size_t bytes) {
  std::array<std::vector<std::byte>, kNeighbours> out;
  std::array<std::vector<std::byte>, kNeighbours> in;
  const Rank other{1 - static_cast<std::uint32_t>(context.rank())};
  Pattern pattern = must(Pattern::create(context));
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    out[i].resize(bytes);
    in[i].resize(bytes);
    must(pattern.send(other, Tag{i}, ConstLayout(out[i])));
    must(pattern.receive(other, Tag{i}, Layout(in[i])));
  }
  must(pattern.compile());
  const auto as_pattern = [&] {
    must(pattern.start());
    must(pattern.wait());
  };
  std::array<Request, 2 * kNeighbours> requests;
  const auto one_by_one = [&] {
    for (std::size_t i = 0; i < kNeighbours; ++i)
      requests[i] = must(context.receive({.source = other, .tag = Tag{i}}, Layout(in[i])));
    for (std::size_t i = 0; i < kNeighbours; ++i)
      requests[kNeighbours + i] = must(context.send(other, Tag{i}, ConstLayout(out[i])));
    if (context.wait_all(requests) != ErrorCode::ok) std::abort();
  };
  std::vector<double> planned;
  std::vector<double> single;
  for (int sample = 0; sample < kSamples; ++sample) { // in turn, so that both meet the same machine
    planned.push_back(ns_per_round(as_pattern));
    single.push_back(ns_per_round(one_by_one));
  }
  if (static_cast<std::uint32_t>(context.rank()) == 0)
    std::printf("%7zu bytes: started %8.0f ns (median %8.0f)   one by one %8.0f ns (median %8.0f)   ratio %.2f\n",
                bytes, quantile(planned, 0.1), quantile(planned, 0.5), quantile(single, 0.1), quantile(single, 0.5),
                quantile(single, 0.1) / quantile(planned, 0.1));
}

} // namespace

int main() {
  Context context = must(Context::join());
  for (const std::size_t bytes : {8, 64, 512, 4096, 32768}) compare(context, bytes);
}

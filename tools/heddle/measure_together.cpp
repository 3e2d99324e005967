// The figures of `heddle perf` in which all processes of the job take part, by the method of bench/peers/README.md.
// bench/peers/mpi_together.c does the same: whoever changes one changes the other.
#include "measure.hpp"
#include "pages.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace heddle::tool {
namespace {

constexpr Tag kTag{1};

// A block from every process to every process.
class AllToAll {
 public:
  AllToAll(Context& context, std::uint64_t bytes)
      : context_(context), bytes_(bytes * context.size()), out_(pages(bytes_)), in_(pages(bytes_)) {}

  Result<void> exchange() { return context_.alltoall({out_.get(), bytes_}, {in_.get(), bytes_}); }
  ErrorCode exchanges(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      if (const auto exchanged = exchange(); !exchanged) return exchanged.error().code;
    return ErrorCode::ok;
  }

 private:
  Context& context_;
  std::uint64_t bytes_;
  Pages out_;
  Pages in_;
};

ErrorCode barriers(Context& context, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    if (const auto passed = context.barrier(); !passed) return passed.error().code;
  return ErrorCode::ok;
}

// Messages of drawn sizes to drawn partners. All draw alike (xorshift64), and so know who sends to them.
class RandomTraffic {
 public:
  static constexpr std::size_t kWindow = 16; // steps under way together

  explicit RandomTraffic(Context& context) : context_(context), out_(pages(kLargest)), in_(pages(kWindow * kLargest)) {}

  ErrorCode windows(std::uint64_t count) {
    state_ = 1;
    for (std::uint64_t w = 0; w < count; ++w) {
      for (std::size_t i = 0; i < kWindow; ++i)
        if (const ErrorCode code = step(i); code != ErrorCode::ok) return code;
      if (const ErrorCode code = context_.wait_all(requests_); code != ErrorCode::ok) return code;
    }
    return ErrorCode::ok;
  }

 private:
  static constexpr std::uint64_t kLargest = 32 << 10;
  static constexpr std::array<std::uint64_t, 4> kSizes{8, 512, 4 << 10, kLargest};

  std::uint64_t draw() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  ErrorCode step(std::size_t i) {
    const std::uint32_t size = context_.size();
    const auto rank = static_cast<std::uint32_t>(context_.rank());
    const auto offset = static_cast<std::uint32_t>(1 + draw() % (size - 1));
    const std::uint64_t bytes = kSizes[draw() % kSizes.size()];
    const auto received = context_.receive({.source = Rank{(rank + size - offset) % size}, .tag = kTag},
                                           Layout(in_.get() + i * kLargest, bytes));
    if (!received) return received.error().code;
    const auto sent = context_.send(Rank{(rank + offset) % size}, kTag, ConstLayout(out_.get(), bytes));
    if (!sent) return sent.error().code;
    requests_[2 * i] = *received;
    requests_[2 * i + 1] = *sent;
    return ErrorCode::ok;
  }

  Context& context_;
  Pages out_;
  Pages in_;
  std::uint64_t state_ = 1;
  std::array<Request, 2 * kWindow> requests_;
};

// What is done in a repetition, and what becomes of its time.
struct Row {
  Work work;
  std::uint64_t most = 1;     // times in a repetition
  std::uint64_t messages = 0; // of the whole job in one time, where they are counted; 0: the time of each is the figure
};

Result<Figure> measure_row(Context& context, const Row& row, std::uint64_t bytes, const Effort& effort) {
  const auto count = choose_count(context, context.size(), row.most, effort.seconds, row.work);
  if (!count) return std::unexpected(count.error());
  auto figure = repeat(bytes, effort, [&]() -> Result<double> {
    if (const auto ready = context.barrier(); !ready) return std::unexpected(ready.error());
    const std::uint64_t start = base::steady_ns();
    if (const ErrorCode code = row.work(*count); code != ErrorCode::ok) return std::unexpected(interrupted(code));
    if (const auto done = context.barrier(); !done) return std::unexpected(done.error());
    const double seconds = seconds_since(start);
    return row.messages > 0 ? static_cast<double>(*count * row.messages) / seconds
                            : seconds * 1e6 / static_cast<double>(*count);
  });
  if (figure) figure->operations = *count * std::max<std::uint64_t>(row.messages, 1);
  return figure;
}

Result<Figure> measure_alltoall(Context& context, std::uint64_t bytes, const Effort& effort) {
  AllToAll exchange(context, bytes);
  const std::uint64_t per_exchange = std::max<std::uint64_t>(bytes * (context.size() - 1), 1);
  const std::uint64_t most = std::clamp<std::uint64_t>(effort.volume / 8 / per_exchange, 1, effort.windows);
  const Row row{.work = [&exchange](std::uint64_t count) { return exchange.exchanges(count); }, .most = most};
  return measure_row(context, row, bytes, effort);
}

Result<Figure> measure_random(Context& context, std::uint64_t bytes, const Effort& effort) {
  RandomTraffic traffic(context);
  const Row row{.work = [&traffic](std::uint64_t count) { return traffic.windows(count); },
                .most = effort.windows,
                .messages = RandomTraffic::kWindow * context.size()};
  return measure_row(context, row, bytes, effort);
}

// This process's part of the memory that it maps: shared pages count by how many map them.
Result<std::uint64_t> proportional_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;)
    if (std::uint64_t kib = 0; word == "Pss:" && file >> kib) return kib;
  return std::unexpected(
      Error{.code = ErrorCode::system_failed, .fact = "/proc/self/smaps_rollup has no Pss", .remedy = ""});
}

} // namespace

Result<Figure> measure_together(Context& context, Measure what, std::uint64_t bytes, const Effort& effort) {
  if (what == Measure::alltoall) return measure_alltoall(context, bytes, effort);
  if (what == Measure::random) return measure_random(context, bytes, effort);
  const Row row{.work = [&context](std::uint64_t count) { return barriers(context, count); },
                .most = effort.round_trips};
  return measure_row(context, row, bytes, effort);
}

Result<Figure> measure_memory(Context& context, std::uint64_t bytes) {
  AllToAll exchange(context, bytes);
  if (const auto exchanged = exchange.exchange(); !exchanged) return std::unexpected(exchanged.error());
  if (const auto ready = context.barrier(); !ready) return std::unexpected(ready.error());
  const auto mine = proportional_kib();
  if (!mine) return std::unexpected(mine.error());
  const std::vector<std::uint64_t> out(context.size(), *mine);
  std::vector<std::uint64_t> all(context.size());
  if (const auto told = context.alltoall(out, all); !told) return std::unexpected(told.error());
  std::ranges::sort(all);
  return Figure{.bytes = bytes,
                .median = static_cast<double>(all[all.size() / 2]),
                .lowest = static_cast<double>(all.front()),
                .highest = static_cast<double>(all.back()),
                .operations = 1};
}

} // namespace heddle::tool

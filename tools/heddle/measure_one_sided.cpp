// The one-sided figures of `heddle perf`, by the method of bench/peers/README.md.
#include "base/clock.hpp"
#include "measure.hpp"
#include "pages.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::tool {
namespace {

constexpr AreaId kArea{1};
constexpr AreaId kLock{2};
constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kData = kPage;
constexpr std::uint64_t kWindow = 64;
constexpr std::uint64_t kShortWindow = 16; // from 1 MiB on

// Both processes have an area: a word that the other counts in, then, a page further on, the data.
class OneSidedPair {
 public:
  static Result<OneSidedPair> open(Context& context, std::uint64_t bytes) {
    auto memory = context.one_sided().allocate(kArea, kData + bytes);
    if (!memory) return std::unexpected(std::move(memory.error()));
    if (auto lock = context.one_sided().create_lock(kLock); !lock) return std::unexpected(std::move(lock.error()));
    if (auto ready = context.barrier(); !ready) return std::unexpected(std::move(ready.error()));
    return OneSidedPair(context, *memory, bytes);
  }
  Result<void> close() {
    if (auto done = context_->barrier(); !done) return done;
    for (const AreaId id : {kArea, kLock})
      if (auto closed = context_->one_sided().close(id); !closed) return closed;
    return {};
  }

  [[nodiscard]] bool first() const { return context_->rank() == Rank{0}; }
  [[nodiscard]] bool takes_part() const { return static_cast<std::uint32_t>(context_->rank()) < 2; }

  // To and fro: each waits for the other's count in its own memory.
  ErrorCode ping_pong(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!first()) await();
      if (const ErrorCode code = tell(); code != ErrorCode::ok) return code;
      if (first()) await();
    }
    return ErrorCode::ok;
  }
  // Windows of pushes, each window waited for.
  ErrorCode stream(std::uint64_t windows, std::uint64_t window) {
    Tracker tracker;
    for (std::uint64_t w = 0; w < windows; ++w) {
      for (std::uint64_t i = 0; i < window; ++i) one_sided().push({peer_, kArea, kData}, data_, tracker);
      if (const ErrorCode code = one_sided().wait(tracker); code != ErrorCode::ok) return code;
    }
    return ErrorCode::ok;
  }
  ErrorCode pulls(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      if (const ErrorCode code = one_sided().pull({peer_, kArea, kData}, data_); code != ErrorCode::ok) return code;
    return ErrorCode::ok;
  }
  ErrorCode additions(std::uint64_t count) {
    Tracker tracker;
    for (std::uint64_t i = 0; i < count; ++i) {
      one_sided().atomic({peer_, kArea, kData}, Atomic::add(1), tracker);
      if (const ErrorCode code = one_sided().wait(tracker); code != ErrorCode::ok) return code;
    }
    return ErrorCode::ok;
  }
  ErrorCode locks(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (const ErrorCode code = one_sided().lock(peer_, kLock); code != ErrorCode::ok) return code;
      if (const ErrorCode code = one_sided().unlock(peer_, kLock); code != ErrorCode::ok) return code;
    }
    return ErrorCode::ok;
  }

 private:
  OneSidedPair(Context& context, std::span<std::byte> memory, std::uint64_t bytes)
      : context_(&context), memory_(memory), pages_(pages(bytes)), data_(pages_.get(), bytes) {
    peer_ = first() ? Rank{1} : Rank{0};
  }
  OneSided& one_sided() { return context_->one_sided(); }

  // The data, if there is more than the count itself, and then the count.
  ErrorCode tell() {
    ++sent_;
    if (data_.size() > kWord)
      if (const ErrorCode code = one_sided().push({peer_, kArea, kData}, data_); code != ErrorCode::ok) return code;
    return one_sided().push({peer_, kArea, 0}, std::as_bytes(std::span(&sent_, 1)));
  }
  void await() {
    const auto& word = *reinterpret_cast<const std::uint64_t*>(memory_.data());
    heard_ = one_sided().wait_change(word, heard_);
  }

  Context* context_;
  std::span<std::byte> memory_;
  Pages pages_;
  std::span<std::byte> data_;
  Rank peer_{};
  std::uint64_t sent_ = 0;
  std::uint64_t heard_ = 0;
};

// What is done in a repetition, and what becomes of its time.
struct Row {
  Work work;
  std::uint64_t most = 1; // times in a repetition
  double operations = 1;  // of one time
  double scale = 1;       // of seconds per operation, or of operations per second
  bool is_rate = false;
  bool both = false; // the second process works too
};

Row row_of(OneSidedPair& pair, Measure what, std::uint64_t bytes, const Effort& effort) {
  const std::uint64_t trips = effort.round_trips;
  const std::uint64_t window = bytes >= kShortWindowFrom ? kShortWindow : kWindow;
  const std::uint64_t windows_of_volume = std::max<std::uint64_t>(effort.volume / (bytes * window), 1);
  const auto pushes = static_cast<double>(window);
  const auto stream = [&pair, window](std::uint64_t windows) { return pair.stream(windows, window); };
  if (what == Measure::push)
    return {.work = [&pair](std::uint64_t count) { return pair.ping_pong(count); },
            .most = trips,
            .operations = 2,
            .scale = 1e6,
            .both = true};
  if (what == Measure::push_rate)
    return {.work = stream, .most = effort.windows, .operations = pushes, .is_rate = true};
  if (what == Measure::push_bandwidth)
    return {.work = stream,
            .most = windows_of_volume,
            .operations = pushes,
            .scale = static_cast<double>(bytes) * 1e-6,
            .is_rate = true};
  if (what == Measure::pull)
    return {.work = [&pair](std::uint64_t count) { return pair.pulls(count); }, .most = trips, .scale = 1e6};
  if (what == Measure::fetch_add)
    return {.work = [&pair](std::uint64_t count) { return pair.additions(count); }, .most = trips, .scale = 1e6};
  return {.work = [&pair](std::uint64_t count) { return pair.locks(count); }, .most = trips, .scale = 1e6};
}

Result<Figure> measure_row(Context& context, const Row& row, std::uint64_t bytes, const Effort& effort) {
  const auto count = choose_count(context, row.both ? 2 : 1, row.most, effort.seconds, row.work);
  if (!count) return std::unexpected(count.error());
  const double operations = static_cast<double>(*count) * row.operations;
  auto figure = repeat(bytes, effort, [&]() -> Result<double> {
    const std::uint64_t start = base::steady_ns();
    if (const ErrorCode code = row.work(*count); code != ErrorCode::ok) return std::unexpected(interrupted(code));
    const double seconds = seconds_since(start);
    return row.scale * (row.is_rate ? operations / seconds : seconds / operations);
  });
  if (figure) figure->operations = static_cast<std::uint64_t>(operations);
  return figure;
}

} // namespace

Result<Figure> measure_one_sided(Context& context, Measure what, std::uint64_t bytes, const Effort& effort) {
  auto pair = OneSidedPair::open(context, bytes);
  if (!pair) return std::unexpected(std::move(pair.error()));
  const Row row = row_of(*pair, what, bytes, effort);
  Result<Figure> figure = Figure{.bytes = bytes};
  if (pair->first() || (pair->takes_part() && row.both)) figure = measure_row(context, row, bytes, effort);
  if (!figure) return figure;
  if (auto closed = pair->close(); !closed) return std::unexpected(std::move(closed.error()));
  return figure;
}

} // namespace heddle::tool

#include "measure.hpp"

#include "pages.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <new>

namespace heddle::tool {
namespace {

constexpr Tag kTag{1};
constexpr Tag kAcknowledgeTag{2};
constexpr std::size_t kAcknowledgeBytes = 4;
constexpr std::size_t kLargestWindow = 64;

// One of the two processes that measure.
class Pair {
 public:
  Pair(Context& context, std::uint64_t bytes, std::uint64_t compute_us = 0)
      : context_(context),
        compute_ns_(compute_us * 1000),
        first_(context.rank() == Rank{0}),
        peer_(first_ ? Rank{1} : Rank{0}),
        bytes_(bytes),
        buffer_(pages(bytes)) {}

  ErrorCode round_trips(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      if (const ErrorCode code = round_trip(); code != ErrorCode::ok) return code;
    return ErrorCode::ok;
  }
  ErrorCode round_trip() {
    ErrorCode code = first_ ? send() : receive();
    if (code == ErrorCode::ok) code = first_ ? receive() : send();
    return code;
  }
  ErrorCode windows(std::uint64_t count, std::size_t window) {
    std::array<Request, kLargestWindow> requests;
    std::array<std::byte, kAcknowledgeBytes> acknowledge{};
    for (std::uint64_t w = 0; w < count; ++w) {
      for (std::size_t i = 0; i < window; ++i) {
        const auto request = first_ ? context_.send(peer_, kTag, ConstLayout(buffer_.get(), bytes_))
                                    : context_.receive({.source = peer_, .tag = kTag}, Layout(buffer_.get(), bytes_));
        if (!request) return request.error().code;
        requests[i] = *request;
      }
      if (const ErrorCode code = context_.wait_all(std::span(requests).first(window)); code != ErrorCode::ok)
        return code;
      const auto last = first_ ? context_.receive({.source = peer_, .tag = kAcknowledgeTag}, acknowledge)
                               : context_.send(peer_, kAcknowledgeTag, acknowledge);
      if (!last) return last.error().code;
      if (const ErrorCode code = context_.wait(*last).code; code != ErrorCode::ok) return code;
    }
    return ErrorCode::ok;
  }

 private:
  // Calls nothing of the library.
  void compute() const {
    const std::uint64_t end = base::steady_ns() + compute_ns_;
    while (base::steady_ns() < end) {
    }
  }
  ErrorCode send() {
    if (compute_ns_ > 0) compute();
    const auto request = context_.send(peer_, kTag, ConstLayout(buffer_.get(), bytes_));
    return request ? context_.wait(*request).code : request.error().code;
  }
  ErrorCode receive() {
    const auto request = context_.receive({.source = peer_, .tag = kTag}, Layout(buffer_.get(), bytes_));
    return request ? context_.wait(*request).code : request.error().code;
  }

  Context& context_;
  std::uint64_t compute_ns_;
  bool first_;
  Rank peer_;
  std::uint64_t bytes_;
  Pages buffer_;
};

// Adds the times of `count` single round trips, in nanoseconds.
ErrorCode time_each(Pair& pair, std::uint64_t count, std::vector<std::uint64_t>& times) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t start = base::steady_ns();
    if (const ErrorCode code = pair.round_trip(); code != ErrorCode::ok) return code;
    times.push_back(base::steady_ns() - start);
  }
  return ErrorCode::ok;
}

// The time that 99 of 100 single messages take at most, in microseconds, computing included.
double tail(std::vector<std::uint64_t>& times) {
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(times.size() * 99 / 100);
  std::nth_element(times.begin(), place, times.end());
  return static_cast<double>(*place) * 1e-3 / 2;
}

Result<Figure> measure_latency(Context& context, std::uint64_t bytes, const Effort& effort) {
  Pair pair(context, bytes, effort.compute_us);
  const auto computed = static_cast<double>(effort.compute_us);
  const auto count = choose_count(context, 2, effort.round_trips, effort.seconds,
                                  [&pair](std::uint64_t trips) { return pair.round_trips(trips); });
  if (!count) return std::unexpected(count.error());
  // Single ones are timed between the repetitions, so that a slow moment of the machine is seen by both.
  std::vector<std::uint64_t> times;
  const std::uint64_t single = *count / static_cast<std::uint64_t>(effort.repetitions) + 1;
  auto figure = repeat(bytes, effort, [&]() -> Result<double> {
    const std::uint64_t start = base::steady_ns();
    ErrorCode code = pair.round_trips(*count);
    const double seconds = seconds_since(start);
    if (code == ErrorCode::ok) code = time_each(pair, single, times);
    if (code != ErrorCode::ok) return std::unexpected(interrupted(code));
    return seconds * 1e6 / static_cast<double>(*count) / 2 - computed;
  });
  if (figure) {
    figure->p99 = tail(times) - computed;
    figure->operations = *count;
  }
  return figure;
}

Result<Figure> measure_windows(Context& context, Measure what, std::uint64_t bytes, const Effort& effort) {
  Pair pair(context, bytes);
  const std::size_t window = bytes >= kShortWindowFrom ? 16 : kLargestWindow;
  const std::uint64_t windows_of_volume = effort.volume / std::max<std::uint64_t>(bytes * window, 1);
  const std::uint64_t most =
      what == Measure::rate ? effort.windows : std::clamp<std::uint64_t>(windows_of_volume, 1, effort.windows);
  const auto count = choose_count(context, 2, most, effort.seconds,
                                  [&pair, window](std::uint64_t windows) { return pair.windows(windows, window); });
  if (!count) return std::unexpected(count.error());
  auto figure = repeat(bytes, effort, [&]() -> Result<double> {
    const std::uint64_t start = base::steady_ns();
    if (const ErrorCode code = pair.windows(*count, window); code != ErrorCode::ok)
      return std::unexpected(interrupted(code));
    const double messages = static_cast<double>(*count * window) / seconds_since(start);
    return what == Measure::rate ? messages : messages * static_cast<double>(bytes) * 1e-6;
  });
  if (figure) figure->operations = *count * window;
  return figure;
}

} // namespace

Result<Figure> measure(Context& context, Measure what, std::uint64_t bytes, const Effort& effort) {
  Figure idle{.bytes = bytes};
  Result<Figure> figure = idle;
  if (what >= Measure::push)
    figure = measure_one_sided(context, what, bytes, effort);
  else if (what >= Measure::match_posted)
    figure = measure_matching(context, what, bytes, effort);
  else if (what == Measure::memory)
    figure = measure_memory(context, bytes);
  else if (what >= Measure::alltoall)
    figure = measure_together(context, what, bytes, effort);
  else if (static_cast<std::uint32_t>(context.rank()) < 2)
    figure = what == Measure::latency ? measure_latency(context, bytes, effort)
                                      : measure_windows(context, what, bytes, effort);
  if (!figure) return figure;
  if (const auto together = context.barrier(); !together) return std::unexpected(together.error());
  return figure;
}

} // namespace heddle::tool

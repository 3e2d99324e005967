// How often something is done in a repetition, and the figure of all repetitions.
#include "measure.hpp"

#include <algorithm>
#include <array>

namespace heddle::tool {
namespace {

constexpr Tag kCountTag{3};

// What rank 0 says next.
struct Word {
  std::uint64_t count = 1;
  std::uint64_t is_last = 0;
};

// From rank 0 to the other ranks below `processes`.
Result<void> pass_on(Context& context, std::uint32_t processes, Word& word) {
  if (context.rank() != Rank{0}) {
    const auto heard = context.receive({.source = Rank{0}, .tag = kCountTag},
                                       Layout(reinterpret_cast<std::byte*>(&word), sizeof word));
    if (!heard) return std::unexpected(heard.error());
    const ErrorCode code = context.wait(*heard).code;
    if (code != ErrorCode::ok) return std::unexpected(interrupted(code));
    return {};
  }
  for (std::uint32_t rank = 1; rank < processes; ++rank) {
    const auto said =
        context.send(Rank{rank}, kCountTag, ConstLayout(reinterpret_cast<const std::byte*>(&word), sizeof word));
    if (!said) return std::unexpected(said.error());
    if (const ErrorCode code = context.wait(*said).code; code != ErrorCode::ok)
      return std::unexpected(interrupted(code));
  }
  return {};
}

} // namespace

Error interrupted(ErrorCode code) {
  return {.code = code, .fact = "the measurement was interrupted: " + std::string(to_string(code)), .remedy = ""};
}

// The first time is slow and judges nothing; then four times as many each time, until a quarter of the seconds is taken.
Result<std::uint64_t> choose_count(Context& context, std::uint32_t processes, std::uint64_t most, double seconds,
                                   const Work& work) {
  constexpr std::uint64_t kFewest = 2;
  if (const ErrorCode code = work(1); code != ErrorCode::ok) return std::unexpected(interrupted(code));
  for (Word word;;) {
    const std::uint64_t start = base::steady_ns();
    if (const ErrorCode code = work(word.count); code != ErrorCode::ok) return std::unexpected(interrupted(code));
    const double taken = std::max(seconds_since(start), 1e-9);
    if (word.count >= most || taken >= seconds / 4) {
      const double fitting = std::min(static_cast<double>(word.count) * seconds / taken, static_cast<double>(most));
      word = {.count = std::max(static_cast<std::uint64_t>(fitting), std::min(kFewest, most)), .is_last = 1};
    } else {
      word.count = std::min(4 * word.count, most);
    }
    if (auto passed = pass_on(context, processes, word); !passed) return std::unexpected(passed.error());
    if (word.is_last != 0) return word.count;
  }
}

Result<Figure> repeat(std::uint64_t bytes, const Effort& effort, const std::function<Result<double>()>& once) {
  std::vector<double> values;
  for (int i = 0; i <= effort.repetitions; ++i) {
    if (effort.tell) effort.tell(bytes, i);
    const auto value = once();
    if (!value) return std::unexpected(value.error());
    if (i > 0) values.push_back(*value); // the first warms up
  }
  std::sort(values.begin(), values.end());
  return Figure{
      .bytes = bytes, .median = values[values.size() / 2], .lowest = values.front(), .highest = values.back()};
}

} // namespace heddle::tool

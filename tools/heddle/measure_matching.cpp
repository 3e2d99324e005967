// The figures of `heddle perf` about matching: rank 1 has many receives posted, or many messages that nobody has received yet.
// By the method of bench/peers/README.md; bench/peers/mpi_match.c does the same: whoever changes one changes the other.
#include "measure.hpp"
#include "pages.hpp"

#include <array>

namespace heddle::tool {
namespace {

constexpr std::size_t kDepth = 10'000;
constexpr std::uint64_t kFirstTag = 16;
constexpr Tag kLastWordTag{1};
// Messages to masked receives have a bit set that the receives do not look at.
constexpr std::uint64_t kUnseenBit = std::uint64_t{1} << 63U;

class Matching {
 public:
  Matching(Context& context, std::uint64_t bytes, bool masked)
      : context_(context),
        rank_(static_cast<std::uint32_t>(context.rank())),
        bytes_(bytes),
        masked_(masked),
        out_(pages(bytes)),
        in_(pages(kDepth * bytes)),
        requests_(kDepth) {}

  // The seconds in which the messages come, the last receive's first.
  Result<double> posted() {
    if (rank_ == 1)
      for (std::size_t i = 0; i < kDepth; ++i) receive(i);
    return timed([this] {
      if (rank_ == 0)
        for (std::size_t i = kDepth; i-- > 0;) send(i);
      wait_all();
    });
  }
  // The seconds in which they are received, the last message first.
  Result<double> unexpected() {
    arrive();
    return timed([this] {
      if (rank_ != 1) return;
      for (std::size_t i = kDepth; i-- > 0;) receive(i);
      wait_all();
    });
  }

 private:
  template <typename Part>
  Result<double> timed(const Part& part) {
    if (const auto ready = context_.barrier(); !ready) return std::unexpected(ready.error());
    const std::uint64_t start = base::steady_ns();
    part();
    if (const auto done = context_.barrier(); !done) return std::unexpected(done.error());
    if (code_ != ErrorCode::ok) return std::unexpected(interrupted(code_));
    return seconds_since(start);
  }
  [[nodiscard]] Match match(std::size_t i) const {
    return {.source = Rank{0}, .tag = Tag{kFirstTag + i}, .mask = masked_ ? ~kUnseenBit : kWholeTag};
  }
  void send(std::size_t i) {
    const Tag tag{(kFirstTag + i) | (masked_ ? kUnseenBit : 0)};
    keep(context_.send(Rank{1}, tag, ConstLayout(out_.get(), bytes_)), i);
  }
  void receive(std::size_t i) { keep(context_.receive(match(i), Layout(in_.get() + i * bytes_, bytes_)), i); }
  void keep(const Result<Request>& request, std::size_t i) {
    requests_[i] = request.value_or(Request{});
    if (!request) code_ = request.error().code;
  }
  void wait_all() {
    if (rank_ < 2 && code_ == ErrorCode::ok) code_ = context_.wait_all(requests_);
  }
  // What was sent before the last word has come with it; the probe looks whether it has.
  void arrive() {
    if (rank_ > 1) return;
    std::array<std::byte, 1> word{};
    if (rank_ == 0)
      for (std::size_t i = 0; i < kDepth; ++i) send(i);
    const auto last = rank_ == 0 ? context_.send(Rank{1}, kLastWordTag, word)
                                 : context_.receive({.source = Rank{0}, .tag = kLastWordTag}, word);
    if (!last) code_ = last.error().code;
    if (last && code_ == ErrorCode::ok) code_ = context_.wait(*last).code;
    if (rank_ == 0) return wait_all();
    while (code_ == ErrorCode::ok) {
      const auto found = context_.probe(match(kDepth - 1));
      if (!found) code_ = found.error().code;
      if (found && *found) return;
    }
  }

  Context& context_;
  std::uint32_t rank_;
  std::uint64_t bytes_;
  bool masked_;
  Pages out_;
  Pages in_;
  std::vector<Request> requests_;
  ErrorCode code_ = ErrorCode::ok; // the first that was not ok
};

} // namespace

Result<Figure> measure_matching(Context& context, Measure what, std::uint64_t bytes, const Effort& effort) {
  const bool masked = what == Measure::match_posted_masked || what == Measure::match_unexpected_masked;
  const bool posted = what == Measure::match_posted || what == Measure::match_posted_masked;
  Matching matching(context, bytes, masked);
  auto figure = repeat(bytes, effort, [&]() -> Result<double> {
    const auto seconds = posted ? matching.posted() : matching.unexpected();
    if (!seconds) return seconds;
    return *seconds * 1e6 / static_cast<double>(kDepth);
  });
  if (figure) figure->operations = kDepth;
  return figure;
}

} // namespace heddle::tool

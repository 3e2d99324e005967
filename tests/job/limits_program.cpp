// Waits whose time is over, in a job of 2: what was waited for goes on, and is waited for again. Rank 1 does its part only after
// rank 0 has said that its time was over.
#include "tests/job/member.hpp"

#include <heddle/heddle.hpp>
#include <heddle/pattern.hpp>

#include <array>
#include <chrono>
#include <vector>

namespace heddle::tests {
namespace {

using namespace std::chrono_literals;

constexpr auto kShort = 2ms;
constexpr auto kLong = 60s;

class Limits {
 public:
  explicit Limits(Context context) : context_(std::move(context)), first_(context_.rank() == Rank{0}) {}

  void barriers() {
    if (first_) {
      must_time_out(context_.barrier(kShort), "a barrier");
      must_time_out(context_.barrier(kShort), "the same barrier");
    }
    hand_over();
    demand(first_ ? context_.barrier(kLong) : context_.barrier(), "a barrier");
    demand(context_.barrier(), "the next barrier");
  }

  void exchanges() {
    std::array<std::uint64_t, 2> out{own(), own() + 10};
    std::array<std::uint64_t, 2> in{};
    if (first_) {
      must_time_out(context_.alltoall(out, in, kShort), "an all-to-all");
      std::array<std::uint64_t, 2> other{};
      const auto refused = context_.alltoall(out, other, kShort);
      demand(!refused && refused.error().code == ErrorCode::bad_argument, "an all-to-all with other memory was taken");
    }
    hand_over();
    demand(context_.alltoall(out, in), "an all-to-all");
    demand(in == std::array<std::uint64_t, 2>{10 * own(), 1 + 10 * own()}, "an all-to-all brought something else");
    exchanges_of_various_sizes();
  }

  void locks() {
    constexpr AreaId kLock{1};
    if (first_) demand(context_.one_sided().create_lock(kLock), "create");
    demand(context_.barrier(), "barrier");
    if (!first_) demand(context_.one_sided().lock(Rank{0}, kLock) == ErrorCode::ok, "lock");
    demand(context_.barrier(), "barrier");
    Tracker tracker;
    if (first_) {
      demand(context_.one_sided().lock(Rank{0}, kLock, tracker, kShort) == ErrorCode::timed_out,
             "a lock was had twice");
      demand(context_.one_sided().wait(tracker, kShort) == ErrorCode::timed_out, "a lock was had twice");
    }
    hand_over();
    if (first_) demand(context_.one_sided().wait(tracker, kLong) == ErrorCode::ok, "its turn never came");
    demand(context_.one_sided().unlock(Rank{0}, kLock) == ErrorCode::ok, "unlock");
  }

  void words() {
    constexpr AreaId kArea{2};
    const auto area = demand(context_.one_sided().allocate(kArea, 8), "allocate");
    const auto& word = *reinterpret_cast<const std::uint64_t*>(area.data());
    demand(context_.barrier(), "barrier");
    if (first_) demand(context_.one_sided().wait_change(word, 0, kShort) == 0, "a word changed by itself");
    hand_over();
    const std::uint64_t value = 5;
    if (!first_) demand(context_.one_sided().push({Rank{0}, kArea, 0}, value) == ErrorCode::ok, "push");
    if (first_) demand(context_.one_sided().wait_change(word, 0, kLong) == value, "the word never came");
    demand(context_.barrier(), "barrier");
  }

  void patterns() {
    std::uint64_t out = own();
    std::uint64_t in = 7;
    const Rank other{first_ ? 1U : 0U};
    Pattern pattern = demand(Pattern::create(context_), "pattern");
    demand(pattern.send(other, Tag{1}, out), "send");
    demand(pattern.receive(other, Tag{1}, in), "receive");
    if (first_) must_time_out(pattern.compile(kShort), "a compile");
    demand(!first_ || pattern.running(), "a compile that nobody joined has ended");
    hand_over();
    demand(first_ ? pattern.wait(kLong) : pattern.compile(), "compile");
    if (first_) {
      demand(pattern.start(), "start");
      must_time_out(pattern.wait(kShort), "a start");
      demand(pattern.running(), "a start without its partner has ended");
    }
    hand_over();
    if (!first_) demand(pattern.start(), "start");
    demand(pattern.wait(), "wait");
    demand(in == 1 - own(), "a pattern brought something else");
    demand(pattern.free(), "free");
  }

  // Both run on one machine, which they call by one name.
  void hosts() {
    for (const std::uint32_t rank : {0U, 1U})
      demand(demand(context_.local_rank(Rank{rank}), "local rank") == rank, "another place on the machine");
    const auto own_host = demand(context_.host_name(context_.rank()), "host name");
    demand(!own_host.empty() && own_host == demand(context_.host_name(Rank{0}), "host name"), "another host");
  }

 private:
  [[nodiscard]] std::uint64_t own() const { return static_cast<std::uint64_t>(context_.rank()); }
  static void must_time_out(const Result<void>& result, const std::string& what) {
    demand(!result && result.error().code == ErrorCode::timed_out, what + " did not run out of time");
  }
  // Rank 0 has done its part, rank 1 begins with its own.
  void hand_over() {
    std::uint64_t word = 1;
    const Rank other{first_ ? 1U : 0U};
    const auto request =
        first_ ? context_.send(other, Tag{9}, word) : context_.receive({.source = other, .tag = Tag{9}}, word);
    demand(context_.wait(demand(request, "hand over"), kLong).code == ErrorCode::ok, "hand over");
  }
  void exchanges_of_various_sizes() {
    const std::array<std::uint64_t, 2> sizes{first_ ? 1U : 2U, first_ ? 2U : 3U}; // by rank, the same both ways
    const std::array<std::uint64_t, 2> offsets{0, sizes[0]};
    const std::vector<std::byte> out(sizes[0] + sizes[1], static_cast<std::byte>(40 + own()));
    std::vector<std::byte> in(out.size());
    const ConstBlocks from{.memory = out, .bytes = sizes, .offsets = offsets};
    const Blocks to{.memory = in, .bytes = sizes, .offsets = offsets};
    if (first_) must_time_out(context_.alltoallv(from, to, kShort), "an all-to-all of various sizes");
    hand_over();
    demand(first_ ? context_.alltoallv(from, to, kLong) : context_.alltoallv(from, to), "various sizes");
    for (std::size_t i = 0; i < in.size(); ++i)
      demand(in[i] == static_cast<std::byte>(i < sizes[0] ? 40 : 41), "various sizes brought something else");
  }

  Context context_;
  const bool first_;
};

} // namespace
} // namespace heddle::tests

int main() {
  using namespace heddle::tests;
  Limits limits(demand(heddle::Context::join(), "join"));
  limits.barriers();
  limits.exchanges();
  limits.locks();
  limits.words();
  limits.patterns();
  limits.hosts();
  return 0;
}

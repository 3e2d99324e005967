// Random one-sided operations between all processes of a job, against a model. Arguments: seed, rounds.
// In each round every process owns one stripe of every area: what it writes there nobody else touches, so the model is exact;
// what it reads elsewhere was settled by the barrier before. One counter is everybody's.
#include "tests/job/member.hpp"

#include <heddle/onesided.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace heddle::tests {
namespace {

constexpr AreaId kAllocated{1};
constexpr AreaId kExposed{2};
constexpr AreaId kLock{3};
constexpr std::size_t kStripe = 8192;

std::byte content(std::uint64_t seed, std::uint64_t i) {
  return static_cast<std::byte>((seed * 0x9e37'79b9'7f4a'7c15ULL + i * 0xbf58'476dULL) >> 29U);
}

class Member {
 public:
  Member(Context& context, std::uint64_t seed)
      : context_(context),
        one_sided_(context.one_sided()),
        rank_(static_cast<std::uint32_t>(context.rank())),
        size_(context.size()),
        random_(seed * 1009 + rank_),
        exposed_(size_ * kStripe) {
    demand(one_sided_.allocate(kAllocated, size_ * kStripe + 64), "allocate");
    demand(one_sided_.expose(kExposed, exposed_), "expose");
    if (rank_ == 0) demand(one_sided_.create_lock(kLock), "lock");
    models_[0].resize(size_, std::vector<std::byte>(kStripe));
    models_[1].resize(size_, std::vector<std::byte>(kStripe));
    demand(context_.barrier(), "barrier");
  }

  void run(std::uint64_t rounds) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (int i = 0; i < 20; ++i) act();
      settle();
      check_pulls();
      kept_.clear();
      demand(context_.barrier(), "barrier");
    }
    check_stripes();
    const auto last = demand(one_sided_.atomic({Rank{0}, kAllocated, size_ * kStripe}, Atomic::add(0)), "counter");
    demand(one_sided_.atomic({Rank{0}, kAllocated, size_ * kStripe + 8}, Atomic::add(added_)), "sum");
    demand(context_.barrier(), "barrier");
    const auto total = demand(one_sided_.atomic({Rank{0}, kAllocated, size_ * kStripe + 8}, Atomic::add(0)), "sum");
    demand(total == last, "additions were lost: " + std::to_string(last) + " instead of " + std::to_string(total));
    demand(locked_changes(), "changes under the lock were lost");
    demand(context_.barrier(), "barrier");
  }

 private:
  struct Kept { // memory of operations under way
    std::vector<std::byte> data;
    std::vector<std::byte> twin;
    std::vector<std::uint64_t> bits;
    std::vector<std::byte> expected; // of a pull: what it must have brought
  };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void act() {
    const auto to = static_cast<std::uint32_t>(below(size_));
    const unsigned which = below(2) == 0 ? 0 : 1;
    std::vector<std::byte>& model = models_[which][to];
    const std::uint64_t offset = below(kStripe / 8) * 8;
    const std::uint64_t bytes =
        1 + below(below(4) == 0 ? kStripe - offset : std::min<std::uint64_t>(64, kStripe - offset));
    const Place place{Rank{to}, which == 0 ? kAllocated : kExposed, rank_ * kStripe + offset};
    switch (below(8)) {
      case 0:
      case 1: push(place, model, offset, bytes); break;
      case 2: push_bitmap(place, model, offset, bytes); break;
      case 3: push_diff(place, model, offset, bytes); break;
      case 4: pull(place, model, offset, bytes); break;
      case 5: push_stride(place, model, offset); break;
      case 6: mcast(place, which, offset, bytes); break;
      default: {
        const std::uint64_t value = below(1000);
        one_sided_.atomic({Rank{0}, kAllocated, size_ * kStripe}, Atomic::add(value), tracker_);
        added_ += value;
      }
    }
  }
  Kept& keep(std::uint64_t bytes) {
    Kept& kept = *kept_.emplace_back(std::make_unique<Kept>());
    const std::uint64_t salt = random_();
    kept.data.resize(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) kept.data[i] = content(salt, i);
    return kept;
  }
  // Everything that this process has started on its stripe has to be done before the next that touches the same bytes
  // through another kind of memory access; one tracker for all keeps that simple.
  void settle() {
    const ErrorCode code = one_sided_.wait(tracker_);
    demand(code == ErrorCode::ok, "an operation failed: " + std::string(to_string(code)));
  }

  void push(const Place& place, std::vector<std::byte>& model, std::uint64_t offset, std::uint64_t bytes) {
    Kept& kept = keep(bytes);
    std::memcpy(model.data() + offset, kept.data.data(), bytes);
    one_sided_.push(place, kept.data, tracker_);
  }
  // To all processes, each of which has a stripe of this process's.
  void mcast(const Place& place, unsigned which, std::uint64_t offset, std::uint64_t bytes) {
    settle();
    Kept& kept = keep(bytes);
    std::vector<Rank> all;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      all.push_back(Rank{rank});
      std::memcpy(models_[which][rank].data() + offset, kept.data.data(), bytes);
    }
    one_sided_.mcast(all, place.area, place.offset, kept.data, tracker_);
    settle();
  }
  void push_bitmap(const Place& place, std::vector<std::byte>& model, std::uint64_t offset, std::uint64_t bytes) {
    bytes = bytes / 8 * 8;
    Kept& kept = keep(bytes);
    kept.bits.resize(bytes / 8 / 64 + 1);
    for (std::uint64_t& word : kept.bits) word = random_() & random_();
    for (std::uint64_t i = 0; i < bytes / 8; ++i)
      if ((kept.bits[i / 64] >> (i % 64) & 1U) != 0)
        std::memcpy(model.data() + offset + i * 8, kept.data.data() + i * 8, 8);
    one_sided_.push(place, kept.data, tracker_, Selection::bitmap(kept.bits, 8));
    settle(); // later pushes may overtake it
  }
  void push_stride(const Place& place, std::vector<std::byte>& model, std::uint64_t offset) {
    const std::uint64_t block = 1 + below(40);
    const std::uint64_t local_step = block + below(20);
    const std::uint64_t remote_step = block + below(20);
    const std::uint64_t count = std::min<std::uint64_t>(below(10), (kStripe - offset) / remote_step);
    Kept& kept = keep(count * local_step + block);
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(model.data() + offset + i * remote_step, kept.data.data() + i * local_step, block);
    one_sided_.push(place, kept.data, tracker_, Selection::strided(block, count, local_step, remote_step));
    settle(); // later pushes may overtake it
  }
  void push_diff(const Place& place, std::vector<std::byte>& model, std::uint64_t offset, std::uint64_t bytes) {
    settle();
    Kept& kept = keep(bytes);
    kept.twin.resize(bytes);
    one_sided_.pull(place, kept.data, tracker_, {}, kept.twin);
    settle();
    demand(std::memcmp(kept.data.data(), model.data() + offset, bytes) == 0, "a pull brought something else");
    demand(kept.twin == kept.data, "the twin is something else");
    for (std::uint64_t i = 0; i < bytes / 10 + 1; ++i) {
      const std::uint64_t at = below(bytes);
      kept.data[at] = static_cast<std::byte>(random_());
      model[offset + at] = kept.data[at];
    }
    one_sided_.push(place, kept.data, tracker_, Selection::changed(kept.twin));
    settle(); // later pushes may overtake it
  }
  void pull(const Place& place, std::vector<std::byte>& model, std::uint64_t offset, std::uint64_t bytes) {
    settle();
    Kept& kept = keep(bytes);
    kept.expected.assign(model.begin() + static_cast<std::ptrdiff_t>(offset),
                         model.begin() + static_cast<std::ptrdiff_t>(offset + bytes));
    one_sided_.pull(place, kept.data, tracker_);
    settle();
    demand(kept.data == kept.expected, "a pull brought something else");
  }
  void check_pulls() {
    for (const auto& kept : kept_)
      if (!kept->expected.empty()) demand(kept->data == kept->expected, "what was pulled has changed");
  }
  void check_stripes() {
    for (std::uint32_t to = 0; to < size_; ++to)
      for (const unsigned which : {0U, 1U}) {
        std::vector<std::byte> found(kStripe);
        demand(one_sided_.pull({Rank{to}, which == 0 ? kAllocated : kExposed, rank_ * kStripe}, found) == ErrorCode::ok,
               "pull");
        demand(found == models_[which][to],
               "stripe " + std::to_string(rank_) + " of rank " + std::to_string(to) + " differs from the model");
      }
    demand(context_.barrier(), "barrier");
  }
  bool locked_changes() {
    constexpr int kTimes = 200;
    const Place word{Rank{0}, kAllocated, size_ * kStripe + 16};
    for (int i = 0; i < kTimes; ++i) {
      demand(one_sided_.lock(Rank{0}, kLock) == ErrorCode::ok, "lock");
      std::array<std::byte, 8> bytes{};
      demand(one_sided_.pull(word, bytes) == ErrorCode::ok, "pull");
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data(), 8);
      ++value;
      std::memcpy(bytes.data(), &value, 8);
      demand(one_sided_.push(word, bytes) == ErrorCode::ok, "push");
      demand(one_sided_.unlock(Rank{0}, kLock) == ErrorCode::ok, "unlock");
    }
    demand(context_.barrier(), "barrier");
    std::array<std::byte, 8> bytes{};
    demand(one_sided_.pull(word, bytes) == ErrorCode::ok, "pull");
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), 8);
    return value == std::uint64_t{kTimes} * size_;
  }

  Context& context_;
  OneSided& one_sided_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::mt19937_64 random_;
  std::vector<std::byte> exposed_;
  std::array<std::vector<std::vector<std::byte>>, 2> models_; // of this process's stripe: by area, by target
  std::vector<std::unique_ptr<Kept>> kept_;
  Tracker tracker_;
  std::uint64_t added_ = 0;
};

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 3) give_up("arguments: seed rounds");
  heddle::Context context = demand(heddle::Context::join(), "join");
  Member(context, number(argv[1])).run(number(argv[2]));
  return 0;
}

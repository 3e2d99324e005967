// Two whole processes of a job as threads over shared memory: engine, patterns, exchanges and the real translator, one mapping of each segment.
// For TSan, which finds what neither lock nor word orders; and whatever comes is checked.
#include "base/flight_recorder.hpp"
#include "base/shared_words.hpp"
#include "collective/exchanges.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"
#include "onesided/one_sided_engine.hpp"
#include "pattern/patterns.hpp"
#include "tests/threads/one_mapping.hpp"
#include "tests/traffic/dice.hpp"
#include "tests/traffic/slowdown.hpp"
#include "translators/shm/shm.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace heddle::tests {
namespace {

struct Manner {
  const char* name;
  translators::CrossMemory cross_memory;
  std::uint64_t ring_memory; // that a process may use: of one ring, all are shared
};

void PrintTo(const Manner& manner, std::ostream* out) {
  *out << manner.name;
}

constexpr AreaId kArea{7};
constexpr AreaId kLock{9};
constexpr std::uint64_t kRingBytes = 16384;
constexpr std::uint64_t kLargest = 100'000;
// What an area holds, from these offsets on.
constexpr std::uint64_t kWord = 0;
constexpr std::uint64_t kData = 64;
constexpr std::uint64_t kDataBytes = 256;
constexpr std::uint64_t kGuarded = 512;
constexpr std::uint64_t kCounter = 576;
constexpr std::uint64_t kAreaBytes = 640;

class Process {
 public:
  Process(std::uint32_t rank, const Manner& manner)
      : rank_(rank),
        shm_(std::move(*translators::Shm::create(
            {.rank = rank, .size = 2, .ring_memory = 8U << 20U, .cross_memory = manner.cross_memory}))),
        queue_(*shm_) {
    engine::ScheduleQueue* queue = &queue_;
    engine_ = std::move(*engine::Engine::create(rank, 2,
                                                {.eager_limit = 4096,
                                                 .ring_bytes = kRingBytes,
                                                 .ring_memory = manner.ring_memory,
                                                 .chunk_bytes = 8192,
                                                 .assist = true},
                                                {&queue, 1}, recorder_));
    one_sided_ = std::make_unique<onesided::OneSidedEngine>(engine_->services());
    patterns_ = std::make_unique<pattern::Patterns>(*engine_);
    exchanges_ = std::make_unique<collective::Exchanges>(
        *engine_, std::make_shared<collective::Grouping>(std::array<std::uint32_t, 2>{}));
    exchanges_->use_boards();
  }
  [[nodiscard]] ir::Address address() const { return shm_->address(); }
  void meet(const std::array<ir::Address, 2>& addresses) {
    engine_->set_contacts({{.address = addresses[0]}, {.address = addresses[1]}});
  }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  // The whole life of the process, in its thread. Both draw the same dice.
  void run(std::uint64_t seed, std::uint64_t rounds, std::atomic<int>& ended) {
    Dice dice(seed);
    const auto area = one_sided_->allocate(kArea, kAreaBytes, Access::all());
    expect(area.has_value(), "no area");
    expect(rank_ != 0 || one_sided_->create_lock(kLock).has_value(), "no lock");
    area_ = area->data();
    exchange(dice, 0); // both have their areas
    make_pattern(dice);
    for (std::uint64_t round = 1; round <= rounds && complaint_.empty(); ++round) {
      exchange(dice, round);
      run_pattern(round);
      all_to_all(dice, round);
      push_and_await(round);
      count();
    }
    exchange(dice, rounds + 1);
    if (rank_ == 0) check_counters(rounds);
    exchange(dice, rounds + 2); // the other has looked
    expect(pattern_->free().has_value(), "the pattern is not free");
    wait([this] { return !pattern_->running() && patterns_->progress() == 0; });
    expect(one_sided_->close(kArea).has_value(), "the area is not closed");
    exchange(dice, rounds + 3);
    // It goes on until the other needs no word of it any more. That orders nothing.
    ended.fetch_add(1, std::memory_order_relaxed);
    wait([&ended] { return ended.load(std::memory_order_relaxed) == 2; });
  }

 private:
  [[nodiscard]] std::uint32_t other() const { return 1 - rank_; }
  void expect(bool holds, const char* what) {
    if (!holds && complaint_.empty()) complaint_ = "rank " + std::to_string(rank_) + ": " + what;
  }
  static std::byte value(std::uint32_t rank, std::uint64_t round, std::uint64_t index) {
    return static_cast<std::byte>(rank * 101 + round * 7 + index * 13);
  }
  static void fill(std::span<std::byte> memory, std::uint32_t rank, std::uint64_t round) {
    for (std::uint64_t i = 0; i < memory.size(); ++i) memory[i] = value(rank, round, i);
  }
  void check(std::span<const std::byte> memory, std::uint64_t round, const char* what) {
    for (std::uint64_t i = 0; i < memory.size(); ++i) expect(memory[i] == value(other(), round, i), what);
  }

  // Works until it holds; sleeps in between, as a process that has nothing else to do.
  template <typename Condition>
  void wait(const Condition& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int idle = 0; !holds() && complaint_.empty();) {
      idle = engine_->progress() + patterns_->progress() + exchanges_->progress() != 0 ? 0 : idle + 1;
      if (idle < 100) continue;
      idle = 0;
      shm_->announce_sleep(ir::Sleeping::By::sleep);
      if (engine_->progress_all() + patterns_->progress() + exchanges_->progress() != 0 || holds())
        shm_->cancel_sleep();
      else
        shm_->sleep(std::chrono::milliseconds(1));
      engine_->try_again_now();
      expect(std::chrono::steady_clock::now() < end, "waits for ever");
    }
  }
  void finish(Request request) {
    wait([this, request] { return engine_->ended(request); });
    if (!complaint_.empty()) return;
    expect(engine_->take_completion(request)->code == ErrorCode::ok, "an operation fails");
  }
  void finish(const Tracker& tracker) {
    wait([&tracker] { return tracker.ended(); });
    expect(tracker.ended() && tracker.code() == ErrorCode::ok, "a one-sided operation fails");
  }

  // Some messages each way. What this process has read before, the other may write afterwards.
  void exchange(Dice& dice, std::uint64_t round) {
    const std::uint64_t count = 1 + dice.below(4);
    std::vector<std::vector<std::byte>> sent(count);
    std::vector<std::vector<std::byte>> received(count);
    std::vector<Request> requests;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bytes = dice.bytes(0, kLargest);
      sent[i].resize(bytes);
      received[i].resize(bytes);
      fill(sent[i], rank_, round + i);
      requests.push_back(*engine_->receive({.source = Rank{other()}, .tag = Tag{i}}, Layout(received[i].data(), bytes),
                                           Notify::request()));
      requests.push_back(*engine_->send({.to = Rank{other()},
                                         .tag = Tag{i},
                                         .mode = dice.chance(30) ? SendMode::synchronous : SendMode::standard,
                                         .notify = Notify::request()},
                                        ConstLayout(sent[i].data(), bytes)));
    }
    for (const Request request : requests) finish(request);
    for (std::uint64_t i = 0; i < count; ++i) check(received[i], round + i, "a message is not what was sent");
  }

  // Records, and data that go straight to their place.
  void make_pattern(Dice& dice) {
    pattern_ = *patterns_->create({});
    for (const std::uint64_t bytes : {dice.below(100), std::uint64_t{50'000}}) {
      out_.emplace_back(bytes);
      in_.emplace_back(bytes);
    }
    for (std::uint64_t i = 0; i < out_.size(); ++i) {
      using Kind = pattern::Declared::Kind;
      expect(pattern_->declare({.kind = Kind::send,
                                .rank = other(),
                                .tag = i,
                                .source = ConstLayout(out_[i].data(), out_[i].size())})
                     .has_value() &&
                 pattern_
                     ->declare({.kind = Kind::receive,
                                .rank = other(),
                                .tag = i,
                                .target = Layout(in_[i].data(), in_[i].size())})
                     .has_value(),
             "the pattern is not declared");
    }
    finish(*pattern_->compile(Notify::request()));
  }
  void run_pattern(std::uint64_t round) {
    for (auto& data : out_) fill(data, rank_, round);
    finish(*pattern_->start(Notify::request()));
    for (auto& data : in_) {
      check(data, round, "a pattern brings something else");
      std::fill(data.begin(), data.end(), std::byte{0});
    }
  }

  // Two at once, of blocks that boards have room for.
  void all_to_all(Dice& dice, std::uint64_t round) {
    std::array<std::vector<std::byte>, 2> sent;
    std::array<std::vector<std::byte>, 2> received;
    std::array<Request, 2> requests;
    for (std::uint64_t i = 0; i < 2; ++i) {
      const std::uint64_t bytes = 1 + dice.below(dice.chance(50) ? 60 : 4096);
      sent[i].resize(2 * bytes);
      received[i].resize(2 * bytes);
      fill(std::span(sent[i]).subspan(other() * bytes, bytes), rank_, round + i);
      requests[i] = *exchanges_->start(sent[i], received[i], Notify::request());
    }
    for (const Request request : requests) finish(request);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const std::uint64_t bytes = sent[i].size() / 2;
      check(std::span(received[i]).subspan(other() * bytes, bytes), round + i, "an all-to-all brings something else");
    }
  }

  // Data, then a word; and looks for the other's, as OneSided::wait_change.
  void push_and_await(std::uint64_t round) {
    std::vector<std::byte> data(kDataBytes);
    fill(data, rank_, round);
    push(other(), kData, data);
    push(other(), kWord, std::as_writable_bytes(std::span(&round, 1)));
    wait([this, round] { return base::load_watched(base::word_at(area_ + kWord)) == round; });
    if (complaint_.empty()) check({area_ + kData, kDataBytes}, round, "a push lands after its word");
  }
  void push(std::uint32_t to, std::uint64_t at, std::span<std::byte> data) {
    const Place place{.peer = Rank{to}, .area = kArea, .offset = at};
    if (one_sided_->push_now(place, data)) return;
    Tracker tracker;
    one_sided_->push({.place = place, .local = data}, tracker);
    finish(tracker);
  }

  // Counters at rank 0: one that the lock guards, one that is added to.
  void count() {
    onesided::OneSidedEngine& primitives = *one_sided_;
    if (!primitives.lock_now(Rank{0}, kLock)) {
      Tracker tracker;
      primitives.lock(Rank{0}, kLock, tracker);
      finish(tracker);
    }
    const Place guarded{.peer = Rank{0}, .area = kArea, .offset = kGuarded};
    std::uint64_t count = 0;
    const auto bytes = std::as_writable_bytes(std::span(&count, 1));
    if (!primitives.pull_now(guarded, bytes)) {
      Tracker tracker;
      primitives.pull({.place = guarded, .local = bytes}, tracker);
      finish(tracker);
    }
    ++count;
    push(0, kGuarded, bytes);
    if (!primitives.unlock_now(Rank{0}, kLock)) {
      Tracker tracker;
      primitives.unlock(Rank{0}, kLock, tracker);
      finish(tracker);
    }
    Tracker tracker;
    primitives.atomic({.peer = Rank{0}, .area = kArea, .offset = kCounter}, Atomic::add(1), tracker);
    finish(tracker);
  }
  void check_counters(std::uint64_t rounds) {
    expect(base::load_watched(base::word_at(area_ + kGuarded)) == 2 * rounds, "the lock lets both in");
    expect(base::load_watched(base::word_at(area_ + kCounter)) == 2 * rounds, "an addition is lost");
  }

  const std::uint32_t rank_;
  base::FlightRecorder recorder_{64};
  std::unique_ptr<translators::Shm> shm_;
  engine::ScheduleQueue queue_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<onesided::OneSidedEngine> one_sided_;
  std::unique_ptr<pattern::Patterns> patterns_;
  std::unique_ptr<collective::Exchanges> exchanges_;
  pattern::PlannedPattern* pattern_ = nullptr;
  std::vector<std::vector<std::byte>> out_;
  std::vector<std::vector<std::byte>> in_;
  std::byte* area_ = nullptr;
  std::string complaint_;
};

class Threads : public testing::TestWithParam<Manner> {};
INSTANTIATE_TEST_SUITE_P(Manners, Threads,
                         testing::Values(Manner{"across", translators::CrossMemory::automatic, 4U << 20U},
                                         Manner{"through_rings", translators::CrossMemory::off, 4U << 20U},
                                         Manner{"shared_ring", translators::CrossMemory::off, kRingBytes}),
                         [](const auto& each) { return each.param.name; });

TEST_P(Threads, OfTwoEnginesShareNothingUnordered) {
  const int before = mappings_shared();
  std::array<std::unique_ptr<Process>, 2> processes;
  std::array<ir::Address, 2> addresses{};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    processes[rank] = std::make_unique<Process>(rank, GetParam());
    addresses[rank] = processes[rank]->address();
  }
  for (auto& process : processes) process->meet(addresses);
  const std::uint64_t rounds = 400 / kSlowdown;
  std::atomic<int> ended{0};
  std::thread other([&] { processes[1]->run(1, rounds, ended); });
  processes[0]->run(1, rounds, ended);
  other.join();
  for (auto& process : processes) EXPECT_EQ(process->complaint(), "");
  EXPECT_GT(mappings_shared(), before) << "each has a mapping of its own, which shows nothing";
}

} // namespace
} // namespace heddle::tests

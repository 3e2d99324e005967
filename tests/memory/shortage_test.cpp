// Processes that run out of memory in the middle of everything, again and again, each for a while. Whatever they begin either
// says out_of_memory, and has done nothing, or ends as if nothing had been short; nobody waits for ever.
#include "tests/memory/failing_new.hpp"

#include "base/flight_recorder.hpp"
#include "base/reserve.hpp"
#include "collective/barrier.hpp"
#include "collective/exchanges.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"
#include "pattern/patterns.hpp"
#include "tests/engine/cluster.hpp"
#include "tests/memory/sheltered.hpp"
#include "tests/traffic/dice.hpp"
#include "translators/loopback/loopback.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#if HEDDLE_TESTS_OWN_NEW

namespace heddle::tests {
namespace {

constexpr std::uint32_t kSize = 5;
constexpr AreaId kOpenArea{1};
constexpr AreaId kHomeLock{2};
constexpr std::uint64_t kAreaBytes = 1 << 16;

std::byte content(std::uint32_t from, std::uint32_t to, std::uint64_t salt, std::size_t at) {
  return static_cast<std::byte>((from * 7 + to * 31 + salt * 131 + at * 3) & 0xffU);
}

// Something that a process begins as soon as it has the memory, and that ends some time later.
struct Errand {
  std::string name;
  // out_of_memory: nothing has happened.
  std::function<ErrorCode()> begin;
  std::function<bool()> ended;
  std::function<void()> check = [] {};
  bool begun = false;
};

struct Process {
  base::FlightRecorder recorder{64};
  std::unique_ptr<Sheltered> translator;
  std::unique_ptr<engine::ScheduleQueue> queue;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<onesided::OneSidedEngine> one_sided;
  std::unique_ptr<collective::Barriers> barriers;
  std::unique_ptr<collective::Exchanges> exchanges;
  std::unique_ptr<pattern::Patterns> patterns;
  std::uint32_t rank = 0;
  std::uint64_t short_for = 0;           // steps without memory that are left
  std::uint64_t arrived = 0;             // unsolicited messages
  std::vector<std::vector<Errand>> rows; // one errand after the other in each
  std::vector<std::size_t> at;           // by row

  std::size_t progress() {
    try {
      return engine->progress() + barriers->progress() + exchanges->progress() + patterns->progress();
    } catch (const std::bad_alloc&) { // as Context does
      return 0;
    }
  }
};

class Hardship {
 public:
  Hardship(std::uint64_t seed, const Shape& shape)
      : dice_(seed),
        fabric_(kSize, shape.announcing ? translators::LoopbackFabric::Manner::announcing
                                        : translators::LoopbackFabric::Manner::connected),
        processes_(kSize) {
    const std::array<std::uint32_t, kSize> nodes{0, 0, 0, 0, 0};
    const auto grouping = std::make_shared<const collective::Grouping>(nodes);
    for (std::uint32_t rank = 0; rank < kSize; ++rank) {
      Process& process = processes_[rank];
      process.rank = rank;
      process.translator = std::make_unique<Sheltered>(std::make_unique<Shaped>(
          std::make_unique<translators::Loopback>(fabric_, ir::Peer{rank}), shape, seed + rank));
      process.queue = std::make_unique<engine::ScheduleQueue>(*process.translator);
      engine::ScheduleQueue* queue = process.queue.get();
      process.engine = *engine::Engine::create(rank, kSize, usual_limits(), {&queue, 1}, process.recorder);
      process.engine->set_contacts(std::vector<engine::Contact>(kSize));
      process.one_sided = std::make_unique<onesided::OneSidedEngine>(process.engine->services());
      process.barriers = std::make_unique<collective::Barriers>(*process.engine);
      if (seed % 2 == 0) process.barriers->choose_radix({.posting_ns = 1, .way_ns = 1e9}); // all at once
      process.exchanges = std::make_unique<collective::Exchanges>(*process.engine, grouping);
      process.patterns = std::make_unique<pattern::Patterns>(*process.engine);
      EXPECT_TRUE(process.one_sided->allocate(kOpenArea, kAreaBytes, Access::all()));
    }
    EXPECT_TRUE(processes_[0].one_sided->create_lock(kHomeLock));
  }

  void run() {
    connect_all();
    for (Process& process : processes_) plan(process);
    for (std::uint64_t steps = 0; !over(); ++steps) {
      ASSERT_LT(steps, 3'000'000U) << stuck();
      step(processes_[dice_.below(kSize)]);
      if (testing::Test::HasFailure()) return;
    }
    settle();
    for (const Process& process : processes_)
      for (const auto& row : process.rows)
        for (const Errand& errand : row) errand.check();
    for (const auto& compiled : compiled_) // everywhere or nowhere
      EXPECT_TRUE(compiled == std::vector(kSize, true) || compiled == std::vector(kSize, false));
    for (const Process& process : processes_) {
      EXPECT_EQ(process.arrived, unsolicited_to_[process.rank]);
      for (const auto& figure : process.engine->figures())
        EXPECT_TRUE(figure.name != "operations under way" || figure.value == 0) << process.engine->waiting_for();
    }
    EXPECT_EQ(counter_, added_);
  }
  [[nodiscard]] std::uint64_t shortages() const { return shortages_; }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

 private:
  // Rings are made before: there is no traffic where there is no memory for one.
  void connect_all() {
    std::vector<Request> requests(kSize * kSize * 2);
    std::array<std::byte, 8> none{};
    for (Process& process : processes_)
      for (std::uint32_t to = 0; to < kSize; ++to) {
        requests[2 * (process.rank * kSize + to)] =
            *process.engine->receive({.source = Rank{to}, .tag = Tag{1}}, none, {});
        requests[2 * (process.rank * kSize + to) + 1] =
            *process.engine->send({.to = Rank{to}, .tag = Tag{1}}, ConstLayout(none));
      }
    for (std::uint32_t i = 0; i < requests.size(); ++i)
      while (!processes_[i / (2 * kSize)].engine->take_completion(requests[i]))
        for (Process& process : processes_) process.progress();
  }
  void settle() {
    for (int quiet = 0; quiet < 300;) {
      std::size_t done = 0;
      for (Process& process : processes_) done += process.progress();
      quiet = done == 0 ? quiet + 1 : 0;
    }
  }

  void step(Process& process) {
    if (process.short_for == 0 && dice_.chance(2)) {
      process.short_for = 1 + dice_.below(dice_.chance(10) ? 400 : 20);
      ++shortages_;
    }
    std::vector<std::size_t> rows(process.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[dice_.below(i)]);
    std::array<Event, 8> events;
    std::size_t arrived = 0;
    no_memory = process.short_for > 0;
    process.progress();
    for (const std::size_t row : rows) go_on(process, row);
    for (std::size_t i = process.engine->take_events(events); i > 0; --i)
      if (events[i - 1].kind == Event::Kind::unsolicited_arrived) {
        ++arrived;
        process.engine->release(events[i - 1].unsolicited.handle);
      }
    no_memory = false;
    process.arrived += arrived;
    if (process.short_for > 0) --process.short_for;
  }
  void go_on(Process& process, std::size_t row) {
    if (process.at[row] == process.rows[row].size()) return;
    Errand& errand = process.rows[row][process.at[row]];
    if (!errand.begun) {
      ErrorCode code = ErrorCode::system_failed;
      try {
        code = errand.begin();
      } catch (const std::bad_alloc&) { // of what Context makes a value of
        code = ErrorCode::out_of_memory;
      }
      errand.begun = code == ErrorCode::ok;
      if (code == ErrorCode::out_of_memory) ++refusals_;
      const Shelter shelter;
      if (code != ErrorCode::ok && code != ErrorCode::out_of_memory)
        ADD_FAILURE() << "rank " << process.rank << " " << errand.name << ": " << to_string(code);
    } else if (errand.ended()) {
      ++process.at[row];
    }
  }

  [[nodiscard]] bool over() const {
    for (const Process& process : processes_)
      for (std::size_t row = 0; row < process.rows.size(); ++row)
        if (process.at[row] != process.rows[row].size()) return false;
    return true;
  }
  [[nodiscard]] std::string stuck() {
    std::string text;
    for (Process& process : processes_) {
      for (std::size_t row = 0; row < process.rows.size(); ++row)
        if (process.at[row] != process.rows[row].size())
          text += "rank " + std::to_string(process.rank) + " " + process.rows[row][process.at[row]].name + "\n";
      text += process.engine->waiting_for();
    }
    return text;
  }

  // --- what they do ---

  static ErrorCode code_of(const Result<Request>& result, Request& request) {
    if (!result) return result.error().code;
    request = *result;
    return ErrorCode::ok;
  }
  // Of an operation that ends with a request: its memory is held by the errand.
  struct Held {
    std::vector<std::byte> out;
    std::vector<std::byte> in;
    Request request;
    Completion completion;
    Tracker tracker;
  };
  static bool take(Process& process, Held& held) {
    const auto completion = process.engine->take_completion(held.request);
    if (completion) held.completion = *completion;
    return completion.has_value();
  }

  void plan(Process& process) {
    constexpr std::uint64_t kMessages = 6;
    constexpr std::array<std::size_t, 5> kSizes{0, 8, 700, 5000, 200'000};
    // Each pair has a row of sends and one of receives, since messages of a pair come in order.
    for (std::uint32_t peer = 0; peer < kSize; ++peer) {
      std::vector<Errand> sends;
      std::vector<Errand> receives;
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        const std::size_t bytes = kSizes[(process.rank + peer + i) % kSizes.size()];
        sends.push_back(send(process, peer, i, bytes));
        receives.push_back(receive(process, peer, i, kSizes[(process.rank + peer + i) % kSizes.size()]));
      }
      add(process, std::move(sends));
      add(process, std::move(receives));
    }
    std::vector<Errand> unsolicited;
    for (std::uint64_t i = 0; i < kMessages; ++i) unsolicited.push_back(send_unsolicited(process, i));
    add(process, std::move(unsolicited));
    std::vector<Errand> memory;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      memory.push_back(push(process, i));
      memory.push_back(add_one(process));
      memory.push_back(mcast(process, i));
      memory.push_back(lock(process, true));
      memory.push_back(lock(process, false));
    }
    add(process, std::move(memory));
    std::vector<Errand> meetings;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      meetings.push_back(barrier(process));
      meetings.push_back(exchange(process, i % 2 == 0 ? 8 : 9000));
    }
    add(process, std::move(meetings));
    add(process, patterns(process));
  }
  static void add(Process& process, std::vector<Errand> row) {
    process.rows.push_back(std::move(row));
    process.at.push_back(0);
  }
  Held& hold() { return held_.emplace_back(); }

  Errand send(Process& process, std::uint32_t to, std::uint64_t i, std::size_t bytes) {
    Held& held = hold();
    held.out.resize(bytes);
    for (std::size_t at = 0; at < bytes; ++at) held.out[at] = content(process.rank, to, i, at);
    const SendMode mode = i % 3 == 0 ? SendMode::synchronous : SendMode::standard;
    return {.name = "send of " + std::to_string(bytes) + " bytes to " + std::to_string(to),
            .begin =
                [&process, &held, to, mode] {
                  return code_of(
                      process.engine->send({.to = Rank{to}, .tag = Tag{2}, .mode = mode}, ConstLayout(held.out)),
                      held.request);
                },
            .ended = [&process, &held] { return take(process, held); },
            .check = [&held] { EXPECT_EQ(held.completion.code, ErrorCode::ok); }};
  }
  Errand receive(Process& process, std::uint32_t from, std::uint64_t i, std::size_t bytes) {
    Held& held = hold();
    held.in.resize(bytes);
    return {.name = "receive of " + std::to_string(bytes) + " bytes from " + std::to_string(from),
            .begin =
                [&process, &held, from] {
                  return code_of(process.engine->receive({.source = Rank{from}, .tag = Tag{2}}, Layout(held.in), {}),
                                 held.request);
                },
            .ended = [&process, &held] { return take(process, held); },
            .check =
                [&process, &held, from, i] {
                  EXPECT_EQ(held.completion.code, ErrorCode::ok);
                  EXPECT_EQ(held.completion.bytes, held.in.size());
                  for (std::size_t at = 0; at < held.in.size(); ++at)
                    ASSERT_EQ(held.in[at], content(from, process.rank, i, at)) << at;
                }};
  }
  Errand send_unsolicited(Process& process, std::uint64_t i) {
    Held& held = hold();
    held.out.resize(i % 2 == 0 ? 100 : 50'000);
    const std::uint32_t to = (process.rank + static_cast<std::uint32_t>(i)) % kSize;
    return {.name = "unsolicited message to " + std::to_string(to),
            .begin =
                [&process, &held, to] {
                  return code_of(
                      process.engine->send_unsolicited({.to = Rank{to}, .tag = Tag{3}}, ConstLayout(held.out)),
                      held.request);
                },
            .ended = [&process, &held] { return take(process, held); },
            .check = [this, &held, to] { // one that the receiver has no memory for is refused
              if (held.completion.code == ErrorCode::out_of_memory) return;
              EXPECT_EQ(held.completion.code, ErrorCode::ok);
              ++unsolicited_to_[to];
            }};
  }

  // One-sided operations end with out_of_memory, or well; those with others are asked for again.
  template <typename Begin>
  Errand one_sided(std::string name, Held& held, Begin begin) {
    return {.name = std::move(name),
            .begin =
                [&held, begin] {
                  held.tracker.reset();
                  begin();
                  if (!held.tracker.ended()) return ErrorCode::ok;
                  return held.tracker.code();
                },
            .ended = [&held] { return held.tracker.ended(); },
            .check = [&held] { EXPECT_EQ(held.tracker.code(), ErrorCode::ok); }};
  }
  Errand push(Process& process, std::uint64_t i) {
    Held& held = hold();
    held.out.assign(3000, static_cast<std::byte>(process.rank + 1));
    const Place to{Rank{(process.rank + 1) % kSize}, kOpenArea, 4096 * process.rank};
    const bool signal = i % 2 == 0;
    return one_sided("push", held, [&process, &held, to, signal] {
      process.one_sided->push({.place = to, .local = held.out, .signal = signal ? Signal::event(Tag{4}) : Signal{}},
                              held.tracker);
    });
  }
  Errand add_one(Process& process) {
    Held& held = hold();
    Errand errand = one_sided("atomic", held, [&process, &held] {
      process.one_sided->atomic({Rank{0}, kOpenArea, kAreaBytes - 8}, Atomic::add(1), held.tracker);
    });
    errand.check = [this, &held] {
      EXPECT_EQ(held.tracker.code(), ErrorCode::ok);
      ++added_;
      counter_ = std::max(counter_, held.tracker.value() + 1);
    };
    return errand;
  }
  Errand mcast(Process& process, std::uint64_t i) {
    Held& held = hold();
    held.out.assign(i % 2 == 0 ? 64 : 9000, static_cast<std::byte>(process.rank + 1));
    static constexpr std::array kAll{Rank{0}, Rank{1}, Rank{2}, Rank{3}, Rank{4}};
    Errand errand{
        .name = "mcast",
        .begin =
            [&process, &held] {
              held.tracker.reset();
              process.one_sided->mcast(kAll, {.place = {{}, kOpenArea, 20'480}, .local = held.out}, held.tracker);
              return ErrorCode::ok;
            },
        .ended = [&held] { return held.tracker.ended(); },
        .check = [&held] { // some receivers may have been left out for lack of memory
          EXPECT_TRUE(held.tracker.code() == ErrorCode::ok || held.tracker.code() == ErrorCode::out_of_memory);
        }};
    return errand;
  }
  Errand lock(Process& process, bool take) {
    Held& held = hold();
    return one_sided(take ? "lock" : "unlock", held, [&process, &held, take] {
      if (take)
        process.one_sided->lock(Rank{0}, kHomeLock, held.tracker);
      else
        process.one_sided->unlock(Rank{0}, kHomeLock, held.tracker);
    });
  }
  Errand barrier(Process& process) {
    Held& held = hold();
    return {.name = "barrier",
            .begin =
                [&process, &held] {
                  held.request = process.barriers->start({});
                  return ErrorCode::ok;
                },
            .ended = [&process, &held] { return take(process, held); },
            .check = [&held] { EXPECT_EQ(held.completion.code, ErrorCode::ok); }};
  }
  Errand exchange(Process& process, std::size_t each) {
    Held& held = hold();
    held.out.resize(kSize * each);
    held.in.resize(kSize * each);
    for (std::uint32_t to = 0; to < kSize; ++to)
      for (std::size_t at = 0; at < each; ++at) held.out[to * each + at] = content(process.rank, to, each, at);
    return {
        .name = "all-to-all of " + std::to_string(each) + " bytes",
        .begin = [&process, &held] { return code_of(process.exchanges->start(held.out, held.in, {}), held.request); },
        .ended = [&process, &held] { return take(process, held); },
        .check =
            [&process, &held, each] {
              EXPECT_EQ(held.completion.code, ErrorCode::ok);
              for (std::uint32_t from = 0; from < kSize; ++from)
                for (std::size_t at = 0; at < each; ++at)
                  ASSERT_EQ(held.in[from * each + at], content(from, process.rank, each, at));
            }};
  }
  // To the right neighbour, and from the left one, compiled and started. Where a process has no memory for its part, the compile
  // fails, everywhere.
  std::vector<Errand> patterns(Process& process) {
    std::vector<Errand> row;
    for (std::uint64_t i = 0; i < 3; ++i) {
      Held& held = hold();
      const std::size_t bytes = i % 2 == 0 ? 200 : 20'000;
      held.out.resize(bytes);
      held.in.resize(bytes);
      const std::uint32_t right = (process.rank + 1) % kSize;
      const std::uint32_t left = (process.rank + kSize - 1) % kSize;
      for (std::size_t at = 0; at < bytes; ++at) held.out[at] = content(process.rank, right, i, at);
      pattern::PlannedPattern& one = **process.patterns->create({});
      EXPECT_TRUE(one.declare(
          {.kind = pattern::Declared::Kind::send, .rank = right, .tag = i, .source = ConstLayout(held.out)}));
      EXPECT_TRUE(
          one.declare({.kind = pattern::Declared::Kind::receive, .rank = left, .tag = i, .target = Layout(held.in)}));
      row.push_back({.name = "compile of a pattern",
                     .begin = [&one, &held] { return code_of(one.compile({}), held.request); },
                     .ended = [&process, &held] { return take(process, held); },
                     .check = {}});
      Errand& compiled = row.back();
      compiled.check = [this, &held, i] { compiled_[i].push_back(held.completion.code == ErrorCode::ok); };
      Held& round = hold();
      row.push_back(
          {.name = "round of a pattern",
           .begin =
               [&one, &held, &round] {
                 if (held.completion.code != ErrorCode::ok) return ErrorCode::ok;
                 return code_of(one.start({}), round.request);
               },
           .ended = [&process, &held, &round] { return held.completion.code != ErrorCode::ok || take(process, round); },
           .check =
               [&process, &held, &round, left, i] {
                 if (held.completion.code != ErrorCode::ok) return;
                 EXPECT_EQ(round.completion.code, ErrorCode::ok);
                 for (std::size_t at = 0; at < held.in.size(); ++at)
                   ASSERT_EQ(held.in[at], content(left, process.rank, i, at))
                       << "rank " << process.rank << " pattern " << i << " at " << at << " of " << held.in.size();
               }});
    }
    return row;
  }

  Dice dice_;
  translators::LoopbackFabric fabric_;
  std::deque<Held> held_;
  std::vector<Process> processes_;
  std::array<std::vector<bool>, 3> compiled_; // by pattern, then process
  std::array<std::uint64_t, kSize> unsolicited_to_{};
  std::uint64_t added_ = 0;
  std::uint64_t counter_ = 0;
  std::uint64_t shortages_ = 0;
  std::uint64_t refusals_ = 0;
};

TEST(Shortage, OfMemoryForAWhileLosesNothing) {
  const Shape shapes[] = {
      {},
      {.reads_any_memory = false, .processor_copies = false, .refuse_percent = 30, .late_percent = 30},
      {.processor_copies = false, .inline_bytes = 256, .refuse_percent = 60, .late_percent = 50},
      {.processor_copies = false, .refuse_percent = 30, .announcing = true, .late_percent = 30},
  };
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    Hardship shortage(seed, shapes[seed % std::size(shapes)]);
    shortage.run();
    if (testing::Test::HasFailure()) return;
    EXPECT_GT(shortage.refusals(), 0U);
    EXPECT_TRUE(base::Reserve::may_begin());
  }
}

} // namespace
} // namespace heddle::tests

#endif

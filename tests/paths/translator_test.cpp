// Translator verbs on the recorder's adapters: by which LIDs its lanes lead, and what it makes of adapters, ports and registrations
// that fail. All its processes are in this one.
#include "tests/paths/job.hpp"
#include "translators/verbs/verbs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <functional>

namespace heddle::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using translators::Verbs;

constexpr const char* kRecorder = HEDDLE_STAND_INS "/libibverbs.so.1";
constexpr std::uint32_t kNearLid = 8, kFarLid = 16;

// A process: its events, and memory that others reach.
class Process {
 public:
  Process(const Verbs::Setup& setup, std::uint32_t lid, std::uint32_t lmc) {
    ::setenv("RECORDER_LID", std::to_string(lid).c_str(), 1);
    ::setenv("RECORDER_LMC", std::to_string(lmc).c_str(), 1);
    auto made = Verbs::create(setup);
    EXPECT_TRUE(made) << made.error().message();
    verbs = std::move(*made);
    auto allocated = verbs->allocate(4096);
    EXPECT_TRUE(allocated);
    area = *allocated;
  }
  void poll() {
    std::array<ir::Event, 64> some;
    const std::size_t count = verbs->poll(some);
    events.insert(events.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  [[nodiscard]] bool saw(ir::EventKind kind) const {
    return std::ranges::any_of(events, [kind](const ir::Event& event) { return event.kind == kind; });
  }
  // Of the only command.
  [[nodiscard]] std::optional<ir::Status> status() const {
    const auto found = std::ranges::find(events, ir::EventKind::completed, &ir::Event::kind);
    return found == events.end() ? std::nullopt : std::optional(found->status);
  }

  std::unique_ptr<Verbs> verbs;
  ir::ExposedMemory area;
  std::vector<ir::Event> events;
};

ir::Command put_to(const ir::RemotePlace& place, std::span<std::byte> from, ir::Flags flags = ir::Flags::signalled) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = flags;
  command.peer = ir::Peer{1};
  command.remote = place;
  command.local = from.data();
  command.bytes = from.size();
  return command;
}

class OnRecorder : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("RECORDER_FILE", job_.file("record").c_str(), 1);
    ::setenv("RECORDER_DELIVERS", "1", 1);
    void* const library = ::dlopen(kRecorder, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    raise_ = reinterpret_cast<decltype(raise_)>(::dlsym(library, "recorder_raise"));
    move_ = reinterpret_cast<decltype(move_)>(::dlsym(library, "recorder_move"));
    lose_ = reinterpret_cast<decltype(lose_)>(::dlsym(library, "recorder_lose"));
  }
  void TearDown() override {
    lose_(0);
    for (const char* each : {"FILE", "DELIVERS", "LID", "LMC", "ADDRESSES", "DOWN", "LOCKS", "REFUSES", "NO_WAY",
                             "NO_PAIRS", "ATOMICS", "PORTS", "INLINE"})
      ::unsetenv(("RECORDER_" + std::string(each)).c_str());
  }

  [[nodiscard]] Verbs::Setup setup(std::uint32_t rank) {
    return {.rank = rank,
            .size = 2,
            .wanted = {.library = kRecorder, .ports = ports_},
            .queue_pairs = queue_pairs_,
            .silence = silence_,
            .log = base::Log(LogLevel::warning, rank, [this](std::string_view line) { said_ += line; })};
  }
  void start(std::uint32_t near_lmc = 3, std::uint32_t far_lmc = 3) {
    near_.reset();
    far_.reset();
    near_ = std::make_unique<Process>(setup(0), kNearLid, near_lmc);
    start_far(far_lmc);
  }
  void start_far(std::uint32_t lmc = 3) { far_ = std::make_unique<Process>(setup(1), kFarLid, lmc); }
  void attach() {
    ASSERT_TRUE(near_->verbs->attach(ir::Peer{1}, far_->verbs->address()));
    ASSERT_TRUE(far_->verbs->attach(ir::Peer{0}, near_->verbs->address()));
  }
  bool until(const std::function<bool()>& done) {
    const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < enough) {
      near_->poll();
      if (far_ != nullptr) far_->poll();
    }
    return done();
  }
  // A put from near to far, with all that it takes.
  ir::Status put(std::uint32_t path = ir::kAnyPath) {
    ir::Command command = put_to(far_->area.place, std::span(word_));
    command.path = path;
    return done(command);
  }
  ir::Status put_by(std::uint8_t engine, std::uint8_t receive_engine = ir::kAnyEngine) {
    ir::Command command = put_to(far_->area.place, std::span(word_));
    command.send_engine = engine;
    command.receive_engine = receive_engine;
    return done(command);
  }
  ir::Status done(const ir::Command& command) {
    near_->events.clear();
    EXPECT_EQ(near_->verbs->submit({&command, 1}), 1U);
    EXPECT_TRUE(until([&] { return near_->status().has_value(); }));
    return near_->status().value_or(ir::Status::failed);
  }
  // Of reliable connections, in their order.
  [[nodiscard]] std::vector<std::string> connected() const {
    std::vector<std::string> lines;
    std::istringstream record(job_.recorded());
    for (std::string line; std::getline(record, line);)
      if (line.starts_with("connect ")) lines.push_back(line.substr(8));
    return lines;
  }

  PlannedJob job_;
  std::chrono::seconds silence_{0};
  std::size_t ports_ = 1;
  std::uint32_t queue_pairs_ = 1024;
  std::string said_;
  std::unique_ptr<Process> near_, far_;
  std::array<std::byte, 8> word_{std::byte{1}};
  void (*raise_)(std::uint32_t lid, int event, std::uint32_t pair) = nullptr;
  void (*move_)(std::uint32_t lid, std::uint32_t to) = nullptr;
  void (*lose_)(int all) = nullptr;
};

using TranslatorPaths = OnRecorder;

TEST_F(TranslatorPaths, LeadThereByTheOneEndsPlanAndBackByTheOthers) {
  start();
  near_->verbs->choose_path(ir::Peer{1}, 5);
  far_->verbs->choose_path(ir::Peer{0}, 2);
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 10 bits 5", "from 8 lid 21 bits 2"));
}

TEST_F(TranslatorPaths, HaveAQueuePairEachMadeWhenFirstNeeded) {
  start();
  attach();
  EXPECT_EQ(near_->verbs->paths_to(ir::Peer{1}), 8U);
  EXPECT_EQ(near_->verbs->queue_pairs(), 0U);
  for (std::uint32_t path = 0; path < 8; ++path) {
    EXPECT_EQ(put(path), ir::Status::ok);
    EXPECT_EQ(put(path), ir::Status::ok);
    EXPECT_EQ(near_->verbs->queue_pairs(), path + 1);
    const std::string bits = " bits " + std::to_string(path);
    EXPECT_THAT(connected(), ElementsAre("from 16 lid " + std::to_string(8 + path) + bits,
                                         "from 8 lid " + std::to_string(16 + path) + bits));
  }
}

TEST_F(TranslatorPaths, MeetWhereOneEndHasFewerLids) {
  for (const auto& [near_lmc, far_lmc] : {std::pair{1U, 3U}, std::pair{3U, 1U}, std::pair{0U, 2U}}) {
    start(near_lmc, far_lmc);
    attach();
    for (std::uint32_t path = 0; path < 8; ++path) EXPECT_EQ(put(path), ir::Status::ok) << path;
  }
}

TEST_F(TranslatorPaths, CanBeChosenWhenThePeerHasCalledAlready) {
  start();
  attach();
  ir::Command command = put_to(near_->area.place, std::span(word_));
  command.peer = ir::Peer{0};
  ASSERT_EQ(far_->verbs->submit({&command, 1}), 1U);
  ASSERT_TRUE(until([&] { return far_->status().has_value(); }));
  static_cast<void>(connected());
  near_->verbs->choose_path(ir::Peer{1}, 6);
  EXPECT_EQ(put(), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 14 bits 6", "from 8 lid 22 bits 6"));
}

TEST_F(TranslatorPaths, StayAsAnsweredFirstWhenTheAnswerIsLost) {
  start();
  far_->verbs->choose_path(ir::Peer{0}, 2);
  attach();
  const ir::Command command = put_to(far_->area.place, std::span(word_));
  ASSERT_EQ(near_->verbs->submit({&command, 1}), 1U);
  lose_(1);
  far_->poll();
  lose_(0);
  far_->verbs->choose_path(ir::Peer{0}, 4);
  ASSERT_TRUE(until([&] { return near_->status().has_value(); }));
  EXPECT_EQ(near_->status(), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 10 bits 0", "from 8 lid 16 bits 2"));
}

TEST_F(TranslatorPaths, OnEthernetLeadFromOneAddressToThatOfTheSameNumber) {
  ::setenv("RECORDER_ADDRESSES", "3", 1);
  start();
  attach();
  EXPECT_EQ(near_->verbs->paths_to(ir::Peer{1}), 3U);
  for (const char* path : {"0", "1", "2"}) {
    EXPECT_EQ(put(static_cast<std::uint32_t>(std::stoul(path))), ir::Status::ok);
    EXPECT_THAT(connected(), ElementsAre("from 16 index " + std::string(path) + " to 8." + path,
                                         "from 8 index " + std::string(path) + " to 16." + path));
  }
}

// Of the peer's two for each direction.
TEST_F(TranslatorPaths, OfOnePeerTakeTurnsWhereItHasFewQueuePairs) {
  near_ = std::make_unique<Process>(setup(0), kNearLid, 3);
  queue_pairs_ = 4;
  start_far();
  attach();
  for (std::uint32_t path = 0; path < 8; ++path) EXPECT_EQ(put(path), ir::Status::ok) << path;
  EXPECT_EQ(far_->verbs->queue_pairs(), 2U);
}

class TranslatorPorts : public OnRecorder {
 protected:
  void SetUp() override {
    OnRecorder::SetUp();
    ::setenv("RECORDER_PORTS", "2", 1);
    ports_ = 2;
  }
};

TEST_F(TranslatorPorts, AreEnginesAtBothEnds) {
  start();
  attach();
  const ir::Resources resources = near_->verbs->resources();
  EXPECT_EQ(resources.engines, 2U);
  EXPECT_EQ(resources.receive_engines, 2U);
  EXPECT_EQ(resources.node_rate, 2 * resources.engine_rate);
  EXPECT_THAT(near_->verbs->remark(), HasSubstr("port 1 and 2"));
  EXPECT_EQ(put_by(0), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 8 bits 0", "from 8 lid 16 bits 0"));
  EXPECT_EQ(put_by(1), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16:2 lid 72 bits 0", "from 8:2 lid 80 bits 0"));
  EXPECT_EQ(put_by(1, 0), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 72 bits 0", "from 8:2 lid 16 bits 0"));
  EXPECT_EQ(put_by(0), ir::Status::ok);
  EXPECT_EQ(put_by(1), ir::Status::ok);
  EXPECT_THAT(connected(), IsEmpty()) << "by the queue pairs that there are";
}

TEST_F(TranslatorPorts, AreTakenByTheNumberThatIsAskedFor) {
  ports_ = 1;
  start();
  EXPECT_EQ(near_->verbs->resources().engines, 1U);
  ports_ = 4;
  start();
  EXPECT_EQ(near_->verbs->resources().engines, 2U) << "the adapter has no more";
}

TEST_F(TranslatorPorts, CarryWhatNamesNoneByTheOneChosenForThePeer) {
  start();
  attach();
  near_->verbs->choose_engine(ir::Peer{1}, 1);
  EXPECT_EQ(put(), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16:2 lid 72 bits 0", "from 8:2 lid 80 bits 0"));
}

TEST_F(TranslatorPorts, FollowThePlanBetweenTheFirstAlone) {
  start();
  near_->verbs->choose_path(ir::Peer{1}, 5);
  far_->verbs->choose_path(ir::Peer{0}, 2);
  attach();
  EXPECT_EQ(put_by(0), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 10 bits 5", "from 8 lid 21 bits 2"));
  EXPECT_EQ(put_by(1), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16:2 lid 72 bits 0", "from 8:2 lid 80 bits 0"));
}

TEST_F(TranslatorPorts, LeadToAPeerThatHasFewer) {
  near_ = std::make_unique<Process>(setup(0), kNearLid, 3);
  ports_ = 1;
  start_far();
  attach();
  EXPECT_EQ(put_by(1), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 72 bits 0", "from 8:2 lid 16 bits 0"));
  EXPECT_EQ(put_by(0, 1), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16 lid 8 bits 0", "from 8 lid 16 bits 0"));
}

TEST_F(TranslatorPorts, ThatAreDownLeaveNewQueuePairsToTheOther) {
  start();
  attach();
  ::setenv("RECORDER_DOWN", "2", 1);
  raise_(kNearLid, IBV_EVENT_PORT_ERR, 2);
  near_->verbs->cancel_sleep();
  EXPECT_THAT(said_, HasSubstr("recorder0:2 is down"));
  EXPECT_EQ(put_by(1), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16:2 lid 8 bits 0", "from 8 lid 80 bits 0"));
  ::unsetenv("RECORDER_DOWN");
  raise_(kNearLid, IBV_EVENT_PORT_ACTIVE, 2);
  near_->verbs->cancel_sleep();
  EXPECT_THAT(said_, HasSubstr("recorder0:2 is up again"));
  EXPECT_EQ(put_by(1), ir::Status::ok);
  EXPECT_THAT(connected(), ElementsAre("from 16:2 lid 72 bits 0", "from 8:2 lid 80 bits 0"));
  ::setenv("RECORDER_DOWN", "2", 1);
  raise_(kNearLid, IBV_EVENT_PORT_ERR, 2);
  near_->verbs->cancel_sleep();
  EXPECT_EQ(put_by(1), ir::Status::ok) << "what is under way there keeps its order";
  EXPECT_THAT(connected(), IsEmpty());
}

TEST_F(TranslatorPorts, CarryCommandsOfEveryKind) {
  start();
  attach();
  auto there = far_->verbs->allocate(1 << 20);
  ASSERT_TRUE(there);
  std::vector<std::byte> from(300'000), to(300'000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7);
  for (const int number : {0, 1, 0, 1}) {
    const auto engine = static_cast<std::uint8_t>(number);
    from[0] = static_cast<std::byte>(engine + 1);
    ir::Command put = put_to(there->place, from);
    put.send_engine = engine;
    EXPECT_EQ(done(put), ir::Status::ok);
    ir::Command get = put_to(there->place, to);
    get.operation = ir::Operation::get;
    get.send_engine = static_cast<std::uint8_t>(1 - engine);
    EXPECT_EQ(done(get), ir::Status::ok);
    EXPECT_EQ(from, to);
    ir::Command add = put_to(there->place.at(from.size()), {});
    add.operation = ir::Operation::fetch_and_add;
    add.operand = 1;
    add.send_engine = engine;
    EXPECT_EQ(done(add), ir::Status::ok);
  }
  std::uint64_t sum = 0;
  std::memcpy(&sum, there->memory.data() + from.size(), sizeof sum);
  EXPECT_EQ(sum, 4U);
}

using TranslatorInline = OnRecorder;

// Adapters differ in how much a request may bring with it. Some take nothing, some refuse a queue pair that is to take more than they can.
TEST_F(TranslatorInline, IsWhatTheAdapterTakes) {
  for (const char* most : {"0", "4", "60", "100", "128", "4096"}) {
    ::setenv("RECORDER_INLINE", most, 1);
    start();
    attach();
    std::vector<std::byte> from(100, std::byte{5});
    for (const std::size_t bytes : {8U, 64U, 100U}) { // the first word last, behind the rest
      ir::Command command =
          put_to(far_->area.place, std::span(from).first(bytes), ir::Flags::signalled | ir::Flags::lead_last);
      command.head = {std::byte{1}, std::byte{2}};
      command.head_bytes = 8;
      EXPECT_EQ(done(command), ir::Status::ok) << most;
      EXPECT_EQ(far_->area.memory[1], std::byte{2});
      EXPECT_EQ(far_->area.memory[7 + bytes], std::byte{5});
      command.flags = ir::Flags::lead_last | ir::Flags::announced; // a record
      command.head[1] = std::byte{3};
      ASSERT_EQ(near_->verbs->submit({&command, 1}), 1U);
      EXPECT_TRUE(until([&] { return far_->area.memory[1] == std::byte{3}; })) << most;
      far_->area.memory[7 + bytes] = std::byte{0};
    }
    std::vector<std::byte> large(60'000, std::byte{6}); // copied, and its first word with it
    auto there = far_->verbs->allocate(large.size() + 8);
    ASSERT_TRUE(there);
    ir::Command command = put_to(there->place, large, ir::Flags::signalled | ir::Flags::lead_last);
    command.head = {std::byte{9}};
    command.head_bytes = 8;
    EXPECT_EQ(done(command), ir::Status::ok);
    EXPECT_EQ(there->memory[0], std::byte{9});
    EXPECT_EQ(there->memory[large.size() + 7], std::byte{6});
  }
}

using TranslatorTrouble = OnRecorder;

TEST_F(TranslatorTrouble, AnAdapterWithoutAtomicsIsRefused) {
  ::setenv("RECORDER_ATOMICS", "0", 1);
  const auto made = Verbs::create(setup(0));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  EXPECT_THAT(made.error().fact, HasSubstr("recorder0 has no atomic operations"));
}

// One side took the other for dead while that made no calls: it hears so when it calls.
TEST_F(TranslatorTrouble, WhoWasGivenUpHearsOfIt) {
  start();
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
  lose_(1);
  EXPECT_EQ(put(), ir::Status::peer_lost);
  lose_(0);
  ir::Command command = put_to(near_->area.place, std::span(word_));
  command.peer = ir::Peer{0};
  ASSERT_EQ(far_->verbs->submit({&command, 1}), 1U);
  EXPECT_TRUE(until([&] { return far_->saw(ir::EventKind::peer_failed) && far_->status(); }));
  EXPECT_EQ(far_->status(), ir::Status::peer_lost);
}

TEST_F(TranslatorTrouble, ALaneThatCannotBeOpenedWhileThePortIsDownIsLost) {
  start();
  attach();
  lose_(1);
  ::setenv("RECORDER_DOWN", "1", 1);
  raise_(kNearLid, IBV_EVENT_PORT_ERR, 0);
  near_->verbs->cancel_sleep();
  EXPECT_EQ(put(), ir::Status::connection_lost);
  EXPECT_TRUE(near_->saw(ir::EventKind::connection_lost));
  EXPECT_THAT(said_, HasSubstr("recorder0:1 is down"));
  lose_(0);
  ::unsetenv("RECORDER_DOWN");
  raise_(kNearLid, IBV_EVENT_PORT_ACTIVE, 0);
  near_->verbs->cancel_sleep();
  EXPECT_THAT(said_, HasSubstr("recorder0:1 is up again"));
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
}

TEST_F(TranslatorTrouble, WhoeverCannotAskWhetherAPeerLivesDoesNotTakeItForDead) {
  start();
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
  lose_(1);
  ::setenv("RECORDER_DOWN", "1", 1);
  raise_(kNearLid, IBV_EVENT_PORT_ERR, 0);
  near_->verbs->cancel_sleep();
  EXPECT_EQ(put(), ir::Status::connection_lost);
}

TEST_F(TranslatorTrouble, AnAdapterThatGivesNoQueuePairLosesContact) {
  silence_ = std::chrono::seconds(60);
  start();
  attach();
  ::setenv("RECORDER_NO_PAIRS", "1", 1);
  EXPECT_EQ(put(), ir::Status::connection_lost);
  EXPECT_THAT(said_, HasSubstr("device recorder0 gives no queue pair"));
}

// The caller has one, and whoever is called has none.
TEST_F(TranslatorTrouble, APeerThatGetsNoQueuePairSaysSo) {
  silence_ = std::chrono::seconds(60);
  start();
  attach();
  const ir::Command command = put_to(far_->area.place, std::span(word_));
  ASSERT_EQ(near_->verbs->submit({&command, 1}), 1U);
  ::setenv("RECORDER_NO_PAIRS", "1", 1);
  ASSERT_TRUE(until([&] { return near_->status().has_value(); }));
  EXPECT_EQ(near_->status(), ir::Status::connection_lost);
  EXPECT_TRUE(until([&] { return far_->saw(ir::EventKind::connection_lost); }));
}

TEST_F(TranslatorTrouble, APeerToWhichThereIsNoWayIsLost) {
  start();
  attach();
  ::setenv("RECORDER_NO_WAY", "1", 1);
  EXPECT_EQ(put(), ir::Status::connection_lost);
  EXPECT_THAT(said_, HasSubstr("has no way to peer 1"));
}

// Its last word may stand before what the adapter says of commands that it has waited for.
TEST_F(TranslatorTrouble, WhatWasCarriedOutHasBeenThoughThePeerHasLeft) {
  start();
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
  near_->events.clear();
  const ir::Command command = put_to(far_->area.place, std::span(word_));
  ASSERT_EQ(near_->verbs->submit({&command, 1}), 1U);
  far_.reset();
  EXPECT_TRUE(until([&] { return near_->saw(ir::EventKind::peer_left); }));
  EXPECT_EQ(near_->status(), ir::Status::ok);
  EXPECT_EQ(near_->events.back().kind, ir::EventKind::peer_left);
}

TEST_F(TranslatorTrouble, WhatWasNotCarriedOutEndsWhenThePeerLeaves) {
  start();
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
  near_->events.clear();
  far_.reset();
  const ir::Command command = put_to({}, std::span(word_));
  ASSERT_EQ(near_->verbs->submit({&command, 1}), 1U);
  EXPECT_TRUE(until([&] { return near_->saw(ir::EventKind::peer_left) && near_->status(); }));
  EXPECT_EQ(near_->status(), ir::Status::peer_left);
}

class MemoryTrouble : public OnRecorder {
 protected:
  void SetUp() override {
    OnRecorder::SetUp();
    silence_ = std::chrono::seconds(60);
    start();
    attach();
    EXPECT_EQ(put(), ir::Status::ok);
    near_->events.clear();
    ::setenv("RECORDER_LOCKS", "100000", 1);
  }
  std::size_t submit_large(ir::Flags flags = ir::Flags::signalled) {
    const ir::Command command = put_to(far_->area.place, large_, flags);
    return near_->verbs->submit({&command, 1});
  }

  std::vector<std::byte> large_ = std::vector<std::byte>(200'000);
};

TEST_F(MemoryTrouble, ThatLastsEndsTheCommand) {
  EXPECT_EQ(submit_large(), 1U);
  ASSERT_TRUE(until([&] { return near_->status().has_value(); }));
  EXPECT_EQ(near_->status(), ir::Status::exhausted);
  EXPECT_EQ(near_->events.front().vendor_code, ENOMEM);
  EXPECT_THAT(said_, HasSubstr("cannot lock 200000 bytes for device recorder0"));
  EXPECT_EQ(put(), ir::Status::ok) << "what needs none goes on";
}

TEST_F(MemoryTrouble, ThatMayPassHoldsItBack) {
  lose_(1);
  const ir::Command small = put_to(far_->area.place, std::span(word_));
  ASSERT_EQ(near_->verbs->submit({&small, 1}), 1U);
  EXPECT_EQ(submit_large(), 0U) << "what is under way may hold what is lacking";
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(MemoryTrouble, OfMemoryThatIsNotThereEndsTheCommandAtOnce) {
  ::setenv("RECORDER_REFUSES", std::to_string(EFAULT).c_str(), 1);
  lose_(1);
  const ir::Command small = put_to(far_->area.place, std::span(word_), ir::Flags::none);
  ASSERT_EQ(near_->verbs->submit({&small, 1}), 1U);
  EXPECT_EQ(submit_large(), 1U);
  near_->poll();
  EXPECT_EQ(near_->status(), ir::Status::failed);
}

TEST_F(MemoryTrouble, EndsContactWhereNobodyWouldHearOfIt) {
  EXPECT_EQ(submit_large(ir::Flags::none), 1U);
  EXPECT_TRUE(
      until([&] { return near_->saw(ir::EventKind::connection_lost) && far_->saw(ir::EventKind::connection_lost); }));
}

TEST_F(TranslatorTrouble, AFailedAdapterTakesNobodyAnyMore) {
  for (const int event : {IBV_EVENT_DEVICE_FATAL, IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR, IBV_EVENT_QP_FATAL}) {
    start();
    attach();
    EXPECT_EQ(put(), ir::Status::ok);
    raise_(kNearLid, event, translators::verbs::Place::unpack(near_->verbs->address())->door);
    near_->verbs->cancel_sleep();
    EXPECT_EQ(put(), ir::Status::peer_lost) << event;
    const auto attached = near_->verbs->attach(ir::Peer{1}, far_->verbs->address());
    ASSERT_FALSE(attached);
    EXPECT_THAT(attached.error().fact, HasSubstr("device recorder0 has failed"));
  }
}

TEST_F(TranslatorTrouble, AnotherLidEndsContactAndSaysSo) {
  start();
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
  move_(kNearLid, 64);
  raise_(64, IBV_EVENT_LID_CHANGE, 0);
  near_->verbs->cancel_sleep();
  EXPECT_EQ(put(), ir::Status::peer_lost);
  EXPECT_THAT(said_, HasSubstr("has got another LID, 64 instead of 8"));
}

TEST_F(TranslatorTrouble, IsHeardOfByWhoSubmitsAllTheTime) {
  start();
  attach();
  raise_(kNearLid, IBV_EVENT_DEVICE_FATAL, 0);
  for (int i = 0; i < 20'000 && !near_->saw(ir::EventKind::peer_failed); ++i) {
    near_->verbs->submit({});
    near_->poll();
  }
  EXPECT_TRUE(near_->saw(ir::EventKind::peer_failed));
}

using TranslatorPolls = OnRecorder;

// What stands behind many that say nothing rings no more.
TEST_F(TranslatorPolls, HearAllThatHasArrivedAtOnce) {
  start();
  attach();
  EXPECT_EQ(put(), ir::Status::ok);
  far_->poll();
  far_->events.clear();
  std::vector<ir::Command> commands(60, put_to(far_->area.place, std::span(word_), ir::Flags::none));
  commands.back().flags = ir::Flags::announced;
  commands.back().operand = 7;
  ASSERT_EQ(near_->verbs->submit(commands), commands.size());
  far_->poll();
  EXPECT_THAT(far_->events, ElementsAre(Field(&ir::Event::kind, ir::EventKind::remote_written)));
}

TEST_F(TranslatorPolls, AreAskedForAgainWhileCallsAreMade) {
  start();
  attach();
  const ir::Command command = put_to(far_->area.place, std::span(word_));
  ASSERT_EQ(near_->verbs->submit({&command, 1}), 1U);
  near_->poll();
  near_->verbs->announce_sleep(ir::Sleeping::By::descriptor);
  pollfd waits{.fd = *near_->verbs->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waits, 1, 10'000), 1) << "the call may have been lost: it is to be made again";
}

TEST_F(TranslatorPolls, LetLanesOfThoseWhoHaveGoneServeOthers) {
  start();
  for (int i = 0; i < 5; ++i) {
    near_->events.clear();
    attach();
    EXPECT_EQ(put(), ir::Status::ok);
    far_.reset();
    EXPECT_TRUE(until([&] { return near_->saw(ir::EventKind::peer_left); }));
    EXPECT_EQ(near_->verbs->indices(), 1U);
    start_far();
  }
}

} // namespace
} // namespace heddle::tests

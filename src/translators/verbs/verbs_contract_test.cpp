// The contract over real queue pairs. Skipped where there is no adapter: tests/verbs/run makes one.
#include "translators/contract/contract.hpp"
#include "translators/contract/open_world.hpp"
#include "translators/decorator.hpp"
#include "translators/verbs/verbs.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <utility>

namespace heddle::translators::contract {
namespace {

// VERBS_CONTRACT_DEVICES names adapters, between commas, that processes take in turn.
verbs::Wanted adapter_of(std::uint64_t process) {
  const char* named = std::getenv("VERBS_CONTRACT_DEVICES");
  std::istringstream names(named != nullptr ? named : "automatic");
  std::vector<std::string> all;
  for (std::string name; std::getline(names, name, ',');) all.push_back(name);
  return {.device = all.at(process % all.size())};
}

std::unique_ptr<Verbs> verbs_of(std::uint32_t rank, std::uint32_t queue_pairs = 1024) {
  auto made = Verbs::create({.rank = rank, .size = 4, .wanted = adapter_of(rank), .queue_pairs = queue_pairs});
  EXPECT_TRUE(made) << made.error().message();
  return std::move(*made);
}

// Queue pairs are agreed on when the target makes calls; so each side's polls are the other's, too, even where another thread is at work there.
class Shared final : public Decorator, public ir::Sleeping {
 public:
  explicit Shared(Verbs& own) : Decorator(own) {}
  void polls_too(Shared& other) { other_ = &other; }
  ir::Facets facets() override {
    ir::Facets facets = Decorator::facets();
    facets.sleeping = this;
    return facets;
  }
  std::size_t submit(std::span<const ir::Command> commands) override {
    const std::scoped_lock lock(mutex_);
    return Decorator::submit(commands);
  }
  std::size_t poll(std::span<ir::Event> events) override {
    if (other_ != nullptr && other_->mutex_.try_lock()) {
      const std::unique_lock other(other_->mutex_, std::adopt_lock);
      other_->Decorator::poll({});
    }
    const std::scoped_lock lock(mutex_);
    return Decorator::poll(events);
  }

  bool announce_sleep(By by) override {
    const std::scoped_lock lock(mutex_);
    return own().announce_sleep(by);
  }
  void cancel_sleep() override {
    const std::scoped_lock lock(mutex_);
    own().cancel_sleep();
  }
  // Asleep, it leaves its translator to the other thread's polls.
  void sleep(std::chrono::nanoseconds limit) override {
    pollfd waits{.fd = *own().descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&waits, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(limit).count()));
    cancel_sleep();
  }
  [[nodiscard]] Result<int> descriptor() override { return own().descriptor(); }

 private:
  ir::Sleeping& own() { return *inner().facets().sleeping; }

  std::mutex mutex_;
  Shared* other_ = nullptr;
};

class VerbsNetwork : public Network {
 public:
  explicit VerbsNetwork(std::uint32_t queue_pairs = 1024) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      networks_.push_back(verbs_of(rank, queue_pairs));
      sides_.push_back(std::make_unique<Shared>(*networks_.back()));
    }
    sides_[0]->polls_too(*sides_[1]);
    sides_[1]->polls_too(*sides_[0]);
  }
  ir::Translator& at(std::uint32_t rank) override { return *sides_[rank]; }
  Contact nobody() override { return {.peer = ir::Peer{3}, .address = {}}; }
  // Who has never been met is called for as long as it takes; one that was, has said that it leaves.
  Contact gone() override {
    auto third = verbs_of(2);
    EXPECT_TRUE(third->allocate(64));
    const ir::Address address = third->address();
    EXPECT_TRUE(third->attach(ir::Peer{0}, networks_[0]->address()));
    EXPECT_TRUE(networks_[0]->attach(ir::Peer{2}, address));
    third.reset();
    std::array<ir::Event, 1> told{};
    Side left(*sides_[0]);
    EXPECT_TRUE(left.wait([&] { return networks_[0]->poll(told) == 1; }));
    EXPECT_EQ(told[0].kind, ir::EventKind::peer_left);
    return {.peer = ir::Peer{2}, .address = address};
  }

 private:
  std::vector<std::unique_ptr<Verbs>> networks_;
  std::vector<std::unique_ptr<Shared>> sides_;
};

template <typename Type>
std::vector<Type> where_there_are_adapters(std::initializer_list<Type> types) {
  std::error_code none;
  const std::filesystem::directory_iterator adapters("/sys/class/infiniband", none);
  return adapters == std::filesystem::directory_iterator() ? std::vector<Type>{} : types;
}

HEDDLE_TRANSLATOR_CONTRACT_OF(Verbs, ::testing::ValuesIn(where_there_are_adapters({type_of<VerbsNetwork>("Verbs")})));

// One that is opened is driven by all others of its process.
class OpenVerbs final : public Decorator {
 public:
  explicit OpenVerbs(std::unique_ptr<Verbs> own) : Decorator(*own), own_(std::move(own)) {
    if (std::exchange(process(), ::getpid()) != ::getpid())
      all().clear(); // what a child has of its parent's is the parent's
    all().push_back(own_.get());
  }
  ~OpenVerbs() override { std::erase(all(), own_.get()); }
  std::size_t poll(std::span<ir::Event> events) override {
    for (Verbs* each : all())
      if (each != own_.get()) each->poll({});
    return Decorator::poll(events);
  }

 private:
  static pid_t& process() {
    static pid_t which = 0;
    return which;
  }
  static std::vector<Verbs*>& all() {
    static std::vector<Verbs*> opened;
    return opened;
  }
  std::unique_ptr<Verbs> own_;
};

std::unique_ptr<ir::Translator> open_verbs(std::uint64_t uid) {
  auto made = Verbs::create({.uid = uid, .wanted = adapter_of(uid), .silence = std::chrono::seconds(2)});
  EXPECT_TRUE(made) << made.error().message();
  return std::make_unique<OpenVerbs>(std::move(*made));
}

HEDDLE_OPEN_WORLD_CONTRACT_OF(Verbs, ::testing::ValuesIn(where_there_are_adapters({OpenNetworkType{
                                         .name = "Verbs", .open = open_verbs, .tells_at_once = false}})));

class VerbsMemory : public Pair {};

// What allocate() gave stands elsewhere for the adapter than for the processor: also when it is read or written for a command.
TEST_P(VerbsMemory, OfOnesOwnServesLargeCommands) {
  constexpr std::size_t kBytes = 300'000;
  const auto own = left.translator().allocate(kBytes);
  ASSERT_TRUE(own);
  const std::vector<std::byte> contents = pattern(kBytes, 5);
  std::ranges::copy(contents, own->memory.begin());
  ir::Command record = put(1, there, own->memory);
  record.head = {std::byte{1}};
  record.head_bytes = 16;
  record.flags = ir::Flags::lead_last | ir::Flags::terminated;
  left.submit(record);
  left.wait([&] { return load_word(memory.data()) == 1; });
  EXPECT_TRUE(std::equal(contents.begin(), contents.end(), memory.begin() + 16));
  std::ranges::fill(own->memory, std::byte{0});
  EXPECT_EQ(left.status_of(get(1, there.at(16), own->memory)), ir::Status::ok);
  EXPECT_TRUE(std::ranges::equal(own->memory, contents));
}

// Nothing is remembered of what was registered there before.
TEST_P(VerbsMemory, ThatIsMappedAnewIsReadAnew) {
  constexpr std::size_t kBytes = 300'000;
  void* place = nullptr;
  for (unsigned round = 1; round <= 3; ++round) {
    place = ::mmap(place, kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | (place != nullptr ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    const std::span mapped(static_cast<std::byte*>(place), kBytes);
    const std::vector<std::byte> contents = pattern(kBytes, round);
    std::ranges::copy(contents, mapped.begin());
    EXPECT_EQ(left.status_of(put(1, there, mapped)), ir::Status::ok);
    EXPECT_TRUE(std::equal(contents.begin(), contents.end(), memory.begin())) << round;
    ::munmap(place, kBytes);
  }
}

// A child that has its parent's pages, too, does not get what peers write to the parent.
TEST_P(VerbsMemory, StaysTheParentsWhenItForks) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char none = 0;
    ::_exit(::read(ends[0], &none, 1) == 0 ? 0 : 1); // until the parent has done
  }
  std::ranges::fill(memory, std::byte{7}); // whose pages are these now?
  const std::vector<std::byte> contents = pattern(4096, 9);
  std::vector<std::byte> from = contents;
  EXPECT_EQ(left.status_of(put(1, there, from)), ir::Status::ok);
  EXPECT_TRUE(std::equal(contents.begin(), contents.end(), memory.begin()));
  ::close(ends[0]);
  ::close(ends[1]);
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsMemory,
                         ::testing::ValuesIn(where_there_are_adapters({type_of<VerbsNetwork>("Verbs")})));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(VerbsMemory);

} // namespace
} // namespace heddle::translators::contract

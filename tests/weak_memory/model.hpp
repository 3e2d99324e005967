// A weakly ordered memory, one execution of it: what C++ promises of atomics, without speculation.
//
// Each location keeps all values ever stored, as messages in their modification order. A thread has a view: for each location the
// oldest message that it may still read. A load reads any message not older than that, so it may be late, as on a processor
// whose caches or buffers are; a store goes anywhere after it. A release store attaches the thread's view to its message,
// and an acquire load that reads it takes that view over. A read-modify-write stays next to what it has read and hands the
// view on (release sequence). seq_cst accesses and fences share one further view.
//   Kang, Hur, Lahav, Vafeiadis, Dreyer: A promising semantics for relaxed-memory concurrency, POPL 2017, without promises;
//   Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing sequential consistency in C/C++11, PLDI 2017.
//
// Plain accesses carry vector clocks: two of them, one a store, that nothing orders are a data race, which ends the execution as a
// violation. That is also how a load that another processor would do after a later store is caught, for loads themselves are
// done in order here: load buffering between atomics alone is what this memory does not show.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::memory_order {

inline constexpr std::size_t kMostThreads = 4;
inline constexpr std::size_t kMostLocations = 64;

// Where choices are made: everything that an execution could do otherwise.
class Chooser {
 public:
  virtual ~Chooser() = default;
  // One of `count` ways; the first is tried first.
  virtual std::size_t choose(std::size_t count) = 0;
  // Ends the execution: something happened that must not.
  [[noreturn]] virtual void violated(const std::string& what) = 0;
};

class Model {
 public:
  explicit Model(Chooser& chooser) : chooser_(chooser) {}

  // Every location as its memory stands, which the model never writes; threads that have done nothing.
  void begin(std::size_t threads);

  std::uint64_t load(std::size_t thread, const void* at, std::size_t bytes, std::memory_order order);
  void store(std::size_t thread, const void* at, std::size_t bytes, std::uint64_t value, std::memory_order order);
  // The old value. `next` says what follows it; false: nothing is stored.
  template <typename Next>
  std::uint64_t update(std::size_t thread, const void* at, std::size_t bytes, std::memory_order order, Next next) {
    const std::size_t location = find(at, bytes);
    const std::size_t message = choose_for_update(thread, location, order, next);
    std::uint64_t value = locations_[location].messages[message].value;
    const std::uint64_t old = value;
    read(thread, location, message, order);
    if (next(value)) write_after(thread, location, message, value, order);
    return old;
  }
  void fence(std::size_t thread, std::memory_order order);
  void compiler_fence(std::size_t thread);
  // As membarrier: a full barrier of every thread, though the compiler may have moved accesses across it where no compiler fence is.
  void barrier_everywhere(std::size_t thread);
  // A load that is not late: the newest value.
  std::uint64_t newest(std::size_t thread, const void* at, std::size_t bytes, std::memory_order order);

  // What stands there in the end; nobody reads it by this.
  [[nodiscard]] std::uint64_t last_value(const void* at, std::size_t bytes) {
    return locations_[find(at, bytes)].messages.back().value;
  }

  std::uint64_t plain_load(std::size_t thread, const void* at);
  void plain_store(std::size_t thread, const void* at, std::uint64_t value);

  // Whether nobody has ever stored there, in any execution so far: then nobody cares when it is read.
  [[nodiscard]] bool is_constant(const void* at) const {
    const auto place = places_.find(at);
    return place != places_.end() && !locations_[place->second].ever_stored;
  }
  // Whether that has turned out to be wrong since the last time.
  bool mistook_a_variable() { return std::exchange(surprised_, false); }

  // Equal for executions that differ only in the order of steps that do not concern each other.
  [[nodiscard]] std::uint64_t state() const;
  // Something else that a thread did or learned.
  void remember(std::size_t thread, std::uint64_t what);

 private:
  using View = std::array<std::uint64_t, kMostLocations>; // time of a message, by location
  using Clock = std::array<std::uint32_t, kMostThreads>;

  struct Knowledge {
    View view{};
    Clock clock{};
    void join(const Knowledge& other, std::size_t locations);
  };
  struct Message {
    std::uint64_t value = 0;
    std::uint64_t time = 0;
    std::uint64_t name = 0; // thread and step that made it
    bool followed = false;  // by the update that read it: nothing comes in between
    Knowledge released;
  };
  struct Location {
    const void* at = nullptr;
    bool used = false; // in this execution
    bool ever_stored = false;
    std::vector<Message> messages;
    // When each thread last did so, by its own clock.
    Clock loaded{}, stored{}, plainly_loaded{}, plainly_stored{};
  };
  struct Thread {
    Knowledge current;
    Knowledge to_acquire; // by the next acquire fence
    Knowledge to_release; // with relaxed stores: as of the last release fence
    View compiled{};      // the view at the last compiler fence
    View barrier{};       // what barriers of others have brought, for the next compiler fence
    bool passed_barrier = false;
    std::uint64_t history = 0;
    std::uint32_t steps = 0;
  };

  std::size_t find(const void* at, std::size_t bytes);
  template <typename Next>
  std::size_t choose_for_update(std::size_t thread, std::size_t location, std::memory_order order, Next next) {
    const std::vector<Message>& messages = locations_[location].messages;
    std::array<std::size_t, 64> ways{};
    std::size_t count = 0;
    for (std::size_t i = messages.size(); i-- > 0 && messages[i].time >= oldest(thread, location, order);) {
      std::uint64_t value = messages[i].value;
      if (messages[i].followed && next(value)) continue;
      ways.at(count++) = i;
    }
    return ways.at(chooser_.choose(count));
  }
  [[nodiscard]] std::uint64_t oldest(std::size_t thread, std::size_t location, std::memory_order order) const;
  void read(std::size_t thread, std::size_t location, std::size_t message, std::memory_order order);
  void write_after(std::size_t thread, std::size_t location, std::size_t message, std::uint64_t value,
                   std::memory_order order);
  void insert(std::size_t thread, std::size_t location, std::size_t after, Message message);
  void tick(std::size_t thread, std::uint64_t what);
  void join_view(View& view, const View& other) const;
  // The view in terms that do not depend on the order of other steps.
  [[nodiscard]] std::uint64_t hash_of(const View& view) const;
  void no_race(std::size_t thread, const Clock& others, const Location& location, const char* what);

  Chooser& chooser_;
  std::vector<Location> locations_; // the same ones in every execution
  std::unordered_map<const void*, std::size_t> places_;
  std::vector<Thread> threads_;
  bool surprised_ = false;
  View agreed_{}; // of all seq_cst accesses and fences
};

} // namespace heddle::memory_order

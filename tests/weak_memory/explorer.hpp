// Runs a small program of a few threads through every execution that the model allows: each choice (which thread goes on, which
// value a load sees, where a store goes) is tried in turn, depth first. An execution is the list of its choices, and is
// repeated from that list; a state that was seen before is not entered again.
//
// Threads are fibers of the one thread of the test, and reach the model through ModelMemory, the counterpart of
// base::Processor. The program's objects stay at the same addresses in all executions.
#pragma once

#include "base/shared_words.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle::memory_order {

// A place in the sources where memory order is asked for.
struct Site {
  std::string file; // without its folder
  unsigned line = 0;
  unsigned column = 0;
  auto operator<=>(const Site&) const = default;
};

enum class Access : std::uint8_t { load, store, update, fence, compiler_fence, barrier_everywhere };

// One site with less order than the code asks for. `removed`: as if it were not there.
struct Weakening {
  Site site;
  Access access{};
  std::memory_order order{};
  bool removed = false;
  [[nodiscard]] std::string text() const;
};
// All that can be taken from this access, one step each.
std::vector<Weakening> weakenings(const Site& site, Access access, std::memory_order order);

struct Program {
  std::function<void()> prepare; // before each execution: every object as at the start
  std::vector<std::function<void()>> threads;
  std::function<void()> finally = [] {}; // when all threads have ended
  // This thread may stop for good at each of its steps, as a process that is killed. What others learn of it is done here.
  std::size_t mortal = SIZE_MAX;
  std::function<void()> at_death = [] {};
};

struct Result {
  bool violated = false;
  std::string what;                 // the violation
  std::vector<std::size_t> choices; // that lead to it
  std::uint64_t executions = 0;
  std::uint64_t states = 0;
  bool complete = false;          // everything was tried
  std::set<std::size_t> unending; // threads that came to their end in no execution
  std::map<Site, std::pair<Access, std::memory_order>> sites;
};

struct Manner {
  const Weakening* weakening = nullptr;
  bool merges_states = true; // enters no state twice
  std::uint64_t most_executions = 4'000'000;
};
// Until the first violation, or all is explored, or that many executions were.
Result explore(const Program& program, const Manner& manner = {});

// For programs: ends the execution as a violation; or without a word, because another execution shows the same and more (a look
// that finds nothing).
void check(bool sound, const char* what);
void assume(bool holds);
// A message between threads that needs no check of its own, as one step: added to the box; taken out of one that no longer
// holds what was seen there, and slept for until then.
void post(std::atomic<std::uint32_t>& box, std::uint32_t what);
std::uint32_t await(std::atomic<std::uint32_t>& box, std::uint32_t seen);

// For Program::finally: what the word holds when all is done. A look that misses something only ends its execution; what it would
// have found shows here.
std::uint64_t in_the_end(const std::atomic<std::uint64_t>& word);

// Memory as the model has it.
struct ModelMemory {
  template <typename Word>
  static Word load(const std::atomic<Word>& word, std::memory_order order, base::Here here = base::Here::current()) {
    return static_cast<Word>(load_at(&word, sizeof word, order, here));
  }
  static std::uint64_t load(const std::uint64_t& word, std::memory_order order,
                            base::Here here = base::Here::current()) {
    return load_at(&word, sizeof word, order, here);
  }
  template <typename Word>
  static void store(std::atomic<Word>& word, Word value, std::memory_order order,
                    base::Here here = base::Here::current()) {
    store_at(&word, sizeof word, value, order, here);
  }
  template <std::unsigned_integral Word>
  static void store(Word& word, std::type_identity_t<Word> value, std::memory_order order,
                    base::Here here = base::Here::current()) {
    store_at(&word, sizeof word, value, order, here);
  }
  template <typename Word>
  static Word exchange(std::atomic<Word>& word, Word value, std::memory_order order,
                       base::Here here = base::Here::current()) {
    return static_cast<Word>(exchange_at(&word, sizeof word, value, order, here));
  }
  template <typename Word>
  static Word fetch_add(std::atomic<Word>& word, Word value, std::memory_order order,
                        base::Here here = base::Here::current()) {
    return static_cast<Word>(add_at(&word, sizeof word, value, order, here));
  }
  static std::uint64_t fetch_add(std::uint64_t& word, std::uint64_t value, std::memory_order order,
                                 base::Here here = base::Here::current()) {
    return add_at(&word, sizeof word, value, order, here);
  }
  static bool compare_exchange(std::uint64_t& word, std::uint64_t& expected, std::uint64_t value,
                               std::memory_order order, base::Here here = base::Here::current());
  static bool compare_exchange(std::atomic<std::uint64_t>& word, std::uint64_t& expected, std::uint64_t value,
                               std::memory_order order, base::Here here = base::Here::current()) {
    return compare_exchange(reinterpret_cast<std::uint64_t&>(word), expected, value, order, here);
  }
  static void fence(std::memory_order order, base::Here here = base::Here::current());
  static void compiler_fence(base::Here here = base::Here::current());
  static void plain_store(std::byte* to, std::uint64_t value);
  // Whole words only.
  static void copy_in(std::byte* to, const std::byte* from, std::uint64_t bytes);
  static void copy_watched(std::byte* to, const std::byte* from, std::uint64_t bytes);
  static void copy_out(std::byte* to, const std::byte* from, std::uint64_t bytes);

  // The kernel's part (segments/sleep_flag.hpp). Nobody sleeps for a limited time here: a sleep that only its end would
  // end is one that was missed.
  static bool barrier_everywhere(base::Here here = base::Here::current());
  static void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds limit);
  static void wake(std::atomic<std::uint32_t>& word);

 private:
  static std::uint64_t load_at(const void* at, std::size_t bytes, std::memory_order order, const base::Here& here);
  static void store_at(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
                       const base::Here& here);
  static std::uint64_t exchange_at(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
                                   const base::Here& here);
  static std::uint64_t add_at(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
                              const base::Here& here);
};

} // namespace heddle::memory_order

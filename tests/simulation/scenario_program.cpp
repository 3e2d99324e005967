// Plays scenarios (tests/scenario): what tests/simulation/run and tests/simulation/shrink start.
//   scenario_program runs FIRST COUNT   the scenarios of those seeds; "seed N" before each, "failed N: why" after one that did
//   scenario_program replay FILE...     scenarios from files; with "--story" first, what happens in each
//   scenario_program draw SEED          the scenario of a seed, as a file
//   scenario_program shrink SEED|FILE   the smallest that fails likewise: its story, and it as a file on standard output; with
//                                       "--seconds N" first, or interrupted, the smallest that was found until then
// Exit 0: all went well (shrink: it was made smaller). 1: something failed. 2: the call makes no sense.
#include "tests/scenario/draw.hpp"
#include "tests/scenario/play.hpp"
#include "tests/scenario/shrink.hpp"
#include "tests/scenario/text.hpp"
#include "tests/traffic/slowdown.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

namespace {

std::int64_t blocks = 0; // of memory that are in use: this program has one thread

} // namespace

#if !HEDDLE_TESTS_SANITIZED // a sanitizer finds leaks by itself
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto each = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(each, (bytes / each + 1) * each)) {
    ++blocks;
    return memory;
  }
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes) {
  if (void* memory = std::malloc(bytes != 0 ? bytes : 1)) {
    ++blocks;
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  blocks -= memory != nullptr ? 1 : 0;
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  operator delete(memory);
}
#endif

namespace heddle::tests {
namespace {

// Seconds of processor time are a few milliseconds for most; one that takes so long never ends.
constexpr unsigned kSecondsForOne = 60;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Plays it twice if need be: what a first run keeps for later ones is not lost.
std::string verdict_of(const Scenario& scenario) {
  const std::int64_t before = blocks;
  std::string verdict = play(scenario).verdict;
  verdict.shrink_to_fit();
  if (!verdict.empty() || blocks == before) return verdict;
  const std::int64_t again = blocks;
  verdict = play(scenario).verdict;
  if (!verdict.empty()) return "only the second time: " + verdict;
  return blocks == again ? std::string() : std::to_string(blocks - again) + " blocks of memory are left";
}

int run_seeds(std::uint64_t first, std::uint64_t count) {
  bool failed = false;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    alarm(kSecondsForOne);
    const std::string verdict = verdict_of(draw(seed));
    if (verdict.empty()) continue;
    failed = true;
    std::printf("failed %llu: %s\n", static_cast<unsigned long long>(seed), first_line(verdict).c_str());
  }
  std::printf("done\n");
  return failed ? 1 : 0;
}

Result<Scenario> load(const std::string& name) {
  if (!name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; }))
    return draw(std::strtoull(name.c_str(), nullptr, 10));
  std::ifstream file(name);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = name + " cannot be read", .remedy = {}});
  auto scenario = parse_scenario(text.str());
  if (!scenario) scenario.error().fact.insert(0, name + ": ");
  return scenario;
}

int replay(std::span<char*> names, bool with_story) {
  bool failed = false;
  for (const std::string name : names) {
    const auto scenario = load(name);
    if (!scenario) {
      std::cerr << scenario.error().message() << '\n';
      return 2;
    }
    alarm(kSecondsForOne);
    std::vector<std::string> story;
    const std::string verdict = with_story ? play(*scenario, &story).verdict : verdict_of(*scenario);
    for (const std::string& line : story) std::cout << line << '\n';
    std::cout << name << ": " << (verdict.empty() ? "passed" : "failed: " + verdict) << '\n';
    failed = failed || !verdict.empty();
  }
  return failed ? 1 : 0;
}

// The verdict of a child of its own, so that a crash or an endless run is one, too.
std::string verdict_in_child(const Scenario& scenario) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(5);
    const std::string verdict = first_line(verdict_of(scenario));
    static_cast<void>(!write(ends[1], verdict.data(), std::min<std::size_t>(verdict.size(), 4000)));
    _exit(0);
  }
  close(ends[1]);
  std::string verdict(4096, '\0');
  ssize_t got = 0;
  do got = read(ends[0], verdict.data(), verdict.size());
  while (got < 0 && errno == EINTR);
  verdict.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "it never ends" : "it crashes";
  return verdict;
}

// What it is that fails, whatever the numbers.
std::string kind_of(const std::string& verdict) {
  std::string kind;
  std::ranges::copy_if(verdict, std::back_inserter(kind), [](unsigned char c) { return std::isdigit(c) == 0; });
  return kind.substr(0, 60);
}

volatile std::sig_atomic_t interrupted = 0;

std::size_t actions_of(const Scenario& scenario) {
  std::size_t count = 0;
  for (const auto& actions : scenario.actions) count += actions.size();
  return count;
}

int shrink_one(const std::string& name, std::uint64_t seconds) {
  const auto scenario = load(name);
  if (!scenario) {
    std::cerr << scenario.error().message() << '\n';
    return 2;
  }
  const std::string verdict = verdict_in_child(*scenario);
  if (verdict.empty()) {
    std::cerr << name << " does not fail\n";
    return 1;
  }
  std::cerr << name << " fails: " << verdict << '\n';
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  Clock::time_point said = begin;
  std::uint64_t tries = 0;
  const auto fails = [&](const Scenario& candidate) {
    ++tries;
    return kind_of(verdict_in_child(candidate)) == kind_of(verdict);
  };
  const auto go_on = [&](const Scenario& best) {
    const Clock::time_point now = Clock::now();
    if (now - said > std::chrono::seconds(5)) {
      said = now;
      std::cerr << tries << " tries: " << best.peers() << " processes, " << actions_of(best) << " actions\n";
    }
    return interrupted == 0 && now - begin < std::chrono::seconds(seconds);
  };
  const Scenario smallest = shrink(*scenario, fails, go_on);
  std::cerr << "made smaller in " << tries << " tries; its story:\n";
  if (fork() == 0) { // it may crash
    alarm(5);
    std::vector<std::string> story;
    const std::string last = play(smallest, &story).verdict;
    for (const std::string& line : story) std::cerr << line << '\n';
    std::cerr << "and so: " << last << '\n';
    _exit(0);
  }
  int status = 0;
  wait(&status);
  std::cout << "# " << verdict_in_child(smallest) << '\n' << to_text(smallest);
  return 0;
}

int main_of(std::span<char*> words) {
  const std::string_view what = words.empty() ? "" : words[0];
  const auto number = [&](std::size_t index) { return std::strtoull(words[index], nullptr, 10); };
  if (what == "runs" && words.size() == 3) return run_seeds(number(1), number(2));
  if (what == "replay" && words.size() > 1) {
    const bool with_story = std::string_view(words[1]) == "--story";
    return replay(words.subspan(with_story ? 2 : 1), with_story);
  }
  if (what == "draw" && words.size() == 2) {
    std::cout << to_text(draw(number(1)));
    return 0;
  }
  constexpr std::uint64_t kForever = 1'000'000'000;
  if (what == "shrink" && words.size() == 2) return shrink_one(words[1], kForever);
  if (what == "shrink" && words.size() == 4 && std::string_view(words[1]) == "--seconds")
    return shrink_one(words[3], std::min<std::uint64_t>(number(2), kForever));
  std::cerr << "usage: scenario_program runs FIRST COUNT | replay [--story] FILE... | draw SEED | "
               "shrink [--seconds N] SEED|FILE\n";
  return 2;
}

} // namespace
} // namespace heddle::tests

int main(int count, char** words) {
  return heddle::tests::main_of(std::span(words, static_cast<std::size_t>(count)).subspan(1));
}

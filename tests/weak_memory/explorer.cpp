#include "tests/weak_memory/explorer.hpp"

#include "tests/weak_memory/fiber.hpp"
#include "tests/weak_memory/model.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_set>
#include <utility>

namespace heddle::memory_order {

namespace {

constexpr std::size_t kNobody = kMostThreads; // the program's `finally` runs
struct Ended {};                              // which a violation ends

// What a thread's history holds beside its accesses.
constexpr std::uint64_t kWoken = ~std::uint64_t{0};
constexpr std::uint64_t kDying = kWoken - 1;

class Explorer final : public Chooser {
 public:
  Explorer(const Program& program, const Manner& manner) : program_(program), manner_(manner), model_(*this) {
    for (std::size_t i = 0; i < program.threads.size(); ++i) {
      threads_.push_back(std::make_unique<Thread>());
      result_.unending.insert(i);
    }
  }

  Result run() {
    do {
      execute();
      ++result_.executions;
      for (std::size_t i = 0; i < threads_.size(); ++i)
        if (threads_[i]->fiber.ended()) result_.unending.erase(i);
      if (model_.mistook_a_variable()) { // then steps were left out
        choices_.clear();
        seen_.clear();
        continue;
      }
      if (!next_choices()) break;
    } while (!result_.violated && result_.executions < manner_.most_executions);
    result_.complete = !result_.violated && choices_.empty();
    result_.states = seen_.size();
    for (const Choice& choice : choices_)
      if (result_.violated) result_.choices.push_back(choice.chosen);
    return result_;
  }

  std::size_t choose(std::size_t count) override {
    if (count == 1) return 0;
    if (depth_ == choices_.size()) choices_.push_back({.chosen = 0, .count = count});
    return choices_[depth_++].chosen;
  }
  [[noreturn]] void violated(const std::string& what) override {
    if (!result_.violated) result_.what = what;
    result_.violated = true;
    abandon();
  }
  // Of no use to this thread any more. If it looked at words that nobody has stored so far, and so without letting the others come
  // first, they go on without it: one of them may be about to store there.
  [[noreturn]] void give_up() {
    if (!threads_[running_]->took_constants) abandon();
    somebody_gave_up_ = true;
    threads_[running_]->dead = true;
    threads_[running_]->fiber.pause();
    std::abort();
  }
  void takes_constant() { threads_[running_]->took_constants = true; }
  // The thread is not resumed again.
  [[noreturn]] void abandon() {
    ending_ = true;
    if (running_ == kNobody) throw Ended{};
    threads_[running_]->fiber.pause();
    std::abort();
  }

  // Before each step that others can notice: they may come first.
  void point() {
    if (dying_ && running_ == program_.mortal) return; // its death is one step
    threads_[running_]->fiber.pause();
    if (running_ != program_.mortal || choose(2) == 0) return;
    dying_ = true;
    model_.remember(running_, kDying);
    program_.at_death();
    threads_[running_]->dead = true;
    threads_[running_]->fiber.pause();
    std::abort();
  }
  [[nodiscard]] std::size_t self() const { return running_; }
  Model& model() { return model_; }

  // The order that counts at this site: what it asks for, unless it is the weakened one. Null order: it is not there.
  bool order_at(const base::Here& here, Access access, std::memory_order& order) {
    const std::pair<const char*, std::uint64_t> known{here.file_name(),
                                                      (std::uint64_t{here.line()} << 32U) | here.column()};
    Known& site = sites_[known];
    if (!site.looked_up) {
      site.looked_up = true;
      const char* name = std::strrchr(here.file_name(), '/');
      const Site found{name == nullptr ? here.file_name() : name + 1, here.line(), here.column()};
      result_.sites.emplace(found, std::pair(access, order));
      site.weakened = manner_.weakening != nullptr && found == manner_.weakening->site;
    }
    if (!site.weakened) return true;
    order = manner_.weakening->order;
    return !manner_.weakening->removed;
  }

  void block(const void* on) {
    threads_[running_]->blocked_on = on;
    point();
  }
  void unblock(const void* on) {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i]->blocked_on != on) continue;
      threads_[i]->blocked_on = nullptr;
      model_.remember(i, kWoken);
    }
  }

 private:
  struct Thread {
    Fiber fiber;
    const void* blocked_on = nullptr;
    bool dead = false;
    bool took_constants = false;
  };
  struct Choice {
    std::size_t chosen = 0;
    std::size_t count = 0;
  };
  struct Known {
    bool looked_up = false;
    bool weakened = false;
  };

  void execute();
  // To the next list of choices, in order; false when there is none.
  bool next_choices() {
    while (!choices_.empty() && choices_.back().chosen + 1 == choices_.back().count) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().chosen;
    return true;
  }
  void resume(std::size_t thread) {
    running_ = thread;
    threads_[thread]->fiber.resume();
  }

  const Program& program_;
  const Manner manner_;
  Model model_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Choice> choices_;
  std::size_t depth_ = 0; // choices made in this execution
  std::size_t running_ = 0;
  bool ending_ = false;
  bool somebody_gave_up_ = false;
  bool dying_ = false; // the mortal thread is, or is dead
  std::unordered_set<std::uint64_t> seen_;
  std::map<std::pair<const char*, std::uint64_t>, Known> sites_;
  Result result_;
};

Explorer* g_explorer = nullptr; // the one whose program runs

void Explorer::execute() {
  depth_ = 0;
  ending_ = false;
  dying_ = false;
  somebody_gave_up_ = false;
  model_.begin(threads_.size());
  program_.prepare();
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i]->blocked_on = nullptr;
    threads_[i]->dead = false;
    threads_[i]->took_constants = false;
    threads_[i]->fiber.start([this, i] { program_.threads[i](); });
  }
  for (std::size_t i = 0; i < threads_.size() && !ending_; ++i) resume(i); // up to its first step
  const std::size_t repeated = choices_.size();
  std::size_t last = 0;
  while (!ending_) {
    std::array<std::size_t, kMostThreads> ready{};
    std::size_t count = 0;
    bool all_ended = true;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const std::size_t thread = (last + i) % threads_.size(); // whoever ran goes on first
      if (threads_[thread]->fiber.ended() || threads_[thread]->dead) continue;
      all_ended = false;
      if (threads_[thread]->blocked_on == nullptr) ready.at(count++) = thread;
    }
    if (somebody_gave_up_ && count == 0) break;
    if (all_ended) {
      running_ = kNobody;
      try {
        program_.finally();
      } catch (const Ended&) {
      }
      break;
    }
    if (count == 0) {
      result_.violated = true;
      result_.what = "all who are left sleep for ever";
      break;
    }
    // Within the part that is repeated, every state was seen when it was first entered.
    if (manner_.merges_states && depth_ >= repeated && !seen_.insert(model_.state()).second) break;
    last = ready.at(choose(count));
    resume(last);
  }
}

const char* name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_consume: return "consume";
    case std::memory_order_acquire: return "acquire";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    case std::memory_order_seq_cst: return "seq_cst";
  }
  return "?";
}

const char* name_of(Access access) {
  switch (access) {
    case Access::load: return "load";
    case Access::store: return "store";
    case Access::update: return "update";
    case Access::fence: return "fence";
    case Access::compiler_fence: return "compiler fence";
    case Access::barrier_everywhere: return "barrier everywhere";
  }
  return "?";
}

} // namespace

std::string Weakening::text() const {
  return site.file + ":" + std::to_string(site.line) + ":" + std::to_string(site.column) + " " + name_of(access) +
         (removed ? " removed" : std::string(" -> ") + name_of(order));
}

std::vector<Weakening> weakenings(const Site& site, Access access, std::memory_order order) {
  using enum std::memory_order;
  const auto to = [&](std::memory_order weaker) { return Weakening{.site = site, .access = access, .order = weaker}; };
  const Weakening removed{.site = site, .access = access, .order = relaxed, .removed = true};
  switch (access) {
    case Access::load:
      if (order == seq_cst) return {to(acquire)};
      if (order == acquire) return {to(relaxed)};
      return {};
    case Access::store:
      if (order == seq_cst) return {to(release)};
      if (order == release) return {to(relaxed)};
      return {};
    case Access::update:
      if (order == seq_cst) return {to(acq_rel)};
      if (order == acq_rel) return {to(acquire), to(release)};
      if (order != relaxed) return {to(relaxed)};
      return {};
    case Access::fence:
      if (order == seq_cst) return {to(acq_rel), removed};
      return {removed};
    case Access::compiler_fence:
    case Access::barrier_everywhere: return {removed};
  }
  return {};
}

Result explore(const Program& program, const Manner& manner) {
  Explorer explorer(program, manner);
  g_explorer = &explorer;
  Result result = explorer.run();
  g_explorer = nullptr;
  return result;
}

void check(bool sound, const char* what) {
  if (!sound) g_explorer->violated(what);
}

void assume(bool holds) {
  if (!holds) g_explorer->give_up();
}

void post(std::atomic<std::uint32_t>& box, std::uint32_t what) {
  g_explorer->point();
  g_explorer->model().update(g_explorer->self(), &box, sizeof box, std::memory_order_release,
                             [what](std::uint64_t& word) {
                               word += what;
                               return true;
                             });
  g_explorer->unblock(&box);
}

std::uint32_t await(std::atomic<std::uint32_t>& box, std::uint32_t seen) {
  for (;;) {
    g_explorer->point();
    const std::uint64_t found =
        g_explorer->model().newest(g_explorer->self(), &box, sizeof box, std::memory_order_acquire);
    if (found != seen) return static_cast<std::uint32_t>(found);
    g_explorer->block(&box);
  }
}

std::uint64_t in_the_end(const std::atomic<std::uint64_t>& word) {
  return g_explorer->model().last_value(&word, sizeof word);
}

std::uint64_t ModelMemory::load_at(const void* at, std::size_t bytes, std::memory_order order, const base::Here& here) {
  g_explorer->order_at(here, Access::load, order);
  if (g_explorer->model().is_constant(at))
    g_explorer->takes_constant();
  else
    g_explorer->point();
  return g_explorer->model().load(g_explorer->self(), at, bytes, order);
}

void ModelMemory::store_at(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
                           const base::Here& here) {
  g_explorer->order_at(here, Access::store, order);
  g_explorer->point();
  g_explorer->model().store(g_explorer->self(), at, bytes, value, order);
}

std::uint64_t ModelMemory::exchange_at(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
                                       const base::Here& here) {
  g_explorer->order_at(here, Access::update, order);
  g_explorer->point();
  return g_explorer->model().update(g_explorer->self(), at, bytes, order, [value](std::uint64_t& word) {
    word = value;
    return true;
  });
}

std::uint64_t ModelMemory::add_at(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order,
                                  const base::Here& here) {
  g_explorer->order_at(here, Access::update, order);
  g_explorer->point();
  const std::uint64_t mask = bytes == sizeof(std::uint64_t) ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
  return g_explorer->model().update(g_explorer->self(), at, bytes, order, [value, mask](std::uint64_t& word) {
    word = (word + value) & mask;
    return true;
  });
}

bool ModelMemory::compare_exchange(std::uint64_t& word, std::uint64_t& expected, std::uint64_t value,
                                   std::memory_order order, base::Here here) {
  g_explorer->order_at(here, Access::update, order);
  g_explorer->point();
  const std::uint64_t wanted = expected;
  expected =
      g_explorer->model().update(g_explorer->self(), &word, sizeof word, order, [wanted, value](std::uint64_t& found) {
        if (found != wanted) return false;
        found = value;
        return true;
      });
  return expected == wanted;
}

void ModelMemory::fence(std::memory_order order, base::Here here) {
  if (!g_explorer->order_at(here, Access::fence, order)) return;
  if (order == std::memory_order_seq_cst) g_explorer->point();
  g_explorer->model().fence(g_explorer->self(), order);
}

void ModelMemory::compiler_fence(base::Here here) {
  std::memory_order order = std::memory_order_relaxed;
  if (!g_explorer->order_at(here, Access::compiler_fence, order)) return;
  g_explorer->model().compiler_fence(g_explorer->self());
}

bool ModelMemory::barrier_everywhere(base::Here here) {
  std::memory_order order = std::memory_order_relaxed;
  if (!g_explorer->order_at(here, Access::barrier_everywhere, order)) return true;
  g_explorer->point();
  g_explorer->model().barrier_everywhere(g_explorer->self());
  return true;
}

void ModelMemory::wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds) {
  g_explorer->point();
  // The kernel looks after a full barrier, as it wakes after one.
  g_explorer->model().fence(g_explorer->self(), std::memory_order_seq_cst);
  const std::uint64_t found =
      g_explorer->model().newest(g_explorer->self(), &word, sizeof word, std::memory_order_relaxed);
  if (found == value) g_explorer->block(&word);
}

void ModelMemory::wake(std::atomic<std::uint32_t>& word) {
  g_explorer->point();
  g_explorer->model().fence(g_explorer->self(), std::memory_order_seq_cst);
  g_explorer->unblock(&word);
}

void ModelMemory::plain_store(std::byte* to, std::uint64_t value) {
  g_explorer->model().plain_store(g_explorer->self(), to, value);
}

void ModelMemory::copy_in(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, sizeof word);
    plain_store(to + at, word);
  }
}

void ModelMemory::copy_watched(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(std::uint64_t))
    store(base::word_at(to + at), base::read_word<std::uint64_t>(from + at), std::memory_order_relaxed);
}

void ModelMemory::copy_out(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = g_explorer->model().plain_load(g_explorer->self(), from + at);
    std::memcpy(to + at, &word, sizeof word);
  }
}

} // namespace heddle::memory_order

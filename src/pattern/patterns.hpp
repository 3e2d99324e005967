// All patterns of a context, from the first declaration until the last partner has let go.
#pragma once

#include "base/reserve.hpp"
#include "engine/engine.hpp"
#include "engine/swallower.hpp"
#include "pattern/compiler.hpp"
#include "pattern/plan.hpp"
#include "pattern/runner.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::pattern {

class Patterns;

// One pattern. Its calls are those of heddle::Pattern, which say what they mean.
class PlannedPattern {
 public:
  PlannedPattern(Patterns& owner, const PatternOptions& options, std::uint32_t number)
      : owner_(owner), options_(options), number_(number) {}

  Result<Pattern::Item> declare(Declared item);
  Result<Request> compile(Notify notify);
  Result<Request> start(Notify notify);
  Result<void> free();
  // Nobody holds it any more: freed as soon as it can be.
  void abandon();

  [[nodiscard]] const PatternOptions& options() const { return options_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] Request request() const { return request_; }
  [[nodiscard]] bool running() const { return stage_ == Stage::compiling || stage_ == Stage::running; }
  [[nodiscard]] const std::vector<Pattern::Item>& incomplete() const { return incomplete_; }
  [[nodiscard]] const std::string& picture() const { return plan_.picture; }

 private:
  friend class Patterns;
  enum class Stage : std::uint8_t { building, compiling, ready, running, broken, leaving, gone };

  [[nodiscard]] Result<void> check_exposure(const Declared& item) const;
  // One step; true if something has ended.
  bool progress();
  void end_compile();
  void end_round();
  void break_off(Error error);
  // The program's memory is no longer written to.
  void withdraw();
  void give_memory_back();

  Patterns& owner_;
  PatternOptions options_;
  std::uint32_t number_;
  std::uint32_t round_serial_ = 0; // of its meetings between rounds
  Stage stage_ = Stage::building;
  bool abandoned_ = false;
  Plan plan_;
  std::optional<Compiler> compiler_;
  std::optional<Runner> runner_;
  std::optional<Error> error_;
  Request request_;
  std::vector<Pattern::Item> incomplete_;
};

class Patterns final {
 public:
  explicit Patterns(engine::Engine& engine);
  ~Patterns();
  Patterns(const Patterns&) = delete;
  Patterns& operator=(const Patterns&) = delete;

  Result<PlannedPattern*> create(const PatternOptions& options);
  // Returns how many steps were made.
  std::size_t progress() { return busy_.empty() && swallows_.empty() ? 0 : progress_all(); }

 private:
  friend class PlannedPattern;
  void command_ended(std::uint64_t number, ir::Status status);
  std::size_t progress_all();
  void make_busy(PlannedPattern& one);
  // A process has died: patterns that rest come to no meeting any more, but others may not know that yet.
  void forget_memory_of(std::uint32_t rank);
  void peer_died();
  // What others still send of a pattern that a death has ended here is received, into nothing, from now on: whoever has sent
  // it waits for that.
  void swallow(std::uint32_t serial);
  std::uint32_t next_serial() { return ++serials_; }
  [[nodiscard]] std::uint32_t serial_to_come() const { return serials_ + 1; }

  engine::Engine& engine_;
  base::BackedVector<std::unique_ptr<PlannedPattern>> all_; // by number; null: free
  base::BackedVector<PlannedPattern*> busy_; // compiling, running, leaving, or with messages under way; each once
  std::uint32_t serials_ = 0;
  struct Swallow {
    std::uint32_t serial = 0;
    engine::Swallower swallower;
  };
  base::BackedVector<Swallow> swallows_;
};

} // namespace heddle::pattern

// Progress on all that a context owns, and leaving, which makes progress until everything is said. The quick parts are in state.hpp.
#include "api/state.hpp"

#include <algorithm>
#include <new>

namespace heddle {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kPatience = 200'000'000; // ns, before a process that wants to leave asks who has left already

} // namespace

Context::State::~State() {
  if (simulated_ || store_ == nullptr || engine_ == nullptr) return;
  say_last_words();
  static_cast<void>(store_->leave());
}

std::size_t Context::State::progress_all() try {
  std::size_t done = engine_->progress_all();
  done += barriers_->progress() + exchanges_->progress() + patterns_->progress();
  if (done > 0) lookout_->watchdog().moved(); // what follows from it is to be done, too
  return done;
} catch (const std::bad_alloc&) {
  return 0;
}

std::size_t Context::State::progress_told(std::span<const std::uint32_t> writers) try {
  const std::size_t done = engine_->progress_told(writers);
  return done + barriers_->progress() + exchanges_->progress() + patterns_->progress();
} catch (const std::bad_alloc&) {
  return 0;
}

bool Context::State::networks_drained() const {
  return std::ranges::all_of(networks_, [](const ir::Translator* network) { return network->drained(); });
}

bool Context::State::drained() const {
  return !engine_->owes_control_records() && !engine_->holds_commands() && networks_drained();
}

void Context::State::say_last_words() {
  if (!may_block()) return; // it never met the others
  const std::uint64_t begin = base::steady_ns();
  while (!drained() || exchanges_->cut_short() || exchanges_->owes_words() || barriers_->owes_words()) {
    const std::uint64_t now = base::steady_ns();
    // In an open world peers may be contexts of this very thread, and what has not ended is abandoned. What a network holds goes
    // first, since its goodbye stands behind that.
    const bool said = !engine_->owes_control_records() && networks_drained();
    if (is_open() && (said || now - begin >= kSecond)) return;
    // A control record that a peer waits for is written however slow that peer is, unless it is gone, too.
    if (drained() && now - begin >= kSecond) return;
    if (now - begin >= kPatience) lookout_->news().watch_departures();
    sleeper_->pass_time(progress(), now + progress::Lookout::kInterval);
  }
}

void Context::State::peer_failed(std::uint32_t rank) {
  engine_->peer_failed(rank);
}

bool Context::State::peer_left(std::uint32_t rank) {
  // The store's word is not to overtake the peer's own last ones, which travel by another connection.
  const auto tells = [&](const ir::Translator* network) { return network->will_tell_end(ir::Peer{rank}); };
  if (std::ranges::any_of(networks_, tells)) return false;
  engine_->peer_left(rank); // a barrier that it has not reached ends by its own messages
  return true;
}

Result<int> Context::State::descriptor() {
  if (may_block()) return sleeper_->descriptor();
  return std::unexpected(Error{.code = ErrorCode::unsupported,
                               .fact = "a simulated process has no descriptor to sleep on",
                               .remedy = "co_await its waits"});
}

Result<bool> Context::State::ready_to_sleep() {
  if (may_block()) return sleeper_->ready_to_sleep();
  return std::unexpected(descriptor().error());
}

void Context::State::progress_between_quick_calls() {
  progress();
  lookout_->look();
  quick_calls_.made_progress(base::steady_ns());
}

std::string Context::State::waiting_for() {
  return simulated_ ? engine_->waiting_for() : lookout_->watchdog().waiting_for(base::steady_ns());
}

std::string Context::State::waiting_for(const base::Ages& ages, std::uint64_t now_ns) {
  return engine_->waiting_for(&ages, now_ns);
}

} // namespace heddle

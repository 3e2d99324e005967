#include "progress/sleeper.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace heddle::progress {

namespace {

// Rounds that see an own command through, from its post to what follows from its answer.
constexpr int kLastLooks = 4;

} // namespace

// Between announcing and sleeping: whatever came before is seen here, whatever comes later ends the sleep.
bool Sleeper::finds_nothing() try {
  std::size_t done = work_.one_round();
  for (int i = 0; i < kLastLooks && done == 0 && work_.awaits_answers(); ++i) done = work_.one_round();
  return done == 0 && work_.last_look() == 0;
} catch (const std::bad_alloc&) {
  return false;
}

std::uint64_t Sleeper::next_nap() {
  return std::exchange(nap_ns_, std::min(2 * nap_ns_, Lookout::kInterval));
}

void Sleeper::sleep(std::uint64_t end_ns) {
  if (!finds_nothing()) {
    waiter_.cancel();
    return;
  }
  const std::uint64_t longest = work_.must_try_again() ? next_nap() : Lookout::kInterval;
  const std::uint64_t now = base::steady_ns();
  const std::uint64_t left = end_ns > now ? end_ns - now : 0;
  waiter_.sleep(std::chrono::nanoseconds(std::min(left, longest)));
  work_.try_again_now();
  lookout_.look();
}

Result<int> Sleeper::descriptor() {
  if (loop_) return loop_->number();
  std::vector<ir::Sleeping*> sleepers;
  for (ir::Translator* network : networks_)
    if (ir::Sleeping* sleeping = network->facets().sleeping) sleepers.push_back(sleeping);
  loop_hears_store_ = !lookout_.news().lost();
  auto made = LoopDescriptor::create(sleepers, loop_hears_store_ ? lookout_.news().descriptor() : -1);
  if (!made) return std::unexpected(std::move(made.error()));
  loop_ = std::move(*made);
  return loop_->number();
}

Result<bool> Sleeper::ready_to_sleep() {
  if (auto there = descriptor(); !there) return std::unexpected(std::move(there.error()));
  loop_->disarm();
  work_.try_again_now();
  lookout_.look();
  lookout_.news().take(); // at once, since its descriptor stays readable until then
  if (lookout_.news().lost() && std::exchange(loop_hears_store_, false)) loop_->forget(lookout_.news().descriptor());
  if (work_.has_events()) return false;
  const bool certain = loop_->arm() && std::ranges::all_of(networks_, [](ir::Translator* network) {
                         return network->facets().sleeping != nullptr;
                       });
  if (!finds_nothing() || work_.has_events()) {
    loop_->disarm();
    nap_ns_ = kShortestNap;
    return false;
  }
  // Where nothing is under way there is nothing to try again, and the store tells of deaths itself. What a network has sent and nobody
  // has confirmed is its own to look after.
  std::optional<std::chrono::nanoseconds> after;
  if (work_.must_try_again() || !certain)
    after = std::chrono::nanoseconds(next_nap());
  else if (work_.waits_since(~std::uint64_t{0}))
    after = std::chrono::nanoseconds(Lookout::kInterval);
  else
    after = loop_->due();
  loop_->set_timer(after);
  return true;
}

} // namespace heddle::progress

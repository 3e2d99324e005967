#include "onesided/locks/lock_memory.hpp"

namespace heddle::onesided {

namespace {

enum class Whose : std::uint8_t { living, dead, dead_holder, unclear };

// A ticket is claimed after `trying` was set and before it is cleared again. So where an earlier reading, made when the ticket
// was already taken, shows no living process trying, and a later one shows no claim, a dead process has it. It may have held the
// lock: over a network the claim of one that is served at once is still under way when it goes on.
Whose owner_of(std::uint32_t ticket, const LockReading& before, const LockReading& now,
               const std::function<bool(std::uint32_t)>& is_dead) {
  const LockClaim claim = now.claim(ticket);
  if (claim.valid && claim.ticket == ticket) {
    if (!is_dead(claim.rank)) return Whose::living;
    return claim.holds ? Whose::dead_holder : Whose::dead;
  }
  if (before.words.empty()) return Whose::unclear;
  const LockState earlier = before.state();
  if (static_cast<std::int32_t>(earlier.next - ticket) <= 0) return Whose::unclear; // not taken yet then
  for (std::uint32_t rank = 0; rank < now.layout.size; ++rank)
    if (before.at(now.layout.trying(rank)) != 0 && !is_dead(rank)) return Whose::unclear;
  return Whose::dead_holder;
}

} // namespace

LockVerdict judge_lock(const LockReading& before, const LockReading& now, std::uint32_t ticket,
                       const std::function<bool(std::uint32_t)>& is_dead) {
  const std::uint32_t serving = now.state().serving;
  if (serving == ticket) return {.kind = LockVerdict::Kind::mine};
  if (ticket - serving > now.layout.slots())
    return {.kind = LockVerdict::Kind::stay_alert}; // read while it changed, or garbage
  const Whose served = owner_of(serving, before, now, is_dead);
  if (served == Whose::dead || served == Whose::dead_holder)
    return {.kind = LockVerdict::Kind::pass_over,
            .held = served == Whose::dead_holder ||
                    waited_through_death(now.at(LockLayout::kDeaths), serving, now.layout.slots())};
  for (std::uint32_t other = serving; other != ticket; ++other)
    if (owner_of(other, before, now, is_dead) != Whose::living) return {.kind = LockVerdict::Kind::stay_alert};
  return {.kind = LockVerdict::Kind::wait};
}

} // namespace heddle::onesided

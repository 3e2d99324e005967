#include "tests/scenario/member.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::tests {

namespace {

// Labels of accounts; other unsolicited messages count from 0.
constexpr Tag kAccount{std::uint64_t{1} << 63U};

} // namespace

Member::Member(Context& context, const Scenario& scenario, Witness& witness, Journal* journal)
    : role_{.context = context,
            .scenario = scenario,
            .rank = static_cast<std::uint32_t>(context.rank()),
            .witness = witness,
            .journal = journal,
            .fates = std::vector(scenario.peers(), ErrorCode::ok)},
      messages_(role_),
      memory_(role_),
      meetings_(role_) {}

Member::Next Member::step() {
  if (phase_ == Phase::acting) return act();
  for (;;) { // until nothing follows from what was done
    const std::uint64_t noted = role_.noted;
    const Next next = go_on();
    if (next.kind != Next::Kind::wait || role_.noted == noted) return next;
  }
}

Member::Next Member::go_on() {
  look();
  if (phase_ == Phase::completing && completed()) {
    role_.note([] { return "tells what it has done to others' memory"; });
    send_accounts();
    phase_ = Phase::accounting;
  }
  if (phase_ == Phase::accounting && accounted()) phase_ = Phase::closing;
  if (phase_ == Phase::closing && closed()) return {.kind = Next::Kind::done};
  return {.kind = Next::Kind::wait};
}

Member::Next Member::act() {
  const auto& actions = role_.scenario.actions[role_.rank];
  if (next_ == actions.size()) {
    phase_ = Phase::completing;
    return {.kind = Next::Kind::go_on};
  }
  const Action& action = actions[next_++];
  switch (action.deed) {
    case Deed::pause: return {.kind = Next::Kind::pause, .ns = action.ns};
    case Deed::compute:
      role_.note([&] { return "computes for " + std::to_string(action.ns) + " ns"; });
      return {.kind = Next::Kind::compute, .ns = action.ns};
    case Deed::look: look(); break;
    case Deed::meet: meetings_.start_next(action.event != 0); break;
    case Deed::push:
    case Deed::pull:
    case Deed::mcast:
    case Deed::atomic:
    case Deed::lock:
    case Deed::close: memory_.act(action); break;
    case Deed::send:
    case Deed::unsolicited:
    case Deed::receive:
    case Deed::probe:
    case Deed::reserve:
    case Deed::take:
    case Deed::cancel:
    case Deed::release: messages_.act(action); break;
  }
  return {.kind = Next::Kind::go_on};
}

void Member::look() {
  std::array<Event, 16> events;
  while (const std::size_t count = role_.context.poll(events))
    for (std::size_t i = 0; i < count; ++i) take(events[i]);
  messages_.collect();
  memory_.collect();
  meetings_.collect();
}

void Member::take(const Event& event) {
  const auto peer = static_cast<std::uint32_t>(event.completion.peer);
  switch (event.kind) {
    case Event::Kind::sent:
    case Event::Kind::received:
    case Event::Kind::unsolicited_left: return messages_.ended(event);
    case Event::Kind::barrier_passed:
    case Event::Kind::exchanged:
    case Event::Kind::pattern_ended: return meetings_.ended(event);
    case Event::Kind::pushed: return memory_.signalled(event);
    case Event::Kind::peer_failed: return told(peer, true);
    case Event::Kind::peer_left: return told(peer, false);
    case Event::Kind::connection_lost: role_.complain("a connection is said to be lost");
    case Event::Kind::one_sided_ended: role_.complain("an operation is said to have ended that nobody began");
    case Event::Kind::unsolicited_arrived: break;
  }
  if (event.completion.tag != kAccount) return messages_.arrived(event);
  Account account;
  role_.demand(event.unsolicited.bytes == sizeof account && !memory_.has_account(peer), "an account makes no sense");
  std::memcpy(&account, event.unsolicited.data, sizeof account);
  role_.note([&] { return "hears what rank " + std::to_string(peer) + " has done to its memory"; });
  memory_.take_account(peer, account);
  role_.context.release(event.unsolicited);
}

void Member::told(std::uint32_t rank, bool died) {
  role_.note([&] { return "is told that rank " + std::to_string(rank) + (died ? " died" : " left"); });
  role_.demand(died ? role_.scenario.dies(rank) : role_.scenario.goes(rank) && !role_.scenario.dies(rank),
               [&] { return "rank " + std::to_string(rank) + " is said to have " + (died ? "died" : "left"); });
  role_.demand(role_.fates[rank] == ErrorCode::ok,
               [&] { return "rank " + std::to_string(rank) + " is said twice to be gone"; });
  role_.fates[rank] = died ? ErrorCode::peer_failed : ErrorCode::peer_left;
}

bool Member::completed() {
  while (!meetings_.all_started()) meetings_.start_next(false);
  const bool leaves = role_.scenario.leaves[role_.rank];
  messages_.ask_for_missing();
  if (!messages_.own_ended() || !memory_.own_ended() || !meetings_.all_ended()) return false;
  if (leaves) return true;
  if (role_.scenario.dies(role_.rank) || messages_.missing() > 0) return false;
  for (std::uint32_t rank = 0; rank < role_.scenario.peers(); ++rank)
    if (rank != role_.rank && role_.scenario.dies(rank) && role_.fates[rank] == ErrorCode::ok)
      return false; // of one that left: at the end
  return true;
}

void Member::send_accounts() {
  const auto& actions = role_.scenario.actions[role_.rank];
  accounts_out_.resize(role_.scenario.peers());
  for (std::uint32_t rank = 0; rank < role_.scenario.peers(); ++rank) {
    if (rank == role_.rank) {
      memory_.take_account(rank, memory_.account_for(rank));
      continue;
    }
    if (!Memory::concerns(actions, rank)) continue;
    accounts_out_[rank] = memory_.account_for(rank);
    const auto request =
        role_.context.send_unsolicited(Rank{rank}, kAccount, ConstLayout(&accounts_out_[rank], sizeof(Account)));
    role_.demand(request || role_.may_end(rank, request.error().code), "an account cannot be sent");
    if (request) accounts_under_way_.push_back(*request);
  }
}

bool Member::accounts_are_sent() const {
  return std::ranges::all_of(accounts_under_way_, [](Request request) { return request.name == 0; });
}

bool Member::accounted() {
  for (Request& request : accounts_under_way_) {
    if (request.name == 0) continue;
    if (const auto completion = role_.context.test(request)) {
      role_.demand(role_.may_end(static_cast<std::uint32_t>(completion->peer), completion->code),
                   "an account was lost");
      request = {};
    }
  }
  if (!accounts_are_sent()) return false;
  if (role_.scenario.leaves[role_.rank]) return true;
  for (std::uint32_t rank = 0; rank < role_.scenario.peers(); ++rank) {
    if (!role_.scenario.dies(rank) && !memory_.has_account(rank)) return false;
  }
  return memory_.signals_complete();
}

bool Member::closed() {
  if (!messages_.wind_up()) return false;
  if (role_.scenario.leaves[role_.rank]) {
    messages_.check();
    meetings_.forget();
    memory_.close_all();
    return true;
  }
  if (!areas_closed_) {
    messages_.check();
    memory_.check();
    meetings_.check();
    memory_.close_all();
    areas_closed_ = true;
  }
  for (const auto& figure : role_.context.figures()) // what the library fetches by itself ends with its last command
    if (figure.name == "operations under way" && figure.value > 0) return false;
  for (std::uint32_t rank = 0; rank < role_.scenario.peers(); ++rank)
    if (rank != role_.rank && role_.scenario.goes(rank) && role_.fates[rank] == ErrorCode::ok) return false;
  check_figures();
  return true;
}

void Member::check_figures() const {
  std::uint64_t ring_bytes = 0;
  std::uint32_t others = 0; // that are still here
  for (std::uint32_t rank = 0; rank < role_.scenario.peers(); ++rank)
    others += rank != role_.rank && !role_.scenario.goes(rank) ? 1U : 0U;
  for (const auto& figure : role_.context.figures()) {
    const bool must_be_none = figure.name == "operations under way" || figure.name == "receives posted" ||
                              figure.name == "messages not received" ||
                              (figure.name == "unsolicited memory bytes" && !messages_.more_may_come());
    role_.demand(!must_be_none || figure.value == 0, [&] { return figure.name + ": " + std::to_string(figure.value); });
    if (figure.name == "ring memory bytes") ring_bytes = figure.value;
    // Of those that are gone none is left: its own, a shared one, and for each of the others one with its mirror.
    role_.demand(figure.name != "ring memory bytes" ||
                     figure.value <= (3 + 2 * others) * *role_.scenario.setup.options.ring_bytes,
                 "rings of those that are gone were not given back");
    role_.demand(figure.name != "ring memory limit bytes" || ring_bytes <= figure.value, "ring memory is exceeded");
    // News of a death that a collective brings may be there.
    role_.demand(figure.name != "bytes of unexpected messages" || figure.value == 0 || messages_.more_may_come() ||
                     (role_.scenario.anyone_goes() && !role_.scenario.meetings.empty()),
                 "bytes of messages are left");
  }
}

std::string Member::waits_for() const {
  constexpr std::array kPhases = {"acts", "waits for its operations and messages", "waits for accounts and signals",
                                  "gives everything back"};
  return "rank " + std::to_string(role_.rank) + " " + kPhases[static_cast<std::size_t>(phase_)] + "; missing " +
         std::to_string(messages_.missing()) + " messages; " + role_.context.waiting_for();
}

} // namespace heddle::tests

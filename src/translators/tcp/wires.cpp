// Connections: how they are made, and who is let in. How they end is in endings.cpp.
#include "net/sockets.hpp"
#include "translators/tcp/tcp.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace heddle::translators {

using tcp::Newcomer;
using tcp::Verdict;
using tcp::Wire;
using tcp::WireState;

namespace {

constexpr std::chrono::seconds kPatience{10};
// In an open world nobody else tells that a peer has died and its port is somebody else's, who says nothing.
constexpr std::chrono::seconds kLongestAway{60};
constexpr std::uint64_t kPollsPerClock = 8; // a program may poll ten times a second
// Tells a newcomer from a wire in what the system brings back.
constexpr std::uintptr_t kNewcomer = 1;

bool is_being_made(WireState state) {
  return state == WireState::connecting || state == WireState::proving || state == WireState::greeting;
}

// Reads on towards `whole`. True when it is there; ended: the connection is over.
bool read_up_to(int socket, std::span<std::byte> whole, std::size_t& have, bool& ended) {
  iovec rest{.iov_base = whole.data() + have, .iov_len = whole.size() - have};
  const std::ptrdiff_t got = net::receive_some(socket, {&rest, 1});
  ended = got < 0;
  if (got > 0) have += static_cast<std::size_t>(got);
  return have == whole.size();
}

} // namespace

Wire& Tcp::wire_of(std::uint64_t id) {
  if (const auto known = wires_.find(id); known != wires_.end()) return *known->second;
  auto wire = std::make_unique<Wire>(waiting_in_all_);
  wire->id = id;
  return *wires_.emplace(id, std::move(wire)).first->second;
}

bool Tcp::watch(Wire& wire, std::uint32_t events) {
  epoll_event wanted{.events = events, .data = {.ptr = &wire}};
  wire.unwatched =
      ::epoll_ctl(poller_.number(), EPOLL_CTL_MOD, wire.socket.number(), &wanted) != 0 &&
      (errno != ENOENT || ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, wire.socket.number(), &wanted) != 0);
  return !wire.unwatched;
}

Result<void> Tcp::connect(Wire& wire) {
  auto socket = net::begin_connect(wire.place.endpoint, source_of(wire));
  if (!socket) return std::unexpected(std::move(socket.error()));
  wire.socket = std::move(*socket);
  wire.state = WireState::connecting;
  wire.deadline = Clock::now() + (wire.broke ? Clock::duration(listening_.silence) : Clock::duration(kPatience));
  if (!watch(wire, EPOLLIN | EPOLLOUT)) {
    const int reason = errno;
    close_socket(wire);
    return std::unexpected(Error{.code = ErrorCode::out_of_descriptors,
                                 .fact = "the system watches no further connection",
                                 .remedy = "raise the limit on watches (sysctl fs.epoll.max_user_watches)",
                                 .system_code = reason});
  }
  if (net::connect_error(wire.socket.number()) == 0) prove(wire);
  return {};
}

void Tcp::prove(Wire& wire) {
  if (wire.state == WireState::connecting) {
    wire.introduction =
        std::make_unique<auth::Introduction>(auth::Introduction::Role::calls, listening_.secret, tcp::kService);
    wire.state = WireState::proving;
    wire.deadline = is_open_world() ? Clock::now() + kLongestAway : Clock::time_point::max();
    net::keep_asking(wire.socket.number(), listening_.silence);
    watch(wire, EPOLLIN);
  }
  switch (wire.introduction->advance(wire.socket.number())) {
    case auth::Introduction::State::goes_on: return;
    case auth::Introduction::State::proven: return say_hello(wire);
    case auth::Introduction::State::failed: break;
  }
  wire.has_left = wire.introduction->declined();
  if (wire.has_left || wire.introduction->broke_off()) return end_wire(wire);
  turned_away(wire, wire.introduction->reason());
}

void Tcp::turned_away(Wire& wire, const std::string& why) {
  try {
    log_.warning("no connection to " + wire.place.endpoint.text() + ": " + why);
  } catch (const std::bad_alloc&) { // the end of it is told in any case
  }
  if (wire.first != nullptr) return end_wire(wire); // one fewer, then
  // A process that is part of this job, or was connected, would not: it has died, and somebody else has its port. In an open world it
  // may be one that has another secret.
  const bool was_known = wire.broke || !is_open_world();
  let_go_of_socket(wire);
  settle(wire, was_known ? ir::EventKind::peer_failed : ir::EventKind::connection_lost);
}

void Tcp::say_hello(Wire& wire) {
  wire.introduction.reset();
  wire.attempt = wire.first == nullptr ? ++attempts_ : wire.first->attempt;
  tcp::Hello hello{.id = self_.id,
                   .wanted = wire.id,
                   .attempt = wire.attempt,
                   .lane = wire.lane,
                   .listens = tcp::Listener::at(self_.endpoint)};
  iovec whole{.iov_base = &hello, .iov_len = sizeof hello};
  net::send_some(wire.socket.number(), {&whole, 1}); // the first bytes of a connection: there is room
  wire.state = WireState::greeting;
  wire.answered = 0;
}

void Tcp::read_answer(Wire& wire) {
  bool ended = false;
  if (!read_up_to(wire.socket.number(), wire.answer, wire.answered, ended)) {
    if (ended) end_wire(wire);
    return;
  }
  tcp::Welcome welcome;
  std::memcpy(&welcome, wire.answer.data(), sizeof welcome);
  if (welcome.verdict == Verdict::welcome) {
    if (wire.first != nullptr) return opened(wire);
    wire.void_attempts = welcome.given_up;
    wire.told_attempt = 0;
    opened(wire);
    if (wire.state == WireState::open) call_lanes(wire, welcome);
    return;
  }
  if (wire.first != nullptr) return end_wire(wire);
  if (welcome.verdict == Verdict::crossing) {
    unwatch(wire);
    wire.socket.reset();
    wire.state = WireState::awaiting;
    wire.deadline = Clock::now() + kPatience;
    return;
  }
  if (welcome.verdict == Verdict::leaves) {
    wire.has_left = true;
    return end_wire(wire);
  }
  turned_away(wire,
              welcome.verdict == Verdict::another ? "another process listens there now" : "its answer is no answer");
}

void Tcp::opened(Wire& wire) {
  wire.state = WireState::open;
  wire.tries = 0;
  wire.watched_for_room = false;
  // First: what has come in is watched as a newcomer until then.
  const bool watched = watch(wire, EPOLLIN);
  if (wire.broke) {
    settle(wire, ir::EventKind::connection_lost);
    wire.held = true;
    held_.push_back(&wire);
  }
  net::hurry_if_local(wire.socket.number());
  net::keep_asking(wire.socket.number(), listening_.silence);
  if (!watched) return end_wire(wire); // nobody would hear it
  flush(wire);
}

// --- who connects here ---

void Tcp::admit() {
  for (const auto& door : doors_) {
    for (base::Descriptor& socket : door->admit()) {
      Newcomer& newcomer = newcomers_.emplace_back(std::move(socket));
      newcomer.deadline = Clock::now() + kPatience;
      epoll_event wanted{
          .events = EPOLLIN,
          .data = {.ptr = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&newcomer) | kNewcomer)}};
      newcomer.unwatched = ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, newcomer.socket.number(), &wanted) != 0;
    }
  }
}

Verdict Tcp::judge(const tcp::Hello& hello) {
  const bool of_job = is_open_world() || (hello.id >= 1 && hello.id <= size_);
  if (hello.wanted != self_.id || hello.id == 0 || hello.id == self_.id || !of_job) return Verdict::another;
  const auto known = wires_.find(hello.id);
  const bool connects_too = known != wires_.end() && is_being_made(known->second->state);
  return connects_too && self_.id < hello.id ? Verdict::crossing : Verdict::welcome;
}

bool Tcp::hear(Newcomer& newcomer) {
  bool ended = false;
  if (!read_up_to(newcomer.socket.number(), newcomer.hello, newcomer.heard, ended)) return ended;
  tcp::Hello hello;
  std::memcpy(&hello, newcomer.hello.data(), sizeof hello);
  if (hello.lane != 0) return hear_lane(newcomer, hello);
  const auto known = wires_.find(hello.id);
  if (known != wires_.end() && hello.attempt <= std::max(known->second->void_attempts, known->second->told_attempt))
    return true; // its own side has given it up
  tcp::Welcome welcome{.verdict = judge(hello), .given_up = known == wires_.end() ? 0 : known->second->attempt};
  for (std::size_t i = 1; i < doors_.size(); ++i) welcome.further[i - 1] = tcp::Listener::at(doors_[i]->endpoint());
  if (welcome.verdict == Verdict::welcome) wire_of(hello.id); // what may lack memory comes before it is welcomed
  iovec whole{.iov_base = &welcome, .iov_len = sizeof welcome};
  net::send_some(newcomer.socket.number(), {&whole, 1});
  if (welcome.verdict != Verdict::welcome) return true;
  Wire& wire = wire_of(hello.id);
  let_go_of_socket(wire); // of an open one the other end is gone, and the peer lives
  if (wire.place.endpoint.port == 0) wire.place.endpoint = hello.listens.endpoint();
  wire.told_attempt = hello.attempt;
  take_over(wire, newcomer);
  return true;
}

void Tcp::take_over(Wire& wire, Newcomer& newcomer) {
  wire.socket = std::move(newcomer.socket);
  opened(wire);
}

template <typename Over>
void Tcp::forget_newcomers(Over&& over) {
  newcomers_.remove_if([&](Newcomer& newcomer) {
    if (!over(newcomer)) return false;
    if (newcomer.socket.open()) ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, newcomer.socket.number(), nullptr);
    return true;
  });
}

// --- what comes to pass ---

void Tcp::look_at_clock() {
  if (polls_ % kPollsPerClock != 0 && !slept_) return;
  slept_ = false;
  const Clock::time_point now = Clock::now();
  const auto part = look_round_.next(now, wires_.bucket_count());
  for (std::size_t bucket = part.begin; bucket < part.end; ++bucket)
    for (auto each = wires_.begin(bucket); each != wires_.end(bucket); ++each) {
      Wire& wire = *each->second;
      if (wire.state == WireState::idle && wire.broke) find_out(wire); // there was no memory to
      for_each_lane(wire, [&](Wire& lane) { look_at_clock(lane, now); });
    }
  if (!part.is_last) return;
  // One that has said all was not heard for lack of memory; of one that is not watched nobody tells.
  forget_newcomers([&](Newcomer& newcomer) {
    return newcomer.deadline < now || ((newcomer.has_said_all() || newcomer.unwatched) && hear(newcomer));
  });
  std::erase_if(wires_, [](const auto& each) {
    const Wire& wire = *each.second;
    const auto rests = [](const Wire& one) { return one.state == WireState::idle && !one.listed; };
    return rests(wire) && !wire.number && wire.stays.empty() && !wire.held &&
           std::ranges::all_of(wire.lanes, [&](const auto& lane) { return rests(*lane); });
  });
}

// Whose machine has taken the call, and answers, may take its time: its process computes, or is stopped.
void Tcp::look_at_clock(Wire& wire, Clock::time_point now) {
  wire.out.give_back();
  switch (wire.state) {
    case WireState::idle:
    case WireState::draining: return;
    case WireState::connecting:
      if (now >= wire.deadline) give_up(wire);
      return;
    case WireState::proving:
    case WireState::greeting:
      if (now >= wire.deadline || net::is_silent(wire.socket.number(), listening_.silence)) give_up(wire);
      return;
    case WireState::open:
      if (net::is_silent(wire.socket.number(), listening_.silence)) give_up(wire);
      return;
    case WireState::awaiting:
      if (now >= wire.deadline) end_wire(wire); // whether it lives is to be found out
      return;
  }
}

void Tcp::epoll_pass() {
  std::array<epoll_event, 32> ready{};
  const int count = ::epoll_wait(poller_.number(), ready.data(), static_cast<int>(ready.size()), 0);
  if (count > 0) idle_polls_ = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    const auto tag = reinterpret_cast<std::uintptr_t>(event.data.ptr);
    try {
      if (tag == 0) {
        admit();
      } else if ((tag & kNewcomer) != 0) {
        auto* newcomer = reinterpret_cast<Newcomer*>(tag & ~kNewcomer);
        if (hear(*newcomer)) forget_newcomers([&](const Newcomer& each) { return &each == newcomer; });
      } else {
        auto& wire = *static_cast<Wire*>(event.data.ptr);
        handle(wire);
        if (wire.state == WireState::open && !wire.pair().held) choose_hot(wire, count == 1);
      }
    } catch (const std::bad_alloc&) { // the system tells of it again
    }
  }
}

void Tcp::handle(Wire& wire) {
  switch (wire.state) {
    case WireState::connecting:
      if (const int error = net::connect_error(wire.socket.number()); error == 0)
        prove(wire);
      else if (net::is_passing(error))
        end_wire(wire);
      else if (error != EINPROGRESS) {
        give_up(wire);
      }
      break;
    case WireState::proving: prove(wire); break;
    case WireState::greeting: read_answer(wire); break;
    case WireState::open:
      if (!wire.pair().held) read(wire);
      break;
    case WireState::idle:
    case WireState::draining:
    case WireState::awaiting: break;
  }
}

} // namespace heddle::translators

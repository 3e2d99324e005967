// Connections: how they are made, who is let in, and how they end.
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
constexpr std::uint64_t kPollsPerClock = 256;
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr int kTriesAfterBreak = 64;
// Tells a newcomer from a wire in what the system brings back.
constexpr std::uintptr_t kNewcomer = 1;

bool is_being_made(WireState state) {
  return state == WireState::connecting || state == WireState::proving || state == WireState::greeting;
}

// A connection that could not be made, and may be the next time.
bool is_passing(int error) {
  return error == ECONNRESET || error == ECONNABORTED || error == EPIPE || error == ENOTCONN;
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
  auto& wire = wires_[id];
  if (wire == nullptr) {
    wire = std::make_unique<Wire>();
    wire->id = id;
  }
  return *wire;
}

void Tcp::watch(Wire& wire, std::uint32_t events) {
  epoll_event wanted{.events = events, .data = {.ptr = &wire}};
  if (::epoll_ctl(poller_.number(), EPOLL_CTL_MOD, wire.socket.number(), &wanted) != 0 && errno == ENOENT)
    ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, wire.socket.number(), &wanted);
  wire.unwatched = false;
}

Result<void> Tcp::connect(Wire& wire) {
  auto socket = net::begin_connect(wire.place.endpoint);
  if (!socket) return std::unexpected(std::move(socket.error()));
  wire.socket = std::move(*socket);
  wire.state = WireState::connecting;
  wire.deadline = Clock::now() + (wire.broke ? Clock::duration(listening_.silence) : Clock::duration(kPatience));
  watch(wire, EPOLLIN | EPOLLOUT);
  if (net::connect_error(wire.socket.number()) == 0) prove(wire);
  return {};
}

void Tcp::prove(Wire& wire) {
  if (wire.state == WireState::connecting) {
    wire.state = WireState::proving;
    wire.introduction =
        std::make_unique<auth::Introduction>(auth::Introduction::Role::calls, listening_.secret, tcp::kService);
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
  log_.warning("no connection to " + wire.place.endpoint.text() + ": " + why);
  let_go_of_socket(wire);
  settle(wire, ir::EventKind::peer_failed);
}

void Tcp::say_hello(Wire& wire) {
  wire.introduction.reset();
  wire.attempt = ++attempts_;
  tcp::Hello hello{.id = self_.id, .wanted = wire.id, .attempt = wire.attempt, .port = self_.endpoint.port};
  std::memcpy(hello.host.data(), &self_.endpoint.host, hello.host.size());
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
    wire.void_attempts = welcome.given_up;
    return opened(wire);
  }
  if (welcome.verdict == Verdict::crossing) {
    wire.socket.reset();
    wire.state = WireState::awaiting;
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
  if (wire.broke) {
    settle(wire, ir::EventKind::connection_lost);
    wire.held = true;
    held_.push_back(&wire);
  }
  wire.watched_for_room = false;
  net::hurry_if_local(wire.socket.number());
  net::keep_asking(wire.socket.number(), listening_.silence);
  watch(wire, EPOLLIN);
  flush(wire);
}

// --- who connects here ---

void Tcp::admit() {
  for (base::Descriptor& socket : door_->admit()) {
    Newcomer& newcomer = newcomers_.emplace_back(std::move(socket));
    newcomer.deadline = Clock::now() + kPatience;
    epoll_event wanted{
        .events = EPOLLIN,
        .data = {.ptr = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&newcomer) | kNewcomer)}};
    ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, newcomer.socket.number(), &wanted);
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
  const auto known = wires_.find(hello.id);
  if (known != wires_.end() && hello.attempt <= known->second->void_attempts) return true;
  tcp::Welcome welcome{.verdict = judge(hello), .given_up = known == wires_.end() ? 0 : known->second->attempt};
  iovec whole{.iov_base = &welcome, .iov_len = sizeof welcome};
  net::send_some(newcomer.socket.number(), {&whole, 1});
  if (welcome.verdict != Verdict::welcome) return true;
  Wire& wire = wire_of(hello.id);
  let_go_of_socket(wire); // of an open one the other end is gone, and the peer lives
  if (wire.place.endpoint.port == 0) {
    wire.place.endpoint.port = static_cast<std::uint16_t>(hello.port);
    std::memcpy(&wire.place.endpoint.host, hello.host.data(), hello.host.size());
  }
  wire.socket = std::move(newcomer.socket);
  ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, wire.socket.number(), nullptr);
  opened(wire);
  return true;
}

// --- the end ---

void Tcp::tell_end(Wire& wire, std::uint64_t stay, bool left) {
  events_.push({.kind = left ? ir::EventKind::peer_left : ir::EventKind::peer_failed,
                .status = left ? ir::Status::peer_left : ir::Status::peer_lost,
                .peer = ir::kByUid,
                .cookie = stay,
                .value = wire.id});
}

void Tcp::let_go_of_socket(Wire& wire) {
  if (wire.state == WireState::open) { // what was under way is lost
    wire.out.clear();
    wire.gets.clear();
    wire.in = {};
    wire.broke = true;
  }
  wire.socket.reset();
  wire.introduction.reset();
  wire.state = WireState::idle;
  wire.unwatched = false;
  wire.gathers = false;
  wire.must_confirm = false;
  if (hot_ == &wire) hot_ = nullptr;
}

void Tcp::end_wire(Wire& wire) {
  let_go_of_socket(wire);
  if (wire.has_left)
    settle(wire, ir::EventKind::peer_left);
  else
    find_out(wire);
}

// Whoever has died listens no more. A process that is about to may still let somebody in, and a connection may break while it is
// made: so one that is closed is not enough.
Result<void> Tcp::connect_again(Wire& wire) {
  Result<void> begun = std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "the connection broke too often"});
  while (!begun && wire.tries < kTriesAfterBreak) {
    ++wire.tries;
    begun = connect(wire);
    if (!begun && !is_passing(begun.error().system_code)) break;
  }
  return begun; // what becomes of it is found out there
}

void Tcp::find_out(Wire& wire) {
  if (!connect_again(wire)) settle(wire, ir::EventKind::peer_failed);
}

void Tcp::settle(Wire& wire, ir::EventKind kind) {
  const ir::Status status = kind == ir::EventKind::peer_left     ? ir::Status::peer_left
                            : kind == ir::EventKind::peer_failed ? ir::Status::peer_lost
                                                                 : ir::Status::connection_lost;
  const auto commands_end = [&] {
    wire.out.clear();
    end_asked(wire, status);
    wire.asked.clear();
    wire.asked_count = 0;
  };
  const bool lost = kind == ir::EventKind::connection_lost;
  if (!lost) commands_end(); // otherwise after the event, as its declaration says
  wire.has_left = false;
  wire.broke = false;
  wire.tries = 0;
  // A peer that lives and has a number here attaches anew when it wants to; of others, what they had attached is over.
  const auto stays = std::exchange(wire.stays, {});
  if (!lost || !wire.number)
    for (const std::uint64_t stay : stays) tell_end(wire, stay, kind != ir::EventKind::peer_failed);
  if (wire.number || !is_open_world()) {
    const ir::Peer peer = wire.number ? *wire.number : ir::Peer{static_cast<std::uint32_t>(wire.id - 1)};
    if (wire.number) {
      attached_.erase(static_cast<std::uint32_t>(peer));
      gone_[static_cast<std::uint32_t>(peer)] = status;
      wire.number.reset();
    }
    events_.push({.kind = kind, .status = status, .peer = peer});
  }
  if (lost) commands_end();
}

void Tcp::release_held() {
  for (Wire* wire : std::exchange(held_, {})) {
    wire->held = false;
    if (wire->state == WireState::open) handle(*wire);
  }
}

void Tcp::look_at_clock() {
  if (polls_ % kPollsPerClock != 0) return;
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  newcomers_.remove_if([&](const Newcomer& newcomer) { return newcomer.deadline < now; });
  for (auto& [id, wire] : wires_) {
    if (wire->state == WireState::open ? !net::is_silent(wire->socket.number(), listening_.silence)
                                       : wire->state == WireState::idle || now < wire->deadline)
      continue;
    let_go_of_socket(*wire);
    settle(*wire, ir::EventKind::peer_failed);
  }
  std::erase_if(wires_, [](const auto& each) {
    const Wire& wire = *each.second;
    return wire.state == WireState::idle && !wire.number && wire.stays.empty() && !wire.listed;
  });
}

void Tcp::epoll_pass() {
  std::array<epoll_event, 32> ready{};
  const int count = ::epoll_wait(poller_.number(), ready.data(), static_cast<int>(ready.size()), 0);
  if (count > 0) idle_polls_ = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    const auto tag = reinterpret_cast<std::uintptr_t>(event.data.ptr);
    if (tag == 0) {
      admit();
    } else if ((tag & kNewcomer) != 0) {
      auto* newcomer = reinterpret_cast<Newcomer*>(tag & ~kNewcomer);
      if (hear(*newcomer)) newcomers_.remove_if([&](const Newcomer& each) { return &each == newcomer; });
    } else {
      auto& wire = *static_cast<Wire*>(event.data.ptr);
      handle(wire);
      if (wire.state == WireState::open && !wire.held) choose_hot(wire, count == 1);
    }
  }
}

void Tcp::handle(Wire& wire) {
  switch (wire.state) {
    case WireState::connecting:
      if (const int error = net::connect_error(wire.socket.number()); error == 0)
        prove(wire);
      else if (is_passing(error))
        end_wire(wire);
      else if (error != EINPROGRESS) {
        let_go_of_socket(wire);
        settle(wire, ir::EventKind::peer_failed);
      }
      break;
    case WireState::proving: prove(wire); break;
    case WireState::greeting: read_answer(wire); break;
    case WireState::open:
      if (!wire.held) read(wire);
      break;
    case WireState::idle:
    case WireState::awaiting: break;
  }
}

} // namespace heddle::translators

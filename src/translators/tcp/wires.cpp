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
}

Result<void> Tcp::connect(Wire& wire) {
  auto socket = net::begin_connect(wire.place.endpoint);
  if (!socket) return std::unexpected(std::move(socket.error()));
  wire.socket = std::move(*socket);
  wire.state = WireState::connecting;
  wire.deadline = Clock::now() + kPatience;
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
  if (wire.has_left) return end_wire(wire);
  turned_away(wire, wire.introduction->reason());
}

void Tcp::turned_away(Wire& wire, const std::string& why) {
  log_.warning("no connection to " + wire.place.endpoint.text() + ": " + why);
  end_wire(wire);
}

void Tcp::say_hello(Wire& wire) {
  wire.introduction.reset();
  wire.attempt = ++attempts_;
  tcp::Hello hello{.id = self_.id, .wanted = wire.id, .attempt = wire.attempt};
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
  wire.watched_for_room = false;
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
  if (wire.state == WireState::open) end_wire(wire); // it has another now
  wire.introduction.reset();
  wire.socket = std::move(newcomer.socket);
  ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, wire.socket.number(), nullptr);
  wire.in = {};
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

void Tcp::end_wire(Wire& wire) {
  const bool left = wire.has_left;
  const ir::Status status = left ? ir::Status::peer_left : ir::Status::peer_lost;
  wire.socket.reset();
  wire.introduction.reset();
  wire.state = WireState::idle;
  wire.out.clear();
  wire.gets.clear();
  end_asked(wire, status);
  wire.asked.clear();
  wire.asked_count = 0;
  wire.in = {};
  wire.has_left = false;
  for (const std::uint64_t stay : std::exchange(wire.stays, {})) tell_end(wire, stay, left);
  if (hot_ == &wire) hot_ = nullptr;
  if (!wire.number && is_open_world()) return;
  const ir::Peer peer = wire.number ? *wire.number : ir::Peer{static_cast<std::uint32_t>(wire.id - 1)};
  if (wire.number) {
    attached_.erase(static_cast<std::uint32_t>(peer));
    gone_[static_cast<std::uint32_t>(peer)] = status;
    wire.number.reset();
  }
  events_.push({.kind = left ? ir::EventKind::peer_left : ir::EventKind::peer_failed, .status = status, .peer = peer});
}

void Tcp::look_at_clock() {
  if (polls_ % kPollsPerClock != 0) return;
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  newcomers_.remove_if([&](const Newcomer& newcomer) { return newcomer.deadline < now; });
  for (auto& [id, wire] : wires_)
    if (wire->state == WireState::open ? net::is_silent(wire->socket.number(), listening_.silence)
                                       : wire->state != WireState::idle && wire->deadline < now)
      end_wire(*wire);
  std::erase_if(wires_, [](const auto& each) {
    const Wire& wire = *each.second;
    return wire.state == WireState::idle && !wire.number && wire.stays.empty() && !wire.listed;
  });
}

void Tcp::epoll_pass() {
  std::array<epoll_event, 32> ready{};
  const int count = ::epoll_wait(poller_.number(), ready.data(), static_cast<int>(ready.size()), 0);
  hot_ = nullptr;
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
    }
  }
}

void Tcp::handle(Wire& wire) {
  switch (wire.state) {
    case WireState::connecting:
      if (const int error = net::connect_error(wire.socket.number()); error == 0)
        prove(wire);
      else if (error != EINPROGRESS)
        end_wire(wire);
      break;
    case WireState::proving: prove(wire); break;
    case WireState::greeting: read_answer(wire); break;
    case WireState::open:
      hot_ = &wire;
      read(wire);
      break;
    case WireState::idle:
    case WireState::awaiting: break;
  }
}

} // namespace heddle::translators

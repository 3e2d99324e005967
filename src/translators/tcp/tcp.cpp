#include "translators/tcp/tcp.hpp"

#include "base/refusal.hpp"
#include "net/interfaces.hpp"
#include "net/sockets.hpp"
#include "translators/register_entry.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

namespace heddle::translators {

using tcp::Wire;
using tcp::WireState;

template Entry entry_of<Tcp>();

namespace {

constexpr std::size_t kBuffer = 256 << 10;
// What one peer may have waiting here: then commands to it are not taken.
constexpr std::size_t kMostWaiting = 1 << 20;
// How long it waits when it leaves for peers that do not read. In an open world they may be of this very thread.
constexpr std::chrono::milliseconds kFarewell{1'000};
constexpr std::chrono::milliseconds kFarewellOfJob{10'000};
constexpr std::chrono::milliseconds kLongestPause{32};
constexpr const char* kOpenUp = "give all processes one secret (HEDDLE_SECRET), and an interface in option tcp.network";

std::uint32_t number_of(ir::Peer peer) {
  return static_cast<std::uint32_t>(peer);
}

} // namespace

Result<std::unique_ptr<Tcp>> Tcp::create(const Setup& setup) {
  AreaKeys keys = AreaKeys::secret();
  tcp::Place self{.endpoint = {},
                  .id = setup.uid != 0 ? setup.uid : 1 + setup.rank,
                  .bootstrap = setup.uid != 0 ? tcp::bootstrap_of(setup.uid) : ir::MemoryKey{keys.draw()},
                  .machine = static_cast<std::uint32_t>(setup.node)};
  base::Descriptor poller(::epoll_create1(EPOLL_CLOEXEC));
  const auto cannot_wait = [] {
    return std::unexpected(system_error("TCP cannot wait for connections", errno, ErrorCode::system_failed));
  };
  if (!poller.open()) return cannot_wait();
  Doors doors;
  for (const net::Interface& each : setup.listening.at) {
    auto door = auth::Door::open({.host = each.host,
                                  .ports = setup.listening.ports,
                                  .secret = setup.listening.secret,
                                  .service = tcp::kService,
                                  .log = setup.log});
    if (!door) return std::unexpected(std::move(door.error()));
    epoll_event wanted{.events = EPOLLIN, .data = {.ptr = nullptr}};
    if (::epoll_ctl(poller.number(), EPOLL_CTL_ADD, (*door)->descriptor(), &wanted) != 0) return cannot_wait();
    doors.push_back(std::move(*door));
  }
  self.endpoint = doors.front()->endpoint();
  return std::unique_ptr<Tcp>(new Tcp(setup, self, std::move(doors), std::move(poller)));
}

Result<std::unique_ptr<ir::Translator>> Tcp::make(const TranslatorSetup& setup) {
  auto listening = tcp::listening_of(setup);
  if (!listening) return std::unexpected(std::move(listening.error()));
  auto made = create({.rank = setup.rank,
                      .size = setup.size,
                      .uid = setup.uid,
                      .node = net::loopback_identity(),
                      .listening = std::move(*listening),
                      .log = setup.log});
  if (!made) return std::unexpected(std::move(made.error()));
  return std::move(*made);
}

Tcp::Tcp(const Setup& setup, const tcp::Place& self, Doors doors, base::Descriptor poller)
    : size_(setup.size),
      uid_(setup.uid),
      log_(setup.log),
      listening_(setup.listening),
      capabilities_{.announces_writes = true,
                    .orders_puts = true,
                    .atomics = true,
                    .atomics_with_processor = true,
                    .connects_itself = true,
                    .atomics_on_any_memory = true,
                    .reads_any_memory = true,
                    .engines = static_cast<std::uint32_t>(doors.size()),
                    .inline_bytes = tcp::kLargestTransfer,
                    .largest_transfer = tcp::kLargestTransfer},
      self_(self),
      next_key_(self.bootstrap),
      doors_(std::move(doors)),
      poller_(std::move(poller)),
      most_waiting_(setup.most_waiting),
      memory_to_read_into_(std::make_unique_for_overwrite<std::byte[]>(kBuffer)),
      buffer_(memory_to_read_into_.get(), kBuffer) {}

Tcp::~Tcp() {
  // Those who have just connected hear of it, too.
  try {
    admit();
    newcomers_.remove_if([this](tcp::Newcomer& newcomer) { return hear(newcomer); });
  } catch (const std::bad_alloc&) { // they find out that nobody listens any more
  }
  for (const tcp::Newcomer& newcomer : newcomers_) {
    tcp::Welcome last{.verdict = tcp::Verdict::leaves};
    iovec whole{.iov_base = &last, .iov_len = sizeof last};
    net::send_some(newcomer.socket.number(), {&whole, 1});
  }
  for (const auto& door : doors_) door->decline_all();
  for (auto& [id, wire] : wires_) for_each_lane(*wire, [this](Wire& lane) { say_goodbye(lane); });
  // What the other system has not confirmed is lost when the peer says something to a socket that is closed.
  const auto limit = is_open_world() ? kFarewell : kFarewellOfJob;
  auto pause = std::chrono::milliseconds(1);
  for (std::chrono::milliseconds waited{0}; waited < limit && !has_said_all(); waited += pause) {
    pause = std::min(2 * pause, kLongestPause);
    ::poll(nullptr, 0, static_cast<int>(pause.count()));
  }
}

void Tcp::say_goodbye(Wire& wire) {
  // Who has heard this process's hello takes it for connected, also where its answer has not come yet.
  if (wire.state == WireState::greeting) wire.state = WireState::open;
  if (wire.state == WireState::open) send_notice(wire, tcp::FrameKind::goodbye, 0);
}

bool Tcp::has_said_all() {
  bool all = true;
  const auto finish = [&](Wire& wire) {
    if (wire.state != WireState::open) return;
    pay_owed(wire);
    wire.out.flush(wire.socket.number());
    // Unread bytes would make the system reset the connection, and lose what it has not delivered.
    iovec piece{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
    std::ptrdiff_t got = 1;
    for (int reads = 0; reads < 1024 && got > 0; ++reads) got = net::receive_some(wire.socket.number(), {&piece, 1});
    if (got < 0) wire.state = WireState::idle; // the peer hears nothing any more
    all = all &&
          (got < 0 || (wire.owed.empty() && wire.out.waiting() == 0 && net::unconfirmed(wire.socket.number()) == 0));
  };
  for (auto& [id, wire] : wires_) for_each_lane(*wire, finish);
  return all;
}

std::string Tcp::remark() const {
  std::string text = "listens at " + self_.endpoint.text() + ", " + listening_.why;
  for (std::size_t i = 1; i < doors_.size(); ++i)
    text += "; also at " + doors_[i]->endpoint().text() + ", of interface " + listening_.at[i].name;
  return text;
}

Result<void> Tcp::reaches(const ir::Address& address) const {
  const auto place = tcp::Place::unpack(address);
  if (!place) return std::unexpected(place.error());
  const auto refuse = [](std::string fact, std::string remedy) {
    return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = std::move(fact), .remedy = std::move(remedy)});
  };
  if (place->machine != self_.machine) {
    const char* alone = " listens on its own machine alone, at ";
    if (place->endpoint.is_loopback()) return refuse(std::string("it") + alone + place->endpoint.text(), kOpenUp);
    if (self_.endpoint.is_loopback())
      return refuse(std::string("this process") + alone + self_.endpoint.text(), kOpenUp);
  }
  if (place->endpoint.is_ipv4() != self_.endpoint.is_ipv4() && !net::source_towards(place->endpoint))
    return refuse("no route leads from here to " + place->endpoint.text(),
                  "let all processes use addresses of one kind (option tcp.network)");
  return {};
}

Result<ir::RemotePlace> Tcp::attach(ir::Peer peer, const ir::Address& address) {
  const auto refuse = [&](Error error) {
    // Where this process has no descriptor for it nobody need be asked what has become of the peer.
    if (error.code != ErrorCode::out_of_descriptors) error.code = ErrorCode::unreachable;
    error.peer = static_cast<std::int64_t>(peer);
    return std::unexpected(std::move(error));
  };
  auto place = tcp::Place::unpack(address);
  if (!place) return refuse(std::move(place.error()));
  if (!is_open_world() && number_of(peer) >= size_)
    return refuse({.fact = "peer " + std::to_string(number_of(peer)) + " is not of this job"});
  const ir::RemotePlace bootstrap{.key = place->bootstrap, .offset = 0};
  const auto known = attached_.find(number_of(peer));
  const std::uint64_t known_id = known == attached_.end() ? 0 : known->second == nullptr ? self_.id : known->second->id;
  if (known_id == place->id) return bootstrap;
  detach(peer);
  if (place->id == self_.id) {
    attached_[number_of(peer)] = nullptr;
    return bootstrap;
  }
  Wire& wire = wire_of(place->id);
  if (wire.number) detach(*wire.number);
  wire.place = *place;
  if (wire.state == WireState::idle) {
    wire.tries = 0;
    if (auto begun = connect_again(wire); !begun) return refuse(std::move(begun.error()));
    if (wire.state == WireState::idle) return refuse({.fact = "the connection to it broke off at once"});
  }
  attached_[number_of(peer)] = &wire; // the last that may lack memory: then nothing has been attached
  wire.number = peer;
  gone_.erase(number_of(peer));
  if (is_open_world()) send_notice(wire, tcp::FrameKind::attach, number_of(peer));
  return bootstrap;
}

void Tcp::detach(ir::Peer peer) {
  // That the way to it broke stays true of whatever still comes for it until it is attached again.
  if (const auto gone = gone_.find(number_of(peer)); gone != gone_.end() && gone->second != ir::Status::connection_lost)
    gone_.erase(gone);
  const auto found = attached_.find(number_of(peer));
  if (found == attached_.end()) return;
  Wire* wire = found->second;
  attached_.erase(found);
  if (wire == nullptr) return;
  for_each_lane(*wire, [this](Wire& lane) { end_asked(lane, ir::Status::peer_lost); });
  wire->number.reset();
  if (is_open_world()) send_notice(*wire, tcp::FrameKind::detach, number_of(peer));
}

std::size_t Tcp::submit(std::span<const ir::Command> commands) {
  idle_polls_ = 0;
  for (const ir::Command& command : commands) {
    const auto taken = static_cast<std::size_t>(&command - commands.data());
    if (!events_.make_room()) return taken;
    const bool signalled = ir::has(command.flags, ir::Flags::signalled);
    const auto found = attached_.find(number_of(command.peer));
    if (found == attached_.end()) {
      const auto gone = gone_.find(number_of(command.peer));
      if (signalled)
        complete(command.peer, command.cookie, gone == gone_.end() ? ir::Status::peer_lost : gone->second, 0);
    } else if (command.bytes > tcp::kLargestTransfer ||
               (command.operation == ir::Operation::put && command.head_bytes > ir::kHeadBytes)) {
      if (signalled) complete(command.peer, command.cookie, ir::Status::refused, 0);
    } else if (found->second == nullptr) {
      std::uint64_t value = 0;
      const ir::Status status = memory_.execute(command, value);
      if (signalled) complete(command.peer, command.cookie, status, value);
    } else if (Wire& lane = lane_for(*found->second, command); found->second->broke || !takes(lane, command)) {
      return taken; // of one that broke it is about to be told what has become of it
    } else {
      try {
        send(lane, command);
      } catch (const std::bad_alloc&) {
        return taken;
      }
    }
  }
  return commands.size();
}

bool Tcp::takes(const Wire& wire, const ir::Command& command) const {
  const bool answered = ir::has(command.flags, ir::Flags::signalled) || command.operation != ir::Operation::put;
  // One peer that takes nothing does not keep others waiting, nor do many.
  const bool has_room =
      wire.out.waiting() == 0 || (wire.out.waiting() < kMostWaiting && waiting_in_all_ < most_waiting_);
  return has_room && wire.owed.empty() && (!answered || wire.asked_count < tcp::kMostAsked);
}

bool Tcp::will_tell_end(ir::Peer peer) const {
  const auto known = wires_.find(number_of(peer) + 1ULL); // of a job
  return !is_open_world() && known != wires_.end() &&
         (known->second->state == WireState::open || known->second->state == WireState::draining);
}

void Tcp::complete(ir::Peer peer, std::uint64_t cookie, ir::Status status, std::uint64_t value) {
  events_.push({.kind = ir::EventKind::completed, .status = status, .peer = peer, .cookie = cookie, .value = value});
}

} // namespace heddle::translators

// How it begins and ends, whom it knows, and what leaves it. What comes in: incoming.cpp.
#include "translators/ofi/ofi.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include "base/clock.hpp"
#include "base/mix.hpp"
#include "base/refusal.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace heddle::translators {

namespace {

constexpr std::size_t kMostAsked = 4096;              // commands that wait for their answers
constexpr std::size_t kMostQueued = 16;               // frames to one peer that wait for room
constexpr std::uint64_t kFarewellNs = 10'000'000'000; // a peer that makes no calls for so long is not waited for
constexpr std::uint64_t kCloseNs = 2'000'000'000;     // nor is a transfer

std::uint64_t mix_all(std::span<const std::byte> bytes) {
  std::uint64_t mixed = bytes.size();
  for (const std::byte each : bytes) mixed = base::mix(mixed + static_cast<std::uint64_t>(each));
  return mixed;
}

struct Place {             // an address
  std::uint8_t length = 0; // of the name
  std::uint8_t unused = 0;
  std::uint16_t provider = 0;
  std::uint32_t machine = 0;
  std::array<std::byte, 32> name{}; // of the endpoint, as the provider has it

  explicit Place(const ir::Address& address = {}) { std::memcpy(this, &address, sizeof *this); }
};
static_assert(sizeof(Place) == sizeof(ir::Address));

ir::MemoryKey bootstrap_of(const ir::Address& address) {
  return ir::MemoryKey{mix_all(address) | 1U};
}

// A name that a process has on its machine while it lives, so that others there see at once whether it does.
base::Descriptor sign_of(const ir::Address& address, bool own) {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "heddle-ofi-%016llx",
                                   static_cast<unsigned long long>(bootstrap_of(address)));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  base::Descriptor sign(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto* place = reinterpret_cast<const sockaddr*>(&name);
  if (sign.open() && (own ? ::bind(sign.number(), place, bytes) : ::connect(sign.number(), place, bytes)) != 0)
    sign.reset();
  return sign;
}

} // namespace

Result<std::unique_ptr<ir::Translator>> Ofi::make(const TranslatorSetup& setup) {
  if (setup.uid != 0)
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "ofi serves jobs, not open worlds: providers do not tell of deaths",
                                 .remedy = "name other translators"});
  const auto library = ofi::Library::load();
  if (!library) return std::unexpected(library.error());
  auto choice = ofi::choose(*library, setup.own->text(ofi::kProvider), setup.own->text(ofi::kDomain));
  if (!choice) return std::unexpected(std::move(choice.error()));
  auto endpoint = ofi::Endpoint::open(*library, std::move(*choice), setup.size);
  if (!endpoint) return std::unexpected(std::move(endpoint.error()));
  std::unique_ptr<Ofi> made(new Ofi(setup, std::move(*endpoint)));
  if (auto begun = made->begin(setup.node); !begun) return std::unexpected(std::move(begun.error()));
  return made;
}

Ofi::Ofi(const TranslatorSetup& setup, ofi::Endpoint endpoint)
    : rank_(setup.rank),
      token_(setup.secret ? std::stoull(setup.secret->sign("ofi").substr(0, 16), nullptr, 16) : 0),
      log_(setup.log),
      endpoint_(std::move(endpoint)),
      capabilities_{.announces_writes = true,
                    .orders_puts = true,
                    .atomics = true,
                    .atomics_with_processor = true,
                    .atomics_on_any_memory = true,
                    .reads_any_memory = true,
                    .inline_bytes = endpoint_.largest_message() - sizeof(ofi::Frame),
                    .largest_transfer = std::min(ofi::kLargestTransfer, endpoint_.largest_transfer())},
      addresses_(setup.size),
      remotes_(setup.size) {}

Result<void> Ofi::begin(std::uint64_t node) {
  const std::string provider = endpoint_.provider();
  const std::span<const std::byte> name = endpoint_.address();
  Place place;
  if (name.size() > place.name.size())
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "addresses of libfabric's provider " + provider + " have " +
                                         std::to_string(name.size()) + " bytes, more than the " +
                                         std::to_string(place.name.size()) + " that there is room for",
                                 .remedy = "name another in option ofi.provider"});
  struct stat names{}; // signs are seen inside one network namespace
  ::stat("/proc/self/ns/net", &names);
  place.length = static_cast<std::uint8_t>(name.size());
  place.provider = static_cast<std::uint16_t>(mix_all(std::as_bytes(std::span(provider))));
  place.machine = static_cast<std::uint32_t>(base::mix(node ^ names.st_ino));
  std::ranges::copy(name, place.name.begin());
  std::memcpy(&self_, &place, sizeof place);
  next_key_ = bootstrap_of(self_);
  sign_ = sign_of(self_, true);
  ringer_ = base::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  sleeper_ = base::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (!sign_.open() || !ringer_.open() ||
      ::epoll_ctl(sleeper_.number(), EPOLL_CTL_ADD, ringer_.number(), &wanted) != 0 ||
      (endpoint_.descriptor() >= 0 &&
       ::epoll_ctl(sleeper_.number(), EPOLL_CTL_ADD, endpoint_.descriptor(), &wanted) != 0))
    return std::unexpected(system_error("ofi cannot wait for what arrives", errno));
  if (auto grown = grow(); !grown) return grown;
  post_receives();
  return {};
}

Ofi::~Ofi() {
  const auto is_awaited = [this](const auto& remote) {
    if (!remote || remote->lost || remote->rank == rank_) return false;
    const bool has_met = remote->heard > 0 || (remote->attached && remote->sent > 0);
    return remote->is_busy() || (has_met && !remote->answered && !remote->has_left);
  };
  try {
    for (const auto& remote : remotes_)
      if (is_awaited(remote) && !std::exchange(remote->said_goodbye, true))
        send(*remote, {.kind = ofi::FrameKind::goodbye});
    const std::uint64_t begin = base::steady_ns();
    std::uint64_t last_look = begin;
    while (std::ranges::any_of(remotes_, is_awaited) && base::steady_ns() - begin < kFarewellNs) {
      progress();
      if (base::steady_ns() - last_look < kFarewellNs / 100) continue;
      last_look = base::steady_ns();
      for (const auto& remote : remotes_)
        if (is_awaited(remote) && !lives(remote->address)) lose(*remote);
    }
  } catch (const std::bad_alloc&) { // the peers find out
  }
  asked_.clear();    // registrations, before the endpoint
  endpoint_.close(); // before the memory that it receives into
}

std::string Ofi::remark() const {
  return "by provider " + endpoint_.provider() + ", domain " + endpoint_.domain() +
         (endpoint_.leads_elsewhere() ? "" : ", inside this machine") +
         (endpoint_.outlives_deaths() ? "" : ", where the death of a process may stop the others") +
         "; libfabric has: " + ofi::to_text(ofi::find_all(endpoint_.library()));
}

Result<void> Ofi::reaches(const ir::Address& address) const {
  const Place there(address);
  const Place here(self_);
  const auto no = [](std::string why) {
    return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = std::move(why)});
  };
  if (there.length == 0 || there.length > there.name.size()) return no("this is no address of ofi's");
  if (there.provider != here.provider)
    return no("it uses another provider of libfabric; this process uses " + endpoint_.provider());
  if (!endpoint_.leads_elsewhere() && there.machine != here.machine)
    return no("libfabric's provider " + endpoint_.provider() + " stays inside a machine, and it is on another");
  return {};
}

Result<void> Ofi::lives(const ir::Address& address) const {
  if (Place(address).machine != Place(self_).machine || sign_of(address, false).open()) return {};
  return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "its process is gone from this machine"});
}

Result<ir::RemotePlace> Ofi::attach(ir::Peer peer, const ir::Address& address) {
  const auto number = static_cast<std::uint32_t>(peer);
  const auto refuse = [number](Error error) {
    error.code = ErrorCode::unreachable;
    error.peer = number;
    return std::unexpected(std::move(error));
  };
  Remote* remote = remote_of(number);
  if (remote == nullptr) return refuse({.fact = "peer " + std::to_string(number) + " is not of this job"});
  if (auto possible = reaches(address); !possible) return refuse(std::move(possible.error()));
  if (auto there = lives(address); !there) return refuse(std::move(there.error()));
  if (remote->lost || remote->has_left) return refuse({.fact = "it can no longer be reached"});
  expect(peer, address);
  if (!meet(*remote)) return refuse({.fact = "libfabric's provider does not take its address"});
  remote->attached = true;
  remote->detached = false;
  return ir::RemotePlace{.key = bootstrap_of(address), .offset = 0};
}

void Ofi::detach(ir::Peer peer) {
  const auto number = static_cast<std::uint32_t>(peer);
  if (number >= remotes_.size() || !remotes_[number]) return;
  remotes_[number]->attached = false;
  remotes_[number]->detached = true;
  end_all_asked(peer, remotes_[number]->has_left ? ir::Status::peer_left : ir::Status::peer_lost);
}

void Ofi::expect(ir::Peer peer, const ir::Address& address) {
  if (static_cast<std::uint32_t>(peer) < addresses_.size()) addresses_[static_cast<std::uint32_t>(peer)] = address;
}

bool Ofi::meet(Remote& remote) {
  if (remote.at != FI_ADDR_NOTAVAIL) return true;
  remote.address = addresses_[remote.rank];
  const Place place(remote.address);
  if (reaches(remote.address)) remote.at = endpoint_.insert(std::span(place.name).first(place.length));
  return remote.at != FI_ADDR_NOTAVAIL;
}

Ofi::Remote* Ofi::remote_of(std::uint32_t rank) {
  if (rank >= remotes_.size()) return nullptr;
  if (!remotes_[rank]) remotes_[rank] = std::make_unique<Remote>(Remote{.rank = rank});
  return remotes_[rank].get();
}

// Of a peer that has died on this machine nothing is waited for; of another that does not go on, once. One that is only lost may go on.
Result<void> Ofi::close_area(const ir::RemotePlace& place) {
  memory_.withdraw(place.key);
  const auto is_in_use = [&](const Work* work) {
    return work->under_way && work->frame().key == static_cast<std::uint64_t>(place.key) &&
           (!work->remote->lost || lives(work->remote->address));
  };
  const std::uint64_t begin = base::steady_ns();
  for (auto work = transfers_.begin(); (work = std::ranges::find_if(transfers_, is_in_use)) != transfers_.end();) {
    Remote& remote = *(*work)->remote;
    if (!lives(remote.address)) {
      lose(remote);
    } else if (remote.is_stuck || base::steady_ns() - begin > kCloseNs) {
      remote.is_stuck = true;
      return std::unexpected(Error{
          .code = ErrorCode::timed_out, .fact = "a transfer from or to that memory does not end", .peer = remote.rank});
    } else {
      progress();
    }
  }
  return {};
}

// --- commands ---

std::size_t Ofi::submit(std::span<const ir::Command> commands) {
  for (const ir::Command& command : commands) {
    const auto taken = static_cast<std::size_t>(&command - commands.data());
    if (!events_.make_room()) return taken;
    const auto number = static_cast<std::uint32_t>(command.peer);
    Remote* remote = number < remotes_.size() ? remotes_[number].get() : nullptr;
    if (remote == nullptr || !remote->attached || remote->lost || remote->has_left) {
      const bool left = remote != nullptr && remote->has_left;
      events_.complete(command, left ? ir::Status::peer_left : ir::Status::peer_lost);
    } else if (command.bytes > capabilities_.largest_transfer ||
               (command.operation == ir::Operation::put && command.head_bytes > ir::kHeadBytes)) {
      events_.complete(command, ir::Status::refused);
    } else if (number == rank_) {
      std::uint64_t value = 0;
      const ir::Status status = memory_.execute(command, value);
      events_.complete(command, status, value);
    } else if (remote->queue.size() >= kMostQueued || asked_.size() >= kMostAsked || !may_take()) {
      return taken;
    } else {
      try {
        carry(*remote, command);
      } catch (const std::bad_alloc&) {
        return taken;
      }
    }
  }
  return commands.size();
}

void Ofi::carry(Remote& remote, const ir::Command& command) {
  const bool put = command.operation == ir::Operation::put;
  const bool swap = command.operation == ir::Operation::compare_and_swap;
  const bool moves =
      put ? command.head_bytes + command.bytes > capabilities_.inline_bytes : command.operation == ir::Operation::get;
  ofi::Frame frame{.kind = moves ? ofi::FrameKind::move : ofi::FrameKind::command,
                   .operation = command.operation,
                   .flags = static_cast<std::uint8_t>(command.flags),
                   .bytes = put || moves ? command.bytes : 0,
                   .key = static_cast<std::uint64_t>(command.remote.key),
                   .offset = command.remote.offset,
                   .operand = command.operand};
  ofi::Registered memory;
  if (moves && frame.bytes > 0) {
    auto made = endpoint_.register_remote({command.local, command.bytes}, put ? FI_REMOTE_READ : FI_REMOTE_WRITE);
    if (!made) return events_.complete(command, ir::Status::exhausted);
    memory = std::move(*made);
    frame.memory_key = ::fi_mr_key(memory.mr.get());
    frame.memory_at = endpoint_.remote_address(command.local);
  }
  if (moves || ir::has(command.flags, ir::Flags::signalled)) frame.number = ask(command, std::move(memory));
  const auto head = put    ? std::span<const std::byte>(command.head).first(command.head_bytes)
                    : swap ? std::as_bytes(std::span(&command.expected, 1))
                           : std::span<const std::byte>{};
  send(remote, frame, head, {command.local, put && !moves ? command.bytes : 0});
}

// The number that the answer names: a new one each time, so that a late answer finds nobody.
std::uint32_t Ofi::ask(const ir::Command& command, ofi::Registered memory) {
  do ++last_number_;
  while (last_number_ == 0 || asked_.contains(last_number_)); // 0 stands for none
  asked_[last_number_] = {.end = {.kind = ir::EventKind::completed, .peer = command.peer, .cookie = command.cookie},
                          .memory = std::move(memory),
                          .signalled = ir::has(command.flags, ir::Flags::signalled)};
  return last_number_;
}

void Ofi::end_asked(std::uint32_t number, ir::Status status, std::uint64_t value) {
  const auto asked = asked_.find(number);
  if (asked == asked_.end()) return;
  asked->second.end.status = status;
  asked->second.end.value = value;
  if (asked->second.signalled) events_.push(asked->second.end);
  asked_.erase(asked);
}

void Ofi::end_all_asked(ir::Peer peer, ir::Status status) {
  for (auto next = asked_.begin(); next != asked_.end();) {
    const auto asked = next++;
    if (asked->second.end.peer == peer) end_asked(asked->first, status, 0);
  }
}

// --- frames ---

void Ofi::send(Remote& remote, ofi::Frame frame, std::span<const std::byte> head, std::span<const std::byte> data) {
  if (remote.lost || remote.has_left) return;
  frame.token = token_;
  frame.sender = rank_;
  frame.order = remote.sent++;
  frame.head_bytes = static_cast<std::uint8_t>(head.size());
  Work& work = take_work();
  work.what = Work::What::send;
  work.remote = &remote;
  work.bytes = sizeof frame + head.size() + data.size();
  std::memcpy(work.data, &frame, sizeof frame);
  std::ranges::copy(head, work.data + sizeof frame);
  if (!data.empty()) std::memcpy(work.data + sizeof frame + head.size(), data.data(), data.size());
  remote.queue.push_back(&work);
  if (remote.queue.size() == 1) flush(remote);
  if (remote.queue.size() == 1) waiting_.push_back(&remote);
}

void Ofi::flush(Remote& remote) {
  while (!remote.queue.empty()) {
    Work& work = *remote.queue.front();
    const long answer = endpoint_.send(remote.at, {work.data, work.bytes}, work.descriptor, work.context);
    if (answer == -FI_EAGAIN) return;
    if (answer != 0) return lose(remote);
    ++remote.sends;
    remote.queue.pop_front();
  }
}

void Ofi::lose(Remote& remote) {
  if (std::exchange(remote.lost, true)) return;
  for (Work* work : std::exchange(remote.queue, {})) give_back(*work);
  for (Work* work : std::exchange(remote.held, {})) give_back(*work);
  const ir::Peer peer{remote.rank};
  end_all_asked(peer, remote.has_left ? ir::Status::peer_left : ir::Status::peer_lost);
  if (remote.attached && !remote.has_left)
    events_.push({.kind = ir::EventKind::peer_failed, .status = ir::Status::peer_lost, .peer = peer});
}

// Of the dead nothing ends where the provider does not notice.
bool Ofi::drained() const {
  return std::ranges::none_of(remotes_, [this](const auto& remote) {
    const auto is_its = [&](const Work* work) { return work->remote == remote.get(); };
    return remote && remote->attached && !remote->lost &&
           (remote->is_busy() || std::ranges::any_of(transfers_, is_its));
  });
}

bool Ofi::will_tell_end(ir::Peer peer) const {
  const auto number = static_cast<std::uint32_t>(peer);
  const Remote* remote = number < remotes_.size() ? remotes_[number].get() : nullptr;
  return remote != nullptr && remote->heard > 0 && !remote->has_left && !remote->lost;
}

// --- sleeping ---

bool Ofi::announce_sleep(By) {
  const auto goes_on = [](const Work* work) { return !work->under_way || !work->remote->may_never_end(); };
  const bool quiet =
      waiting_.empty() && std::ranges::none_of(transfers_, goes_on) && events_.empty() && endpoint_.may_sleep();
  if (!quiet && !std::exchange(rung_, true)) ::eventfd_write(ringer_.number(), 1);
  return quiet;
}

void Ofi::sleep(std::chrono::nanoseconds limit) {
  if (!endpoint_.may_sleep()) return;
  pollfd waits{.fd = sleeper_.number(), .events = POLLIN, .revents = 0};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
  ::ppoll(&waits, 1, &time, nullptr);
}

} // namespace heddle::translators
#endif

// The store's sockets: reads frames, hands them to the ledger of their generation (generations.hpp, ledger.hpp), and writes what it
// answers. What the frames mean is decided there, and so is who gets a notice of a process that has ended (Ledger::gone).
#include "store/server.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/refusal.hpp"
#include "net/sockets.hpp"
#include "store/address.hpp"

namespace heddle::store {
namespace {

constexpr ClientId kListener = 0;
constexpr ClientId kTimer = 1;
constexpr std::size_t kSpareConnections = 64; // beyond one per rank: refused hellos on their way out
constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr timespec kTick{.tv_sec = 1, .tv_nsec = 0}; // at whether the machines of those who are connected answer
constexpr int kReadsOfFormerSelf =
    64; // as much as a socket holds, and more; not as much as its owner may write meanwhile

Error server_failure(std::string fact, int code) {
  return system_error(std::move(fact), code, ErrorCode::store_failed);
}

} // namespace

Result<std::unique_ptr<Server>> Server::start(Config config) {
  base::Descriptor poller(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller.open()) return std::unexpected(server_failure("cannot create the store's poller", errno));
  std::unique_ptr<Server> server(new Server(config, std::move(poller)));
  if (auto listening = server->listen(config); !listening) return std::unexpected(std::move(listening.error()));
  return server;
}

Server::Server(Config config, base::Descriptor poller)
    : log_(std::move(config.log)),
      poller_(std::move(poller)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kReadAtOnce)),
      generations_(config.size, std::move(config.job)),
      ends_with_connection_(config.ends_with_connection),
      first_leads_(config.first_leads) {}

Result<void> Server::listen(const Config& config) {
  timer_ = base::Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_.open() || !watch(kTimer, timer_.number(), false, EPOLL_CTL_ADD))
    return std::unexpected(server_failure("cannot create the store's timer", errno));
  const auto cannot_wait = [] {
    return std::unexpected(server_failure("the store cannot wait for connections", errno));
  };
  if (config.by_tcp) {
    auto door = auth::Door::open({.host = config.by_tcp->host,
                                  .ports = config.by_tcp->ports,
                                  .secret = config.by_tcp->secret,
                                  .service = kService,
                                  .log = config.log});
    if (!door) return std::unexpected(std::move(door.error()));
    door_ = std::move(*door);
    address_ = std::string(kByTcp) + door_->endpoint().text();
    if (!watch(kListener, door_->descriptor(), false, EPOLL_CTL_ADD)) return cannot_wait();
    return {};
  }
  address_ = config.at.empty() ? address_of_job(config.job) : config.at;
  const auto parsed = parse_address(address_);
  if (!parsed) return std::unexpected(parsed.error());
  listener_ = base::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_.open()) return std::unexpected(server_failure("cannot create the store's socket", errno));
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&parsed->address), parsed->length) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0)
    return std::unexpected(server_failure("the store cannot listen on " + address_, errno));
  if (!watch(kListener, listener_.number(), false, EPOLL_CTL_ADD)) return cannot_wait();
  return {};
}

bool Server::watch(ClientId id, int socket, bool writable, int operation) const {
  epoll_event event{};
  event.events = writable ? EPOLLOUT : EPOLLIN;
  event.data.u64 = id;
  return ::epoll_ctl(poller_.number(), operation, socket, &event) == 0;
}

bool Server::wait(base::Deadline deadline) {
  pollfd entry{.fd = descriptor(), .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, base::milliseconds_until(deadline)) <= 0) return false;
  serve();
  return true;
}

void Server::serve() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(poller_.number(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const ClientId id = event.data.u64; // a copy: the structure is packed, and nothing may refer into it
    if (id == kListener || id == kTimer) {
      if (id == kTimer) look_at_clock();
      accept_all();
      continue;
    }
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue; // closed by an earlier event of this batch
    if (found->second.waits_to_write) {
      write_to(found->first, found->second);
    } else {
      read_from(found->first, found->second);
    }
    bury();
  }
  close_if_all_have_come();
}

void Server::accept_all() {
  if (door_ == nullptr && !listener_.open()) return; // closed by now
  if (door_ != nullptr) {
    for (base::Descriptor& socket : door_->admit()) {
      net::keep_asking(socket.number(), kSilence);
      add(std::move(socket));
    }
    return;
  }
  while (true) {
    base::Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) pause_accepting();
      return;
    }
    if (!same_user(socket.number())) {
      log_.warning("store: a process of another user was turned away");
      continue;
    }
    add(std::move(socket));
  }
}

void Server::add(base::Descriptor socket) {
  if (connections_.size() >= generations_.size() + kSpareConnections) {
    log_.warning("store: more connections than processes; one was turned away");
    return;
  }
  const ClientId id = next_id_++;
  if (!watch(id, socket.number(), false, EPOLL_CTL_ADD)) {
    log_.error("store: a process was turned away: " + std::generic_category().message(errno));
    return;
  }
  if (door_ != nullptr && connections_.empty()) {
    const itimerspec each{.it_interval = kTick, .it_value = kTick};
    ::timerfd_settime(timer_.number(), 0, &each, nullptr);
  }
  connections_[id].socket = std::move(socket);
}

void Server::look_at_clock() {
  if (door_ == nullptr) return go_on_accepting(); // which quietens the timer, too
  std::uint64_t ticks = 0;
  [[maybe_unused]] const auto got = ::read(timer_.number(), &ticks, sizeof ticks);
  miss_the_silent();
}

void Server::miss_the_silent() {
  for (auto& [id, connection] : connections_) {
    if (!net::is_silent(connection.socket.number(), kSilence)) continue;
    hear_out(id, connection);
    doomed_.push_back(id);
  }
  bury();
  if (!connections_.empty()) return;
  const itimerspec never{};
  ::timerfd_settime(timer_.number(), 0, &never, nullptr);
}

void Server::pause_accepting() {
  if (!std::exchange(said_full_, true))
    log_.error("store: cannot accept further processes for now: out of descriptors (raise ulimit -n)");
  ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, listener_.number(), nullptr);
  accepting_ = false;
  const itimerspec once{.it_interval = {}, .it_value = kTick};
  ::timerfd_settime(timer_.number(), 0, &once, nullptr);
}

void Server::go_on_accepting() {
  if (!listener_.open()) return;
  const itimerspec never{};
  ::timerfd_settime(timer_.number(), 0, &never, nullptr); // nor is it readable any more
  if (!std::exchange(accepting_, true)) watch(kListener, listener_.number(), false, EPOLL_CTL_ADD);
}

bool Server::read_from(ClientId id, Connection& connection) {
  const ssize_t count = ::recv(connection.socket.number(), buffer_.get(), kReadAtOnce, 0);
  const int problem = count < 0 ? errno : 0;
  if (count > 0) connection.inbox.insert(connection.inbox.end(), buffer_.get(), buffer_.get() + count);
  if (count > 0) {
    take_frames(id, connection);
    return doomed_.empty() || doomed_.back() != id;
  }
  if (problem == EINTR) return true;
  if (problem != EAGAIN) doomed_.push_back(id); // the system gives what was written before it tells of the end
  return false;
}

void Server::hear_out(std::uint32_t rank) {
  const ClientId id = generations_.client_of(rank);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  hear_out(id, found->second);
  bury();
}

void Server::hear_out(ClientId id, Connection& connection) {
  connection.outbox.clear();
  connection.deaf = true;
  if (connection.waits_to_write) write_to(id, connection); // nothing is left to write: reading goes on
  while (read_from(id, connection)) {
  }
}

// Stops at the first answer that cannot be sent at once: a client that does not read its answers is not read from, so
// what it can pile up here stays bounded by one read.
void Server::take_frames(ClientId id, Connection& connection) {
  std::size_t used = 0;
  while (!connection.waits_to_write) {
    const Cut cut = cut_frame(std::span<const std::byte>(connection.inbox).subspan(used), kLargestRequest);
    if (cut.state == Cut::State::incomplete) break;
    Answers answers;
    Result<void> taken;
    if (cut.state == Cut::State::malformed) {
      taken =
          std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "a message has an invalid length or kind"});
    } else {
      hear_former_self(id, cut.frame);
      if (!may_come(id, connection, cut.frame)) break;
      taken = generations_.receive(id, cut.frame, answers);
    }
    if (!taken) {
      log_.warning("store: closing a client that broke the protocol: " + taken.error().fact);
      generations_.expel(id, answers);
      doomed_.push_back(id);
    }
    const bool first_comes = first_leads_ && taken && generations_.who_says_hello(cut.frame) == 0U;
    used += cut.length;
    deliver(answers);
    if (!taken) break;
    if (first_comes) release();
  }
  connection.inbox.erase(connection.inbox.begin(), connection.inbox.begin() + static_cast<std::ptrdiff_t>(used));
}

void Server::hear_former_self(ClientId id, const Frame& frame) {
  const auto rank = generations_.who_says_hello(frame);
  if (!rank) return;
  const ClientId former = generations_.client_of(*rank);
  const auto found = connections_.find(former);
  if (former == id || found == connections_.end()) return;
  if (found->second.waits_to_write) write_to(former, found->second);
  for (int reads = 0; reads < kReadsOfFormerSelf && read_from(former, found->second); ++reads) {
  }
}

bool Server::may_come(ClientId id, Connection& connection, const Frame& frame) {
  if (!first_leads_ || generations_.rank_of(id) || !generations_.precedes_first(frame)) return true;
  connection.held = true;
  if (first_has_ended_ || connection.inbox.size() > kLargestRequest) doomed_.push_back(id);
  return false;
}

void Server::release() {
  for (auto& [id, connection] : connections_)
    if (std::exchange(connection.held, false)) take_frames(id, connection);
}

void Server::first_has_ended() {
  first_has_ended_ = true;
  for (const auto& [id, connection] : connections_)
    if (connection.held) doomed_.push_back(id);
  bury();
  close_if_all_have_come();
}

void Server::close_if_all_have_come() {
  if (first_leads_ && first_has_ended_ && generations_.complete()) stop_listening();
}

void Server::stop_listening() {
  if (door_ != nullptr) door_->turn_all_out();
  door_.reset();
  listener_.reset();
}

void Server::deliver(const Answers& answers) {
  for (const Answer& answer : answers) {
    const auto found = connections_.find(answer.to);
    if (found == connections_.end() || found->second.deaf) continue;
    found->second.outbox.push_back(answer.frame);
    if (!found->second.waits_to_write) write_to(found->first, found->second);
  }
}

void Server::write_to(ClientId id, Connection& connection) {
  const bool waited = connection.waits_to_write;
  while (!connection.outbox.empty()) {
    const Bytes& frame = *connection.outbox.front();
    const ssize_t count = ::send(connection.socket.number(), frame.data() + connection.sent,
                                 frame.size() - connection.sent, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        connection.outbox.clear();
        connection.deaf = true;
        break;
      }
      connection.waits_to_write = true;
      if (!waited) watch(id, connection.socket.number(), true, EPOLL_CTL_MOD);
      return;
    }
    connection.sent += static_cast<std::size_t>(count);
    if (connection.sent < frame.size()) continue;
    connection.outbox.pop_front();
    connection.sent = 0;
  }
  if (!waited) return;
  connection.waits_to_write = false;
  watch(id, connection.socket.number(), false, EPOLL_CTL_MOD);
  take_frames(id, connection);
}

void Server::tell_all(const Abort& abort) {
  const auto frame =
      std::make_shared<const Bytes>(FrameWriter(Kind::aborted, 0).u32(abort.rank).i64(abort.status).finish());
  Answers answers;
  for (const auto& [id, connection] : connections_) answers.push_back({id, frame});
  deliver(answers);
}

void Server::declare(std::uint32_t rank, Presence gone) {
  Answers answers;
  generations_.declare(rank, gone, answers);
  deliver(answers);
  bury();
}

void Server::bury() {
  while (!doomed_.empty()) {
    const ClientId id = doomed_.back();
    doomed_.pop_back();
    if (connections_.erase(id) == 0) continue;
    const auto rank = generations_.rank_of(id);
    generations_.disconnected(id);
    if (ends_with_connection_ && rank) {
      Answers answers;
      generations_.declare(*rank, Presence::failed, answers);
      deliver(answers);
    }
    if (!accepting_) go_on_accepting();
  }
}

} // namespace heddle::store

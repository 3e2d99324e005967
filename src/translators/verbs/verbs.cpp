#include "translators/verbs/verbs.hpp"

#include "translators/register_entry.hpp"
#include "translators/verbs/options.hpp"
#include "translators/verbs/records.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace heddle::translators {

template Entry entry_of<Verbs>();

using verbs::Lane;
using verbs::Party;
using verbs::Slot;

const std::span<const base::SectionOption> Verbs::kOptions = verbs::kOptions;

namespace {

// Contents that are copied when a command is taken: all of a message up to the usual eager_limit. What is larger is registered for as
// long as its command takes.
constexpr std::uint64_t kCopied = (64 << 10) + 256;
constexpr std::size_t kLargePiece = kCopied + 256; // head and terminator
constexpr std::size_t kLargeAtOnce = 16;
constexpr std::size_t kLanesAtOnce = 4;
constexpr std::uint32_t kMostRooms = 2048;
constexpr int kMostCompletions = 1 << 16;
constexpr std::uint64_t kMostTransfer = std::uint64_t{1} << 30U;
// An idle process has the adapter tell of the commands that it was not asked about.
constexpr std::uint32_t kIdlePolls = 64;
constexpr std::uint32_t kLooksAtDevice = 1 << 14U;
constexpr std::chrono::milliseconds kWhileCalling{10};

std::unexpected<Error> cannot(const verbs::Device& device, const std::string& what, int number) {
  return std::unexpected(
      Error{.code = number == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::system_failed,
            .fact = "device " + device.name() + " gives no " + what,
            .remedy = number == ENOMEM ? "ulimit -l unlimited, or memlock in /etc/security/limits.conf" : "",
            .system_code = number});
}

void do_not_block(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

} // namespace

Result<std::unique_ptr<ir::Translator>> Verbs::make(const TranslatorSetup& setup) {
  auto made = create({.rank = setup.rank,
                      .size = setup.size,
                      .uid = setup.uid,
                      .wanted = {.device = setup.own->text(verbs::kDevice),
                                 .gid = setup.own->text(verbs::kGid),
                                 .ports = setup.own->number(verbs::kPorts)},
                      .secret = setup.secret,
                      .queue_pairs = static_cast<std::uint32_t>(setup.own->number(verbs::kQueuePairs)),
                      .silence = std::chrono::seconds(setup.own->number(verbs::kSilence)),
                      .log = setup.log});
  if (!made) return std::unexpected(std::move(made.error()));
  return std::move(*made);
}

Result<std::unique_ptr<Verbs>> Verbs::create(const Setup& setup) {
  auto device = verbs::Device::open(setup.wanted);
  if (!device) return std::unexpected(std::move(device.error()));
  if ((*device)->limits().atomic_cap == IBV_ATOMIC_NONE)
    return std::unexpected(
        Error{.code = ErrorCode::unsupported,
              .fact = "device " + (*device)->name() + " has no atomic operations, which connections need",
              .remedy = "name another device in option verbs.device, or use another translator"});
  std::unique_ptr<Verbs> made(new Verbs(setup, std::move(*device)));
  if (auto ready = made->prepare(setup); !ready) return std::unexpected(std::move(ready.error()));
  return made;
}

Verbs::Verbs(const Setup& setup, std::unique_ptr<verbs::Device> device)
    : size_(setup.size),
      rank_(setup.rank),
      uid_(setup.uid),
      most_pairs_(std::max(1U, setup.queue_pairs / 2)),
      silence_(setup.silence),
      log_(setup.log),
      device_(std::move(device)),
      slots_(memory_, Lane::kDepth * sizeof(Slot), kLanesAtOnce),
      large_(memory_, kLargePiece, kLargeAtOnce),
      capabilities_{
          .announces_writes = true,
          .orders_puts = true,
          .atomics = true,
          .atomics_with_processor = device_->limits().atomic_cap == IBV_ATOMIC_GLOB,
          .atomics_on_any_memory = true,
          .reads_any_memory = true,
          .engines = static_cast<std::uint32_t>(device_->ports().size()),
          .inline_bytes = kCopied,
          .largest_transfer = std::min<std::uint64_t>(device_->port().about.max_msg_sz, kMostTransfer) - kLargePiece},
      self_(device_->place()) {}

Result<void> Verbs::prepare(const Setup& setup) {
  const verbs::Library& library = device_->library();
  ibv_context* context = &device_->context();
  channel_ = library.create_comp_channel(context);
  if (channel_ == nullptr) return cannot(*device_, "completion channel", errno);
  const int most = std::min(device_->limits().max_cqe, kMostCompletions);
  most_posted_ = static_cast<std::uint64_t>(most) / 4;
  sent_queue_ = library.create_cq(context, most, nullptr, channel_, 0);
  arrived_queue_ = library.create_cq(context, std::min(most, 8192), nullptr, channel_, 0);
  if (sent_queue_ == nullptr || arrived_queue_ == nullptr) return cannot(*device_, "completion queue", errno);
  room_count_ = static_cast<std::uint32_t>(std::clamp<int>(device_->limits().max_srq_wr, 1, kMostRooms));
  ibv_srq_init_attr wanted{};
  wanted.attr = {.max_wr = room_count_, .max_sge = 1, .srq_limit = 0};
  rooms_ = library.create_srq(&device_->domain(), &wanted);
  if (rooms_ == nullptr) return cannot(*device_, "shared receive queue", errno);
  verbs::Memory::Pool pool(memory_, std::size_t{room_count_} * verbs::kRoomBytes, 1);
  room_memory_ = pool.take();
  if (room_memory_.data == nullptr) return std::unexpected(memory_.refusal("cannot lock", pool.piece_bytes(), errno));
  for (std::uint32_t room = 0; room < room_count_; ++room) give_back(room);
  auto door = verbs::Door::open(*device_, memory_, *arrived_queue_, setup.secret);
  if (!door) return std::unexpected(std::move(door.error()));
  door_ = std::move(*door);
  self_.door = door_->number();
  self_.uid = uid_;
  if (uid_ == 0) auth::draw_randomly(std::as_writable_bytes(std::span(&self_.uid, 1)));
  if (uid_ == 0) self_.uid |= 1U; // never 0
  do_not_block(channel_->fd);
  do_not_block(context->async_fd);
  waiting_ = ::epoll_create1(EPOLL_CLOEXEC);
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  for (const int each : {channel_->fd, context->async_fd, timer_}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = each}};
    if (waiting_ < 0 || ::epoll_ctl(waiting_, EPOLL_CTL_ADD, each, &event) != 0)
      return std::unexpected(
          Error{.code = ErrorCode::out_of_descriptors, .fact = "verbs cannot wait", .system_code = errno});
  }
  return {};
}

Verbs::~Verbs() {
  const verbs::Library& library = device_->library();
  if (door_ != nullptr) {
    // Those who have just called hear of it, too.
    for (int looks = 0; looks < 4; ++looks) hear_arrivals();
    for (auto& [uid, party] : parties_) {
      if (party->gone() || uid == self_.uid) continue;
      verbs::Call goodbye{.subject = verbs::Subject::goodbye, .from = self_, .to = uid, .number = rank_};
      while (door_->call(party->place, goodbye) == verbs::Door::Called::later && !door_->quiet()) hear_arrivals();
    }
    // They leave before their queue pair goes.
    const auto enough = verbs::Clock::now() + std::chrono::milliseconds(200);
    while (!door_->quiet() && verbs::Clock::now() < enough) hear_arrivals();
  }
  for (auto& [uid, party] : parties_) {
    end_lanes(*party, ir::Status::peer_lost);
    for (const auto& incoming : party->incoming) library.destroy_qp(incoming->pair);
  }
  door_.reset();
  if (rooms_ != nullptr) library.destroy_srq(rooms_);
  if (sent_queue_ != nullptr) library.destroy_cq(sent_queue_);
  if (arrived_queue_ != nullptr) library.destroy_cq(arrived_queue_);
  if (channel_ != nullptr) library.destroy_comp_channel(channel_);
  for (const int each : {waiting_, timer_})
    if (each >= 0) ::close(each);
}

std::string Verbs::remark() const {
  std::string text = "device " + device_->name();
  for (const verbs::Port& port : device_->ports())
    text += (&port == &device_->port() ? ", port " : " and ") + std::to_string(port.number);
  if (device_->ethernet())
    text += " on Ethernet (RoCE), address " + std::to_string(device_->port().address(0).index) + " of " +
            std::to_string(device_->port().own.size()) + " alike";
  else
    text += ", LID " + std::to_string(self_.lid) + ", " + std::to_string(1U << self_.lmc) + " paths";
  return text + "; at most " + std::to_string(2 * most_pairs_) + " queue pairs";
}

ir::Address Verbs::address() const {
  verbs::Place place = self_;
  place.bootstrap = bootstrap_;
  return place.pack();
}

Result<void> Verbs::reaches(const ir::Address& address) const {
  const auto place = verbs::Place::unpack(address);
  if (!place) return std::unexpected(place.error());
  const auto refuse = [](const char* fact) {
    return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = fact});
  };
  if ((place->addresses != 0) != device_->ethernet()) return refuse("one is on InfiniBand, the other on Ethernet");
  const bool subnet = std::equal(place->gid.begin(), place->gid.begin() + 8, self_.gid.begin());
  if (!device_->ethernet() && !subnet) return refuse("it is on another InfiniBand subnet");
  return {};
}

Result<ir::ExposedMemory> Verbs::allocate(std::size_t bytes) {
  const bool first = bootstrap_ == ir::MemoryKey{};
  auto made =
      memory_.allocate(bytes, first && is_open_world() ? std::optional(verbs::key_base_of(uid_)) : std::nullopt);
  if (made && first) bootstrap_ = made->place.key;
  return made;
}

Result<ir::RemotePlace> Verbs::attach(ir::Peer peer, const ir::Address& address) {
  const auto refuse = [&](Error error) {
    error.code = ErrorCode::unreachable;
    error.peer = static_cast<std::int64_t>(peer);
    return std::unexpected(std::move(error));
  };
  auto place = verbs::Place::unpack(address);
  if (!place) return refuse(std::move(place.error()));
  if (!is_open_world() && peer_number(peer) >= size_)
    return refuse({.fact = "peer " + std::to_string(peer_number(peer)) + " is not of this job"});
  if (failed_) return refuse({.fact = "device " + device_->name() + " has failed"});
  Party& party = party_of(*place, peer_number(peer));
  if (party.gone())
    return refuse({.fact = party.state == Party::State::left ? "the process at that address has left"
                                                             : "the process at that address has died"});
  if (const auto known = attached_.find(peer_number(peer)); known != attached_.end() && known->second != &party)
    detach(peer);
  if (party.state == Party::State::broken) party.state = Party::State::there;
  if (party.attached && party.number == peer) return ir::RemotePlace{.key = place->bootstrap, .offset = 0};
  if (party.attached) detach(*party.number);
  party.number = peer;
  party.attached = true;
  attached_[peer_number(peer)] = &party;
  gone_.erase(peer_number(peer));
  if (is_open_world()) notify(party, verbs::kAttached, peer);
  return ir::RemotePlace{.key = place->bootstrap, .offset = 0};
}

void Verbs::detach(ir::Peer peer) {
  gone_.erase(peer_number(peer));
  const auto found = attached_.find(peer_number(peer));
  if (found == attached_.end()) return;
  Party& party = *found->second;
  attached_.erase(found);
  party.attached = false;
  let_go(party);
  // In a job it is detached when what has become of it is known, by the store at the latest.
  if (!is_open_world() && party.state == Party::State::breaking) settle(party, Party::State::broken);
  if (is_open_world() && !party.gone()) notify(party, verbs::kDetached, peer);
}

// Every command to it ends now. In an open world, what the adapter has been given is still sent, unless it concerns the caller's memory:
// it may be the last word. In a job, whoever is detached has gone, and would never confirm it.
void Verbs::let_go(Party& party) {
  for (const auto& lane : party.lanes) {
    bool must_end = !is_open_world();
    for (std::uint32_t number = lane->done; number != lane->filled; ++number) {
      Slot& slot = lane->slot(number);
      if (!slot.told) complete(slot.command, ir::Status::peer_lost);
      slot.told = true;
      must_end = must_end || slot.direct;
    }
    if (lane->idle() || !must_end) continue;
    const bool known_there = lane->pair != nullptr;
    drop_pair(*lane);
    while (!lane->idle()) finish(*lane, ir::Status::peer_lost, 0);
    if (known_there) close_lane(*lane);
  }
}

std::size_t Verbs::submit(std::span<const ir::Command> commands) {
  idle_polls_ = 0;
  for (const ir::Command& command : commands) {
    const auto taken = static_cast<std::size_t>(&command - commands.data());
    if (!events_.make_room(under_way_ + 1)) return taken;
    const auto found = attached_.find(peer_number(command.peer));
    if (found == attached_.end()) {
      const auto gone = gone_.find(peer_number(command.peer));
      complete(command, gone == gone_.end() ? ir::Status::peer_lost : gone->second);
    } else if (found->second->state != Party::State::there && found->second->state != Party::State::breaking) {
      complete(command, gone_[peer_number(command.peer)]);
    } else if (!sound(command)) {
      complete(command, ir::Status::refused);
    } else if (!found->second->notices.empty()) {
      return taken; // they come first
      // While it breaks, too: they end as those before them will, and others' go on.
    } else if (const Filled filled = fill(*found->second, command); filled != Filled::taken) {
      if (filled == Filled::not_now) return taken;
      give_up(*found->second, command);
    }
  }
  return commands.size();
}

std::size_t Verbs::poll(std::span<ir::Event> events) {
  hear_arrivals();
  if (posted_ != 0 || under_way_ != 0 || watching_) hear_completions();
  if (!tending_.empty() || !breaking_.empty() || !leaving_.empty()) tend();
  if (owed_notices_ != 0)
    for (auto& [uid, party] : parties_) send_notices(*party);
  if (++idle_polls_ % kIdlePolls == 0 && under_way_ != 0) confirm_all();
  // Whoever submits all the time looks there, too.
  if (++polls_ % kLooksAtDevice == 0) hear_device();
  if (is_open_world() && polls_ % kIdlePolls == 0) watch_peers(verbs::Clock::now());
  if (some_gone_) bury_lanes();
  return events_.pop(events);
}

ir::Resources Verbs::resources() const {
  return {.engines = capabilities_.engines,
          .receive_engines = capabilities_.engines,
          .engine_rate = device_->rate(),
          .node_rate = capabilities_.engines * device_->rate(),
          .startup_ns = 500};
}

std::uint32_t Verbs::paths_to(ir::Peer peer) const {
  const auto found = attached_.find(peer_number(peer));
  return found == attached_.end() ? 1 : found->second->place.paths();
}

// As routing::Location::number has it: the LID, and above it how many LIDs the port has.
std::uint64_t Verbs::location() const {
  return device_->ethernet() ? 0 : (std::uint64_t{self_.lmc} + 1) << 32U | self_.lid;
}

bool Verbs::announce_sleep(By) {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (device_->library().get_cq_event(channel_, &queue, &context) == 0) device_->library().ack_cq_events(queue, 1);
  confirm_all();
  ::ibv_req_notify_cq(arrived_queue_, 0);
  ::ibv_req_notify_cq(sent_queue_, 0);
  // Calls are made again, and peers watched, by who is awake.
  const bool calls = !tending_.empty() || !breaking_.empty() || !leaving_.empty();
  if (calls || is_open_world() || timer_runs_) {
    itimerspec due{};
    if (calls) due.it_value.tv_nsec = std::chrono::nanoseconds(kWhileCalling).count();
    if (!calls && is_open_world()) due.it_value.tv_sec = 1;
    ::timerfd_settime(timer_, 0, &due, nullptr); // also forgets that it has run out
  }
  timer_runs_ = calls || is_open_world();
  if (is_open_world()) watch_peers(verbs::Clock::now());
  return true;
}

void Verbs::cancel_sleep() {
  hear_device();
}

void Verbs::sleep(std::chrono::nanoseconds limit) {
  epoll_event event{};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  ::epoll_wait(waiting_, &event, 1, static_cast<int>(std::min<std::int64_t>(milliseconds, 1 << 30)));
  cancel_sleep();
}

Result<int> Verbs::descriptor() {
  return waiting_;
}

} // namespace heddle::translators

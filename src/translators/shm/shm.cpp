#include "translators/shm/shm.hpp"

#include "segments/sleep_flag.hpp"
#include "translators/execute.hpp"
#include "translators/register_entry.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <system_error>

namespace heddle::translators {

namespace {

// The two kinds of place: an offset into the owner's segment, or an address in its private memory.
constexpr ir::MemoryKey kInSegment{1};
constexpr ir::MemoryKey kPrivate{2};

// Beside rings: bootstrap memory, one cache line for each peer's reports, and a board for collectives. Only what is used takes memory.
constexpr std::uint64_t kFixedBytes = 320 << 10;
constexpr std::uint64_t kBytesPerPeer = 64;

// How long a sleeper naps where the kernel cannot order it against writers, and so a wake-up could be missed.
constexpr std::chrono::nanoseconds kNap = std::chrono::microseconds(100);

struct Published {
  SegmentName segment;
  std::uint64_t node = 0;
};
static_assert(sizeof(Published) <= sizeof(ir::ShortAddress::bytes));

template <typename Bytes>
Published read_published(const Bytes& bytes) {
  Published published;
  std::memcpy(&published, bytes.data(), sizeof published);
  return published;
}

// 0 when the process's memory can be read, otherwise the errno of the attempt.
int try_read(std::int32_t process, std::uint64_t address, std::uint64_t expected) {
  std::uint64_t found = 0;
  const iovec local{.iov_base = &found, .iov_len = sizeof found};
  const iovec remote{.iov_base = reinterpret_cast<void*>(address), .iov_len = sizeof found};
  if (::process_vm_readv(process, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(sizeof found)) return errno;
  return found == expected ? 0 : EFAULT;
}

// Peers' segments are mapped when they are first talked to; whether all would fit is said at once.
Result<void> check_address_space(std::uint64_t segment, std::uint32_t processes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  if (segment <= left / processes) return {};
  return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                               .fact = std::to_string(segment * processes) + " bytes of shared memory of " +
                                       std::to_string(processes) + " processes do not fit into the " +
                                       std::to_string(left) + " bytes that the limit of the address space leaves",
                               .remedy = "raise the limit (ulimit -v), or set the option ring_memory lower",
                               .system_code = ENOMEM});
}

} // namespace

Result<std::unique_ptr<Shm>> Shm::create(const Config& config) {
  const std::uint32_t peers = config.uid != 0 ? segments::kMostGuests : config.size;
  const std::uint64_t book = config.uid != 0 ? sizeof(GuestBook) : 0;
  const std::uint64_t bytes = kFixedBytes + config.ring_memory + peers * kBytesPerPeer + area_table_bytes(peers) + book;
  if (auto enough = check_address_space(bytes, config.size); !enough) return std::unexpected(enough.error());
  auto segment = Segment::create(bytes);
  if (!segment) return std::unexpected(segment.error());
  SegmentHeader& header = segment->mapping().header();
  header.bootstrap = sizeof(SegmentHeader);
  if (book != 0) {
    const auto offset = segment->allocate(book);
    if (!offset) return std::unexpected(offset.error());
    header.guests = *offset;
    header.bootstrap = *offset + book;
  }
  std::unique_ptr<Shm> shm(new Shm(config, std::move(*segment)));
  const bool readable = shm->capabilities_.reads_any_memory;
  if (config.cross_memory == CrossMemory::require && !readable)
    return std::unexpected(
        Error{.code = ErrorCode::system_failed,
              .fact = "the kernel refuses to read another process's memory (process_vm_readv)",
              .remedy = "allow it (seccomp profile, CAP_SYS_PTRACE), or set shm.cross_memory to automatic",
              .system_code = shm->read_refusal_});
  if (config.cross_memory == CrossMemory::automatic && !readable)
    config.log.warning(
        "the kernel refuses to read another process's memory: large messages are copied through the rings");
  return shm;
}

Shm::Shm(const Config& config, Segment segment)
    : log_(config.log),
      wish_(config.cross_memory),
      rank_(config.rank),
      node_(config.node),
      segment_(std::move(segment)),
      processes_(config.uid != 0 ? segments::kMostGuests : config.size),
      uid_(config.uid) {
  if (uid_ != 0)
    guests_.emplace(*reinterpret_cast<GuestBook*>(segment_.mapping().data() + segment_.mapping().header().guests));
  std::random_device random;
  nonce_ = std::make_unique<std::uint64_t>((static_cast<std::uint64_t>(random()) << 32U) | random());
  segment_.mapping().header().sample = {.address = reinterpret_cast<std::uint64_t>(nonce_.get()), .value = *nonce_};
  // Where the kernel lets only parents read their children (Yama), this process agrees to be read by its peers.
  if (wish_ != CrossMemory::off) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (wish_ != CrossMemory::off)
    read_refusal_ = try_read(::getpid(), reinterpret_cast<std::uint64_t>(nonce_.get()), *nonce_);
  wakes_at_once_ = Kernel::take_part_in_barriers();
  capabilities_ = {.announces_writes = false,
                   .orders_puts = true,
                   .atomics = true,
                   .atomics_with_processor = true,
                   .reads_any_memory = wish_ != CrossMemory::off && read_refusal_ == 0,
                   .processor_copies = true,
                   .engines = 1,
                   .inline_bytes = std::numeric_limits<std::uint32_t>::max(),
                   .largest_transfer = std::numeric_limits<std::uint32_t>::max()};
}

Shm::~Shm() {
  segments::close_gate(segment_.mapping().header().gate);
  if (guests_) {
    guests_->turn_all_away();
    guests_->each_segment([](const SegmentName& guest) { nudge(guest); });
  }
  for (const auto& peer : attached_)
    if (peer != nullptr) sign_out(*peer);
  segments::close_and_drain(segment_.mapping().header().gate);
}

template Entry entry_of<Shm>();

Result<std::unique_ptr<ir::Translator>> Shm::make(const TranslatorSetup& setup) {
  return create({.rank = setup.rank,
                 .size = setup.size,
                 .uid = setup.uid,
                 .node = setup.node,
                 .ring_memory = setup.settings->ring_memory,
                 .cross_memory = setup.own->choice<CrossMemory>(shm::kCrossMemory),
                 .log = setup.log});
}

std::string Shm::remark() const {
  if (wish_ == CrossMemory::off)
    return "cross-memory read is not used: option shm.cross_memory is off; large messages are copied through the rings";
  if (read_refusal_ != 0)
    return "cross-memory read does not work: the kernel refuses process_vm_readv (" +
           std::generic_category().message(read_refusal_) +
           "); large messages are copied through the rings; a seccomp profile that allows it, or CAP_SYS_PTRACE, helps";
  return "cross-memory read works: tried at start on this process, and again on each peer when it is first talked to";
}

ir::ShortAddress Shm::short_address() const {
  const Published published{
      .segment = {.process = ::getpid(), .descriptor = segment_.descriptor(), .inode = segment_.inode()},
      .node = node_};
  ir::ShortAddress address{.size = sizeof published};
  std::memcpy(address.bytes.data(), &published, sizeof published);
  return address;
}

Result<ir::Address> Shm::whole_address(std::uint64_t, std::span<const std::byte> shortened) const {
  if (shortened.size() != sizeof(Published))
    return std::unexpected(
        Error{.code = ErrorCode::unreachable, .fact = "its name has no address in shared memory that can be read"});
  ir::Address address{};
  std::ranges::copy(shortened, address.begin());
  return address;
}

ir::Address Shm::address() const {
  return *whole_address(uid_, short_address().used());
}

Result<void> Shm::reaches(const ir::Address& address) const {
  if (read_published(address).node == node_) return {};
  return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "it is on another machine"});
}

Result<ir::ExposedMemory> Shm::allocate(std::size_t bytes) {
  auto offset = segment_.allocate(bytes);
  if (!offset) return std::unexpected(offset.error());
  return ir::ExposedMemory{.memory = {segment_.mapping().data() + *offset, bytes},
                           .place = {.key = kInSegment, .offset = *offset}};
}

void Shm::deallocate(const ir::ExposedMemory& memory) {
  segment_.deallocate(memory.place.offset);
}

Result<ir::RemotePlace> Shm::expose(std::span<std::byte> memory) {
  if (!capabilities_.reads_any_memory)
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "peers cannot reach private memory: shm.cross_memory is off or the kernel refuses it",
              .remedy = "allocate the memory from the translator"});
  return ir::RemotePlace{.key = kPrivate, .offset = reinterpret_cast<std::uint64_t>(memory.data())};
}

OwnAreas& Shm::own_areas() {
  if (own_areas_ == nullptr) own_areas_ = std::make_unique<OwnAreas>(segment_, processes_, wakes_at_once_);
  return *own_areas_;
}

Result<ir::ExposedMemory> Shm::allocate_area(std::size_t bytes) {
  const auto made = own_areas().allocate(bytes);
  if (!made) return std::unexpected(made.error());
  return ir::ExposedMemory{.memory = made->memory, .place = {.key = ir::MemoryKey{made->key}, .offset = 0}};
}

Result<ir::RemotePlace> Shm::expose_area(std::span<std::byte> memory) {
  if (auto reachable = expose(memory); !reachable) return reachable;
  const auto made = own_areas().expose(memory);
  if (!made) return std::unexpected(made.error());
  return ir::RemotePlace{.key = ir::MemoryKey{made->key}, .offset = 0};
}

Result<void> Shm::close_area(const ir::RemotePlace& place) {
  return own_areas().close(static_cast<std::uint64_t>(place.key));
}

void Shm::release_area(const ir::ExposedMemory& memory) {
  own_areas().release(static_cast<std::uint64_t>(memory.place.key));
}

ir::DirectArea Shm::direct_area(ir::Peer peer, const ir::RemotePlace& place, std::uint64_t bytes) {
  Attached* found = find(peer);
  if (found == nullptr || !is_area_key(place.key)) return {};
  const PeerAreas::Area* area =
      found->areas.find(found->mapping, found->number, static_cast<std::uint64_t>(place.key), !wakes_at_once_).area;
  if (area == nullptr || !area->direct.exists() || place.offset > area->bytes || bytes > area->bytes - place.offset)
    return {};
  ir::DirectArea direct = area->direct;
  direct.memory += place.offset;
  if (reinterpret_cast<std::uintptr_t>(direct.memory) % kWord != 0) return {}; // as no owner of the library's gives it
  return direct;
}

void Shm::leave_area(ir::Peer peer, const ir::RemotePlace& place) {
  if (Attached* found = find(peer)) found->areas.leave(static_cast<std::uint64_t>(place.key));
}

Result<ir::RemotePlace> Shm::attach(ir::Peer peer, const ir::Address& address) {
  const auto rank = static_cast<std::uint32_t>(peer);
  if (uid_ == 0 && rank >= processes_)
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument,
        .fact = "rank " + std::to_string(rank) + " is outside the job of " + std::to_string(processes_) + " processes",
        .peer = rank});
  if (rank >= attached_.size()) attached_.resize(rank + 1);
  if (attached_[rank] == nullptr) {
    auto made = meet(peer, address);
    if (!made) return std::unexpected(std::move(made.error()));
    attached_[rank] = std::move(*made);
  }
  return ir::RemotePlace{.key = kInSegment, .offset = attached_[rank]->mapping.header().bootstrap};
}

Result<std::unique_ptr<Shm::Attached>> Shm::meet(ir::Peer peer, const ir::Address& address) {
  const Published published = read_published(address);
  const auto turn_away = [&](Error error) -> std::unexpected<Error> {
    if (guests_) { // it may wait for an answer
      guests_->turn_away(published.segment.process, published.segment.inode);
      if (error.code == ErrorCode::unreachable)
        error.remedy = "it has ended, closed that context, or is another user's: ask for its name again";
    }
    error.peer = static_cast<std::int64_t>(peer);
    return std::unexpected(std::move(error));
  };
  auto mapping = segments::map_segment(published.segment);
  if (!mapping) return turn_away(mapping.error());
  auto made = std::make_unique<Attached>();
  made->mapping = std::move(*mapping);
  made->process = published.segment.process;
  made->segment = published.segment.inode;
  made->gate = &made->mapping.header().gate;
  made->number = rank_;
  if (uid_ != 0) {
    if (auto signed_in = sign_in(*made, static_cast<std::uint32_t>(peer)); !signed_in)
      return turn_away(std::move(signed_in.error()));
  }
  const segments::GatedAccess access(*made->gate); // while it lasts, the peer keeps what is read here
  const auto sample = made->mapping.header().sample;
  const int refusal = capabilities_.reads_any_memory ? try_read(made->process, sample.address, sample.value) : 0;
  made->cross_memory = capabilities_.reads_any_memory && refusal == 0;
  // One that has left or died is no refusal: others tell of that.
  if (refusal != 0 && refusal != ESRCH && access.allowed() && !told_refusal_) {
    try {
      log_.warning("the kernel refuses to read the memory of rank " + std::to_string(static_cast<std::uint32_t>(peer)) +
                   ": large messages from it are copied through the rings");
      told_refusal_ = true;
    } catch (const std::bad_alloc&) { // the next peer will do
    }
  }
  return made;
}

void Shm::detach(ir::Peer peer) {
  Attached* found = find(peer);
  if (found == nullptr) return;
  // One that was never written to stays for reasons of its own.
  if (guests_ && found->written) guests_->turn_away(found->process, found->segment);
  sign_out(*found);
  attached_[static_cast<std::uint32_t>(peer)].reset();
}

Shm::Attached* Shm::find(ir::Peer peer) const {
  const auto rank = static_cast<std::uint32_t>(peer);
  return rank < attached_.size() ? attached_[rank].get() : nullptr;
}

std::byte* Shm::reach(const Attached& peer, const ir::RemotePlace& place, std::uint64_t bytes) {
  if (place.key != kInSegment || place.offset > peer.mapping.bytes() || bytes > peer.mapping.bytes() - place.offset)
    return nullptr;
  return peer.mapping.data() + place.offset;
}

ir::DirectRing Shm::direct_ring(ir::Peer peer, const ir::RemotePlace& place, std::uint64_t bytes) {
  const Attached* found = find(peer);
  std::byte* memory = found == nullptr ? nullptr : reach(*found, place, bytes);
  if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % kWord != 0) return {};
  return {.memory = memory, .asleep = &found->mapping.header().asleep, .peer = peer};
}

void Shm::wake(ir::Peer peer) {
  if (Attached* found = find(peer)) wake(*found);
}

void Shm::wake(Attached& peer) {
  SegmentHeader& header = peer.mapping.header();
  segments::wake_sleeper<Kernel>(header.asleep, [&] { peer.bell.ring(peer.process, header.bell); });
}

std::size_t Shm::submit(std::span<const ir::Command> commands) {
  for (const ir::Command& command : commands) {
    if (!events_.make_room()) [[unlikely]] // back-pressure, until there is memory
      return static_cast<std::size_t>(&command - commands.data());
    Attached* peer = find(command.peer);
    if (peer == nullptr) [[unlikely]] {
      report(command, {.status = ir::Status::peer_lost});
      continue;
    }
    report(command, execute(*peer, command));
    wake_if_asleep(*peer);
  }
  return commands.size();
}

Shm::Outcome Shm::execute(Attached& peer, const ir::Command& command) {
  peer.written = peer.written || command.operation == ir::Operation::put;
  if (command.remote.key == kPrivate) return copy_across(peer, command, 0);
  if (is_area_key(command.remote.key)) return execute_in_area(peer, command);
  if (command.remote.key != kInSegment) return {.status = ir::Status::refused};
  return execute_on(peer.mapping.data(), peer.mapping.bytes(), command);
}

Shm::Outcome Shm::execute_in_area(Attached& peer, const ir::Command& command) {
  const auto key = static_cast<std::uint64_t>(command.remote.key);
  const PeerAreas::Found found = peer.areas.find(peer.mapping, peer.number, key, !wakes_at_once_);
  if (found.area == nullptr) {
    const bool lost = found.status == ir::Status::failed && segments::has_ended(peer.process);
    return {.status = lost ? ir::Status::peer_lost : found.status, .vendor_code = found.error};
  }
  PeerAreas::Area* area = found.area;
  if (!area->direct.enter()) {
    peer.areas.leave(key);
    return {.status = ir::Status::refused};
  }
  const bool inside = command.remote.offset <= area->bytes && command.bytes <= area->bytes - command.remote.offset;
  Outcome outcome{.status = ir::Status::refused};
  if (area->direct.exists())
    outcome = execute_on(area->direct.memory, area->bytes, command);
  else if (inside)
    outcome = copy_across(peer, command, area->address);
  area->direct.leave();
  return outcome;
}

Shm::Outcome Shm::execute_on(std::byte* memory, std::uint64_t room, const ir::Command& command) {
  const std::uint64_t bytes = extent_of(command);
  if (command.remote.offset > room || bytes > room - command.remote.offset) return {.status = ir::Status::refused};
  std::byte* at = memory + command.remote.offset;
  if (!is_sound(command, at)) return {.status = ir::Status::refused};
  return {.value = translators::execute(command, at)};
}

Shm::Outcome Shm::copy_across(const Attached& peer, const ir::Command& command, std::uint64_t base) {
  const bool is_get = command.operation == ir::Operation::get;
  const bool plain_put = command.operation == ir::Operation::put && command.head_bytes == 0 &&
                         !ir::has(command.flags, ir::Flags::lead_last) &&
                         !ir::has(command.flags, ir::Flags::terminated);
  if (!peer.cross_memory || !(is_get || plain_put)) return {.status = ir::Status::refused};
  const segments::GatedAccess access(*peer.gate);
  if (!access.allowed()) return {.status = ir::Status::peer_left};
  std::uint64_t moved = 0;
  while (moved < command.bytes) {
    const iovec local{.iov_base = command.local + moved, .iov_len = command.bytes - moved};
    const iovec remote{.iov_base = reinterpret_cast<void*>(base + command.remote.offset + moved),
                       .iov_len = command.bytes - moved};
    const ssize_t count = is_get ? ::process_vm_readv(peer.process, &local, 1, &remote, 1, 0)
                                 : ::process_vm_writev(peer.process, &local, 1, &remote, 1, 0);
    if (count <= 0) {
      const int error = count == 0 ? EFAULT : errno;
      return {.status = error == ESRCH ? ir::Status::peer_lost : ir::Status::refused, .vendor_code = error};
    }
    moved += static_cast<std::uint64_t>(count);
  }
  return {};
}

void Shm::report(const ir::Command& command, const Outcome& outcome) {
  events_.complete(command, outcome.status, outcome.value, outcome.vendor_code);
}

bool Shm::announce_sleep(By by) {
  SegmentHeader& header = segment_.mapping().header();
  const bool by_bell = by == By::descriptor && bell_;
  sleeps_ordered_ = segments::announce_sleep<Kernel>(header.asleep, wakes_at_once_,
                                                     by_bell ? segments::kAsleepByBell : segments::kAsleepOnWord);
  return sleeps_ordered_ && (by == By::sleep || by_bell);
}

void Shm::cancel_sleep() {
  segments::cancel_sleep<Kernel>(segment_.mapping().header().asleep);
  if (bell_) bell_->quiet();
}

Result<int> Shm::descriptor() {
  if (!bell_) {
    auto made = segments::Bell::create();
    if (!made) return std::unexpected(made.error());
    segment_.mapping().header().bell = made->name();
    bell_ = std::move(*made);
  }
  if (uid_ == 0) return bell_->descriptor();
  if (!poller_.open()) { // deaths make it readable, too
    base::Descriptor both(::epoll_create1(EPOLL_CLOEXEC));
    for (const int each : {bell_->descriptor(), watch_.descriptor()}) {
      epoll_event wanted{.events = EPOLLIN, .data = {}};
      if (!both.open() || ::epoll_ctl(both.number(), EPOLL_CTL_ADD, each, &wanted) != 0)
        return std::unexpected(Error{.code = ErrorCode::system_failed,
                                     .fact = "cannot create a descriptor to sleep on",
                                     .remedy = "raise the limit on open files (ulimit -n)",
                                     .system_code = errno});
    }
    poller_ = std::move(both);
  }
  return poller_.number();
}

void Shm::sleep(std::chrono::nanoseconds limit) {
  if (!sleeps_ordered_) limit = std::min(limit, kNap);
  segments::sleep_announced<Kernel>(segment_.mapping().header().asleep, limit);
}

} // namespace heddle::translators

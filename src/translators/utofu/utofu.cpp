#include "translators/utofu/utofu.hpp"

#include "translators/area_keys.hpp"
#include "translators/register_entry.hpp"
#include "translators/utofu/post.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace heddle::translators {

template Entry entry_of<Utofu>();

namespace {

constexpr std::uint64_t kLargestTransfer = std::uint64_t{8} << 20U; // clients split at 8 MiB; 16 MiB is refused
constexpr std::uint64_t kMostInline = 8192;
constexpr std::size_t kScratch = 64;
constexpr std::uint32_t kTags = 256;
constexpr utofu_cmp_id_t kComponent = 0; // of every queue, at every process
// An answer takes microseconds, and no process takes part in it.
constexpr std::chrono::seconds kNoAnswer{2};

std::unexpected<Error> no_use(const std::string& fact) {
  return std::unexpected(Error{.code = ErrorCode::unsupported,
                               .fact = fact,
                               .remedy = "name other translators, or see that this process may use Tofu"});
}

template <typename Condition>
bool wait(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kNoAnswer;
  while (!condition())
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

} // namespace

Result<std::unique_ptr<ir::Translator>> Utofu::make(const TranslatorSetup& setup) {
  if (setup.uid != 0) return no_use("uTofu serves jobs, not open worlds: its processes are known by rank");
  const auto api = utofu::Library::load(setup.own->text(utofu::kLibrary));
  if (!api) return std::unexpected(api.error());
  std::unique_ptr<Utofu> made(new Utofu(*api, setup));
  auto ready = made->open(setup.own->number(utofu::kEngines));
  if (ready) ready = made->settle();
  if (!ready) return std::unexpected(std::move(ready.error()));
  return made;
}

Utofu::Utofu(const utofu::Library& api, const TranslatorSetup& setup)
    : api_(api),
      rank_(setup.rank),
      where_{.salt = AreaKeys::secret().draw() | 1U},
      memory_(api_, vcqs_, where_.salt),
      peers_(setup.size) {}

// One queue more than a single engine needs: between two it is found out whether notices name who has put.
Result<void> Utofu::open(std::size_t most) {
  utofu_tni_id_t* tnis = nullptr;
  std::size_t count = 0;
  int code = api_.get_onesided_tnis(&tnis, &count);
  most = std::min(count, most);
  for (std::size_t i = 0; code == UTOFU_SUCCESS && most > 0 && i < std::max<std::size_t>(most, 2); ++i) {
    utofu::Vcq vcq;
    code = api_.create_vcq_with_cmp_id(tnis[i % count], kComponent, 0, &vcq.handle);
    if (code != UTOFU_SUCCESS) break; // others have what there is: fewer engines
    api_.query_vcq_id(vcq.handle, &vcq.id);
    api_.set_vcq_id_path(&vcq.id, nullptr);
    vcqs_.push_back(vcq);
  }
  std::free(tnis);
  if (vcqs_.empty()) return no_use("uTofu has no queue for this process: code " + std::to_string(code));
  where_.named = vcqs_.size() > 1 && notices_name(vcqs_[1]);
  if (vcqs_.size() > most) {
    api_.free_vcq(vcqs_.back().handle);
    vcqs_.pop_back();
  }
  for (std::size_t i = 0; i < vcqs_.size(); ++i) {
    utofu_tni_id_t tni = 0;
    utofu_cq_id_t cq = 0;
    std::uint16_t unknown = 0;
    api_.query_vcq_info(vcqs_[i].id, where_.coords.data(), &tni, &cq, &unknown);
    where_.tni[i] = static_cast<std::uint8_t>(tni);
    where_.cq[i] = static_cast<std::uint8_t>(cq);
    where_.engines = static_cast<std::uint8_t>(i + 1);
    if (id_of(where_, i, 0) != vcqs_[i].id) return no_use("uTofu makes other queue ids than it tells");
  }
  engines_.resize(vcqs_.size());
  for (Engine& engine : engines_) engine.held.resize(peers_.size());
  if (rank_ < peers_.size()) peers_[rank_].where = where_;
  return {};
}

// No public source tells. Where they do not, rings are looked at instead.
bool Utofu::notices_name(const utofu::Vcq& sender) {
  std::uint64_t word = 0;
  utofu_stadd_t there = 0;
  if (api_.reg_mem(vcqs_[0].handle, &word, sizeof word, 0, &there) != UTOFU_SUCCESS) return false;
  utofu::Post post(api_, {.vcq = sender.handle, .id = vcqs_[0].id}, utofu::Post::kMostDescriptor);
  post.piggyback(&there, there, sizeof word, 0, utofu::Post::kTells);
  utofu_mrq_notice notice{.notice_type = UTOFU_MRQ_TYPE_RMT_ARMW};
  utofu_mrq_notice nothing{};
  if (post.send(0) == UTOFU_SUCCESS)
    wait([&] {
      api_.poll_mrq(sender.handle, 0, &nothing);
      return api_.poll_mrq(vcqs_[0].handle, 0, &notice) == UTOFU_SUCCESS;
    });
  api_.dereg_mem(vcqs_[0].handle, there, 0);
  return notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT && plain(notice.vcq_id) == sender.id;
}

Result<void> Utofu::settle() {
  utofu_onesided_caps* caps = nullptr;
  if (api_.query_onesided_caps(where_.tni[0], &caps) != UTOFU_SUCCESS || caps->num_reserved_stags < kTags ||
      caps->max_piggyback_size < utofu::Post::kMostPiggyback || caps->max_toq_desc_size > utofu::Post::kMostDescriptor)
    return no_use("this Tofu lacks what is relied on: 256 tags, 32 bytes with a command, descriptors of at most 128");
  desc_bytes_ = caps->max_toq_desc_size;
  can_ = {.announces_writes = where_.named,
          .announces_reads = where_.named,
          .orders_puts = true,
          .atomics = true,
          .atomics_on_any_memory = true,
          .reads_any_memory = true,
          .engines = static_cast<std::uint32_t>(vcqs_.size()),
          .inline_bytes = kMostInline,
          .largest_transfer = std::min<std::uint64_t>(kLargestTransfer, caps->max_putget_size)};
  auto own = memory_.allocate(sizeof(Identity) + kScratch);
  if (!own) return std::unexpected(std::move(own.error()));
  identity_ = new (own->memory.data()) Identity{.salt = where_.salt, .rank = rank_};
  scratch_ = own->memory.data() + sizeof(Identity);
  take_gates();
  return {};
}

// What is under way reads and writes memory of this process: it is waited for. A queue on which it does not end is not given back, nor is memory.
Utofu::~Utofu() {
  const bool quiet = wait([this] {
    try {
      poll_engines();
    } catch (const std::bad_alloc&) { // of events, which nobody will read
    }
    return drained();
  });
  if (!gates_.empty()) api_.free_vbg(gates_.data(), gates_.size());
  if (!quiet) return;
  for (std::size_t engine = 0; engine < engines_.size(); ++engine)
    for (Slot& slot : engines_[engine].slots) give_back(engine, slot);
  memory_.withdraw_all();
  for (const utofu::Vcq& vcq : vcqs_) api_.free_vcq(vcq.handle);
}

std::string Utofu::remark() const {
  std::string at;
  for (const std::uint8_t each : where_.coords) at += (at.empty() ? "" : ".") + std::to_string(each);
  return api_.where + ", " + std::to_string(vcqs_.size()) + " engines, at " + at +
         (where_.named ? "" : "; its notices do not tell who has written, so that memory is looked at instead");
}

ir::Address Utofu::address() const {
  ir::Address address{};
  static_assert(sizeof where_ <= sizeof address && offsetof(Identity, bell) % 64 == 0);
  std::memcpy(address.data(), &where_, sizeof where_);
  return address;
}

Result<Utofu::Where> Utofu::where_is(const ir::Address& address) const {
  Where where;
  std::memcpy(&where, address.data(), sizeof where);
  if (where.engines >= 1 && where.engines <= where.tni.size() && where.salt != 0 && id_of(where, 0, 0) != 0)
    return where;
  return std::unexpected(
      Error{.code = ErrorCode::unreachable, .fact = "what it has published is no address on a Tofu network"});
}

// Both sides must go by notices, or neither.
Result<void> Utofu::reaches(const ir::Address& address) const {
  auto where = where_is(address);
  if (!where) return std::unexpected(std::move(where.error()));
  if (where->named == where_.named) return {};
  return std::unexpected(
      Error{.code = ErrorCode::unreachable,
            .fact = "one of the two processes could not find out whether Tofu's notices name senders",
            .remedy = "see that each process may have two queues"});
}

utofu_vcq_id_t Utofu::plain(utofu_vcq_id_t id) const {
  api_.set_vcq_id_path(&id, nullptr);
  return id;
}

utofu_stadd_t Utofu::bell_of(utofu_vcq_id_t id) const {
  utofu_stadd_t first = 0;
  api_.query_stadd(id, utofu::Memory::kFirstTag, &first);
  return first + offsetof(Identity, bell);
}

utofu_vcq_id_t Utofu::id_of(const Where& where, std::size_t engine, std::uint32_t path) const {
  utofu_vcq_id_t id = 0;
  auto coords = where.coords;
  if (api_.construct_vcq_id(coords.data(), where.tni[engine], where.cq[engine], kComponent, &id) != UTOFU_SUCCESS)
    return 0;
  std::array<std::uint8_t, 3> by = path_coords(path % kPaths);
  api_.set_vcq_id_path(&id, path % kPaths == 0 ? nullptr : by.data());
  return id;
}

std::vector<utofu_vcq_id_t> Utofu::ids_of(const Where& where, std::uint32_t path) const {
  std::vector<utofu_vcq_id_t> ids;
  for (std::size_t engine = 0; engine < where.engines; ++engine) ids.push_back(id_of(where, engine, path));
  return ids;
}

Result<ir::ExposedMemory> Utofu::allocate(std::size_t bytes) {
  auto made = memory_.allocate(bytes);
  if (made && identity_->bootstrap.key == ir::MemoryKey{}) identity_->bootstrap = made->place;
  return made;
}

Result<void> Utofu::close_area(const ir::RemotePlace& place) {
  memory_.withdraw(place);
  return {};
}

Utofu::Peer* Utofu::attached(ir::Peer peer) {
  const auto number = static_cast<std::size_t>(peer);
  return number < peers_.size() && peers_[number].attached ? &peers_[number] : nullptr;
}

void Utofu::expect(ir::Peer peer, const ir::Address& address) {
  const auto number = static_cast<std::size_t>(peer);
  if (number < peers_.size()) peers_[number].where = where_is(address).value_or(Where{});
}

Result<ir::RemotePlace> Utofu::attach(ir::Peer number, const ir::Address& address) {
  if (const Peer* known = attached(number); known != nullptr) return known->bootstrap;
  const auto identity = look_at(number, address);
  if (!identity) return std::unexpected(identity.error());
  Peer& peer = peers_[static_cast<std::size_t>(number)];
  peer = {.attached = true, .where = *where_is(address), .bootstrap = identity->bootstrap};
  peer.ids = ids_of(peer.where, 0);
  return peer.bootstrap;
}

Result<Utofu::Identity> Utofu::look_at(ir::Peer number, const ir::Address& address) {
  const auto rank = static_cast<std::uint32_t>(number);
  const auto unreachable = [rank](std::string fact) {
    return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = std::move(fact), .peer = rank});
  };
  if (rank >= peers_.size()) return unreachable("the job has " + std::to_string(peers_.size()) + " processes");
  const auto where = where_is(address);
  if (!where) return unreachable(where.error().fact);
  const Peer there{.where = *where, .ids = ids_of(*where, 0)};
  Identity found;
  ir::Command command;
  command.operation = ir::Operation::get;
  command.peer = number;
  command.remote = utofu::place::pack({.tag = utofu::Memory::kFirstTag, .size = sizeof found}, where->salt);
  command.local = reinterpret_cast<std::byte*>(&found);
  command.bytes = sizeof found;
  looked_.reset();
  Taken asked = Taken::not_now;
  wait([&] {
    ir::Status end{};
    if (asked == Taken::not_now) asked = carry(there, command, end, true);
    if (asked == Taken::ended) looked_ = end;
    poll_engines();
    return looked_.has_value();
  });
  for (Engine& engine : engines_) {
    for (Slot& slot : engine.slots) {
      if (!slot.looks) continue;
      slot.looks = false; // it may be answered later, and `found` is gone then
      slot.target = {};
    }
  }
  if (!looked_) return unreachable("it does not answer on the Tofu network");
  if (*looked_ != ir::Status::ok) return unreachable("nobody has the queue where it was");
  if (found.salt != where->salt || found.rank != rank) return unreachable("another process is where it was");
  return found;
}

} // namespace heddle::translators

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

Error no_use(const std::string& fact) {
  return {.code = ErrorCode::unsupported,
          .fact = fact,
          .remedy = "name other translators, or see that this process may use Tofu"};
}

} // namespace

Result<std::unique_ptr<ir::Translator>> Utofu::make(const TranslatorSetup& setup) {
  if (setup.uid != 0)
    return std::unexpected(no_use("uTofu serves jobs, not open worlds: its processes are known by rank"));
  return create({.rank = setup.rank,
                 .size = setup.size,
                 .library = setup.own->text(utofu::kLibrary),
                 .engines = setup.own->number(utofu::kEngines)});
}

Result<std::unique_ptr<Utofu>> Utofu::create(const Config& config) {
  const auto api = utofu::load(config.library);
  if (!api) return std::unexpected(api.error());
  Where where;
  auto vcqs = open(**api, config.engines, where);
  if (!vcqs) return std::unexpected(std::move(vcqs.error()));
  where.salt = AreaKeys::secret().draw() | 1U;
  std::unique_ptr<Utofu> made(new Utofu(**api, config, std::move(*vcqs), where));
  if (auto settled = made->settle(); !settled) return std::unexpected(std::move(settled.error()));
  return made;
}

Result<std::vector<utofu::Vcq>> Utofu::open(const utofu::Library& api, std::size_t most, Where& where) {
  utofu_tni_id_t* tnis = nullptr;
  std::size_t count = 0;
  int code = api.get_onesided_tnis(&tnis, &count);
  std::vector<utofu::Vcq> vcqs;
  for (std::size_t i = 0; code == UTOFU_SUCCESS && i < std::min(count, most); ++i) {
    utofu::Vcq vcq;
    if ((code = api.create_vcq_with_cmp_id(tnis[i], kComponent, 0, &vcq.handle)) != UTOFU_SUCCESS)
      break; // others have what there is: fewer engines
    utofu_tni_id_t tni = 0;
    utofu_cq_id_t cq = 0;
    std::uint16_t unknown = 0;
    utofu_vcq_id_t made = 0;
    api.query_vcq_id(vcq.handle, &vcq.id);
    api.query_vcq_info(vcq.id, where.coords.data(), &tni, &cq, &unknown);
    vcqs.push_back(vcq);
    where.tni[i] = static_cast<std::uint8_t>(tni);
    where.cq[i] = static_cast<std::uint8_t>(cq);
    where.engines = static_cast<std::uint8_t>(i + 1);
    api.construct_vcq_id(where.coords.data(), tni, cq, kComponent, &made);
    api.set_vcq_id_path(&made, nullptr);
    api.set_vcq_id_path(&vcqs.back().id, nullptr);
    if (made != vcqs.back().id) code = UTOFU_ERR_NOT_SUPPORTED;
  }
  std::free(tnis);
  if (!vcqs.empty() && code != UTOFU_ERR_NOT_SUPPORTED) return vcqs;
  for (const utofu::Vcq& vcq : vcqs) api.free_vcq(vcq.handle);
  if (code == UTOFU_ERR_NOT_SUPPORTED) return std::unexpected(no_use("uTofu makes other queue ids than it tells"));
  return std::unexpected(no_use("uTofu has no queue for this process: code " + std::to_string(code)));
}

Utofu::Utofu(const utofu::Library& api, const Config& config, std::vector<utofu::Vcq> vcqs, const Where& where)
    : api_(api),
      rank_(config.rank),
      where_(where),
      vcqs_(std::move(vcqs)),
      memory_(api, vcqs_, where.salt),
      engines_(vcqs_.size()),
      peers_(config.size) {
  for (Engine& engine : engines_) engine.held.resize(peers_.size() + 1);
}

template <typename Condition>
bool Utofu::wait(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kNoAnswer;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

// What is under way reads and writes memory of this process: it is waited for. A queue on which it does not end is not given back, nor is memory.
Utofu::~Utofu() {
  const bool quiet = wait([this] {
    try {
      for (std::size_t engine = 0; engine < engines_.size(); ++engine) poll_engine(engine);
    } catch (const std::bad_alloc&) { // of events, which nobody will read
    }
    return drained();
  });
  if (!gates_.empty()) api_.free_vbg(gates_.data(), gates_.size());
  if (!quiet) return;
  for (std::size_t engine = 0; engine < engines_.size(); ++engine)
    for (const Slot& slot : engines_[engine].slots)
      if (slot.registered != 0) api_.dereg_mem(vcqs_[engine].handle, slot.registered, 0);
  memory_.withdraw_all();
  for (const utofu::Vcq& vcq : vcqs_) api_.free_vcq(vcq.handle);
}

Result<void> Utofu::settle() {
  utofu_onesided_caps* caps = nullptr;
  if (api_.query_onesided_caps(where_.tni[0], &caps) != UTOFU_SUCCESS || caps->num_reserved_stags < kTags ||
      caps->max_piggyback_size < utofu::Post::kMostPiggyback || caps->max_toq_desc_size > utofu::Post::kMostDescriptor)
    return std::unexpected(
        no_use("this Tofu lacks what is relied on: 256 tags, 32 bytes with a command, descriptors of at most 128"));
  desc_bytes_ = caps->max_toq_desc_size;
  can_ = {.orders_puts = true,
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
  where_.named = can_.announces_writes = can_.announces_reads = notices_name_the_sender();
  take_gates();
  return {};
}

// No public source tells whether the notice of a put names who has put: it is tried, between two queues. Where it does not, rings are
// looked at instead.
bool Utofu::notices_name_the_sender() {
  if (vcqs_.size() > 1) return notices_name(vcqs_[1]);
  utofu_tni_id_t* tnis = nullptr;
  std::size_t count = 0;
  utofu::Vcq other;
  if (api_.get_onesided_tnis(&tnis, &count) != UTOFU_SUCCESS) return false;
  bool named = false;
  for (std::size_t i = 0; i < count && other.handle == 0; ++i) {
    if (api_.create_vcq_with_cmp_id(tnis[i], kComponent, 0, &other.handle) != UTOFU_SUCCESS) continue;
    api_.query_vcq_id(other.handle, &other.id);
    api_.set_vcq_id_path(&other.id, nullptr);
    named = notices_name(other);
    api_.free_vcq(other.handle);
  }
  std::free(tnis);
  return named;
}

bool Utofu::notices_name(const utofu::Vcq& sender) {
  utofu::Post post(api_, {.vcq = sender.handle, .id = vcqs_[0].id}, desc_bytes_);
  utofu_stadd_t bell = 0;
  api_.query_stadd(vcqs_[0].id, utofu::Memory::kFirstTag, &bell);
  post.piggyback(&bell, bell + offsetof(Identity, bell), sizeof bell, 0, utofu::Post::kTells);
  utofu_mrq_notice notice{.notice_type = UTOFU_MRQ_TYPE_RMT_ARMW};
  if (post.send(0) != UTOFU_SUCCESS) return false;
  utofu_mrq_notice nothing{};
  wait([&] {
    api_.poll_mrq(sender.handle, 0, &nothing);
    return api_.poll_mrq(vcqs_[0].handle, 0, &notice) == UTOFU_SUCCESS;
  });
  return notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT && plain(notice.vcq_id) == sender.id;
}

std::string Utofu::remark() const {
  std::string at;
  for (const std::uint8_t each : where_.coords) at += (at.empty() ? "" : ".") + std::to_string(each);
  return api_.where + ", " + std::to_string(vcqs_.size()) + " engines, at " + at +
         (can_.announces_writes ? ""
                                : "; its notices do not tell who has written, so that memory is looked at instead");
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

utofu_vcq_id_t Utofu::id_of(const Where& where, std::size_t engine, std::uint32_t path) const {
  utofu_vcq_id_t id = 0;
  auto coords = where.coords;
  if (api_.construct_vcq_id(coords.data(), where.tni[engine], where.cq[engine], kComponent, &id) != UTOFU_SUCCESS)
    return 0;
  std::array<std::uint8_t, 3> by = path_coords(path % kPaths);
  api_.set_vcq_id_path(&id, path % kPaths == 0 ? nullptr : by.data());
  return id;
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

Result<ir::RemotePlace> Utofu::attach(ir::Peer number, const ir::Address& address) {
  const auto rank = static_cast<std::uint32_t>(number);
  const auto unreachable = [&](std::string fact) {
    return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = std::move(fact), .peer = rank});
  };
  if (rank >= peers_.size()) return unreachable("the job has " + std::to_string(peers_.size()) + " processes");
  Peer& peer = peers_[rank];
  if (peer.attached) return peer.bootstrap;
  const auto where = where_is(address);
  if (!where) return unreachable(where.error().fact);
  const auto identity = look_at(id_of(*where, 0, 0));
  if (!identity) return unreachable(identity.error().fact);
  if (identity->salt != where->salt || identity->rank != rank) return unreachable("another process is where it was");
  peer = {.attached = true, .where = *where, .bootstrap = identity->bootstrap};
  choose_path(number, 0);
  return peer.bootstrap;
}

bool Utofu::ask(utofu_vcq_id_t id, Identity& into) {
  Way way{.extent = sizeof into, .asks = true};
  if (api_.query_stadd(id, utofu::Memory::kFirstTag, &way.remote) != UTOFU_SUCCESS) {
    into.rank = kNobody;
    return true;
  }
  utofu::Post post(api_, {.vcq = vcqs_[0].handle, .id = id}, desc_bytes_);
  ir::Command command;
  command.flags = {};
  command.peer = ir::Peer{rank_};
  command.local = reinterpret_cast<std::byte*>(&into);
  command.bytes = sizeof into;
  if (take_get(command, way, post) != Taken::yes) return false;
  Slot& slot = engines_[0].slots[way.slot];
  slot.awaited = post.told();
  slot.to = plain(id);
  if (post.send(0) != UTOFU_SUCCESS) {
    drop(0, way);
    return false;
  }
  engines_[0].under_way += post.sent();
  return true;
}

Result<Utofu::Identity> Utofu::look_at(utofu_vcq_id_t id) {
  Identity found;
  bool asked = false;
  wait([&] {
    asked = asked || ask(id, found);
    for (std::size_t engine = 0; engine < engines_.size(); ++engine) poll_engine(engine);
    return found.salt != 0 || found.rank == kNobody;
  });
  for (Slot& slot : engines_[0].slots)
    if (slot.target == reinterpret_cast<std::byte*>(&found)) slot.target = nullptr;
  if (found.salt != 0) return found;
  return std::unexpected(Error{
      .code = ErrorCode::unreachable,
      .fact = found.rank == kNobody ? "nobody has the queue where it was" : "it does not answer on the Tofu network"});
}

} // namespace heddle::translators

// The functions of the API that clients call.
#include "commands.hpp"
#include "switches.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

using namespace tofu_emulation;

namespace {

constexpr std::size_t kMostBytes = (std::size_t{1} << 24U) - 1;
constexpr std::size_t kPiggyback = 32;
constexpr unsigned long kKnownFlags = UTOFU_ONESIDED_FLAG_STRONG_ORDER | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE |
                                      UTOFU_ONESIDED_FLAG_CACHE_INJECTION | UTOFU_ONESIDED_FLAG_TCQ_NOTICE |
                                      UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;

Vcq& vcq_of(utofu_vcq_hdl_t handle) {
  if (handle == 0) violation("a VCQ handle that is none");
  return *reinterpret_cast<Vcq*>(handle);
}

int tnis(utofu_tni_id_t** ids, std::size_t* count) {
  if (ids == nullptr || count == nullptr) return UTOFU_ERR_INVALID_POINTER;
  *count = switches().tnis;
  *ids = static_cast<utofu_tni_id_t*>(std::calloc(*count, sizeof **ids));
  for (std::size_t i = 0; i < *count; ++i) (*ids)[i] = static_cast<utofu_tni_id_t>(i);
  return UTOFU_SUCCESS;
}

// What is wrong with it; strict, since on hardware it would be a descriptor that does anything.
int checked(const Descriptor& command) {
  if (!Place::of(command.to)) return UTOFU_ERR_INVALID_VCQ_ID;
  if ((command.flags() & ~kKnownFlags) != 0) violation("a flag whose meaning no public source tells");
  if (command.kind == Kind::piggyback && command.length > kPiggyback) return UTOFU_ERR_INVALID_SIZE;
  if (command.length > kMostBytes)
    violation("a transfer of " + std::to_string(command.length) + " bytes: 16,777,215 is the most");
  if (command.length == 0) violation("a transfer of nothing");
  return UTOFU_SUCCESS;
}

Descriptor made(Kind kind, utofu_vcq_id_t to, utofu_stadd_t remote, std::size_t length, std::uint64_t edata,
                unsigned long flags) {
  return {.to = to,
          .flags_low = static_cast<std::uint32_t>(flags),
          .flags_high = static_cast<std::uint8_t>(flags >> 32U),
          .kind = kind,
          .edata = static_cast<std::uint8_t>(edata),
          .edata_too_long = edata > 0xff ? std::uint8_t{1} : std::uint8_t{0},
          .remote = remote,
          .length = static_cast<std::uint32_t>(std::min<std::size_t>(length, ~std::uint32_t{0})),
          .prepared_for = 0,
          .data = {}};
}
Descriptor transfer(Kind kind, utofu_vcq_id_t to, utofu_stadd_t local, utofu_stadd_t remote, std::size_t length,
                    std::uint64_t edata, unsigned long flags) {
  Descriptor command = made(kind, to, remote, length, edata, flags);
  command.data[0] = local;
  return command;
}
Descriptor piggyback(utofu_vcq_id_t to, const void* data, utofu_stadd_t remote, std::size_t length, std::uint64_t edata,
                     unsigned long flags) {
  Descriptor command = made(Kind::piggyback, to, remote, length, edata, flags);
  std::memcpy(command.data.data(), data, std::min(length, kPiggyback));
  return command;
}
Descriptor atomic(Kind kind, utofu_vcq_id_t at, std::uint64_t first, std::uint64_t second, utofu_stadd_t remote,
                  std::uint64_t edata, unsigned long flags) {
  Descriptor command = made(kind, at, remote, 8, edata, flags);
  command.data[0] = first;
  command.data[1] = second;
  return command;
}

int post(utofu_vcq_hdl_t handle, const Descriptor& command, void* cbdata) {
  if (const int wrong = checked(command); wrong != UTOFU_SUCCESS) return wrong;
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  return vcq.post({&command, 1}, cbdata);
}
int prepare(utofu_vcq_hdl_t handle, Descriptor command, void* desc, std::size_t* desc_size) {
  if (desc == nullptr || desc_size == nullptr) return UTOFU_ERR_INVALID_POINTER;
  if (switches().desc_in && *desc_size < sizeof command) return UTOFU_ERR_INVALID_SIZE;
  if (const int wrong = checked(command); wrong != UTOFU_SUCCESS) return wrong;
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  command.prepared_for = vcq.number();
  std::memcpy(desc, &command, sizeof command);
  *desc_size = sizeof command;
  return UTOFU_SUCCESS;
}

int register_memory(Cq& cq, std::uint32_t stag, void* address, std::size_t size, unsigned long flags,
                    utofu_stadd_t* stadd) {
  cq.stags[stag] = {.address = reinterpret_cast<std::uint64_t>(address),
                    .bytes = size,
                    .flags = static_cast<std::uint32_t>(flags),
                    .used = 1};
  *stadd = first_of(stag, reinterpret_cast<std::uint64_t>(address));
  return UTOFU_SUCCESS;
}

int memory_wrong(const void* address, std::size_t size, unsigned long flags, const void* stadd) {
  if (stadd == nullptr) return UTOFU_ERR_INVALID_POINTER;
  if (address == nullptr) return UTOFU_ERR_INVALID_ADDRESS;
  if (size == 0) return UTOFU_ERR_INVALID_SIZE;
  return (flags & ~UTOFU_REG_MEM_FLAG_READ_ONLY) == 0 ? UTOFU_SUCCESS : UTOFU_ERR_INVALID_FLAGS;
}

} // namespace

extern "C" {

int utofu_get_onesided_tnis(utofu_tni_id_t** ids, std::size_t* count) {
  return tnis(ids, count);
}
int utofu_get_barrier_tnis(utofu_tni_id_t** ids, std::size_t* count) {
  return tnis(ids, count);
}

int utofu_query_onesided_caps(utofu_tni_id_t tni, utofu_onesided_caps** caps) {
  static utofu_onesided_caps of_all{.flags = 2,
                                    .armw_ops = 0x3f,
                                    .num_cmp_ids = 8,
                                    .num_reserved_stags = kReservedStags,
                                    .cache_line_size = 256,
                                    .stag_address_alignment = 256,
                                    .max_toq_desc_size = sizeof(Descriptor),
                                    .max_putget_size = kMostBytes,
                                    .max_piggyback_size = kPiggyback,
                                    .max_edata_size = 1,
                                    .max_mtu = 1920,
                                    .max_gap = 255};
  if (tni >= switches().tnis) return UTOFU_ERR_INVALID_TNI_ID;
  *caps = &of_all;
  return UTOFU_SUCCESS;
}

int utofu_query_my_coords(std::uint8_t coords[]) {
  std::memcpy(coords, here().coords, 6);
  return UTOFU_SUCCESS;
}

int utofu_create_vcq(utofu_tni_id_t tni, unsigned long flags, utofu_vcq_hdl_t* vcq) {
  return utofu_create_vcq_with_cmp_id(tni, 0, flags, vcq);
}

int utofu_create_vcq_with_cmp_id(utofu_tni_id_t tni, utofu_cmp_id_t cmp, unsigned long flags, utofu_vcq_hdl_t* vcq) {
  const Switches& s = switches();
  if (vcq == nullptr) return UTOFU_ERR_INVALID_POINTER;
  if (tni >= s.tnis) return UTOFU_ERR_INVALID_TNI_ID;
  if (cmp >= 8) return UTOFU_ERR_INVALID_CMP_ID;
  if ((flags & ~(UTOFU_VCQ_FLAG_THREAD_SAFE | UTOFU_VCQ_FLAG_EXCLUSIVE | UTOFU_VCQ_FLAG_SESSION_MODE)) != 0)
    return UTOFU_ERR_INVALID_FLAGS;
  if ((flags & UTOFU_VCQ_FLAG_SESSION_MODE) != 0) return UTOFU_ERR_NOT_SUPPORTED;
  Place place = here();
  place.tni = tni;
  place.cmp = cmp;
  const Lock lock(fabric().mutex);
  Cq* free = nullptr;
  std::vector<bool> taken(s.cqs);
  for (Cq& cq : fabric().cqs) {
    if (cq.used != 0 && ::kill(cq.pid, 0) != 0 && errno == ESRCH) cq.used = 0; // the system cleans up after the dead
    if (cq.used == 0) {
      free = free == nullptr ? &cq : free;
      continue;
    }
    const auto other = Place::of(cq.id);
    if (other && other->tni == tni && std::memcmp(other->coords, place.coords, 6) == 0 && other->cq < taken.size())
      taken[other->cq] = true;
  }
  while (place.cq < s.cqs && taken[place.cq]) ++place.cq;
  if (free == nullptr || place.cq == s.cqs) return UTOFU_ERR_FULL;
  {
    const Lock of_queue(free->mutex);
    free->head = free->tail = free->reserved = 0;
    std::memset(free->stags, 0, sizeof free->stags);
    free->id = place.id();
    free->pid = ::getpid();
    free->tni = tni;
    free->first_stag = s.stadds_agree ? 0 : static_cast<std::uint32_t>((free->id * 0x9e37'79b9'7f4a'7c15U) >> 32U) % 64;
    free->next_stag = free->first_stag;
    free->used = 1;
  }
  // Kept when it is freed, so that a later use of it is found.
  static std::mutex mutex;
  static auto& made = *new std::vector<std::unique_ptr<Vcq>>;
  const std::lock_guard of_all(mutex);
  *vcq = reinterpret_cast<utofu_vcq_hdl_t>(made.emplace_back(std::make_unique<Vcq>(*free, flags)).get());
  return UTOFU_SUCCESS;
}

int utofu_free_vcq(utofu_vcq_hdl_t handle) {
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  if (!vcq.idle()) violation("a VCQ is freed under commands of its own");
  const Lock lock(vcq.cq().mutex);
  if (std::ranges::any_of(vcq.cq().stags, [](const Stag& stag) { return stag.used != 0; }))
    violation("a VCQ is freed that has memory registered");
  vcq.cq().used = 0;
  vcq.mark = 0;
  return UTOFU_SUCCESS;
}

int utofu_query_vcq_id(utofu_vcq_hdl_t handle, utofu_vcq_id_t* id) {
  *id = vcq_of(handle).cq().id;
  return UTOFU_SUCCESS;
}

int utofu_construct_vcq_id(std::uint8_t coords[], utofu_tni_id_t tni, utofu_cq_id_t cq, utofu_cmp_id_t cmp,
                           utofu_vcq_id_t* id) {
  Place place;
  std::memcpy(place.coords, coords, 6);
  if (coords[3] > 1 || coords[4] > 2 || coords[5] > 1) return UTOFU_ERR_INVALID_COORDS;
  if (tni >= switches().tnis) return UTOFU_ERR_INVALID_TNI_ID;
  if (cq >= switches().cqs) return UTOFU_ERR_INVALID_CQ_ID;
  if (cmp >= 8) return UTOFU_ERR_INVALID_CMP_ID;
  place.tni = tni;
  place.cq = cq;
  place.cmp = cmp;
  *id = place.id();
  return UTOFU_SUCCESS;
}

int utofu_set_vcq_id_path(utofu_vcq_id_t* id, std::uint8_t path_coords[]) {
  const auto path = path_of(path_coords);
  if (!Place::of(*id)) return UTOFU_ERR_INVALID_VCQ_ID;
  if (!path) return UTOFU_ERR_INVALID_PATH;
  *id = (*id & ~kPathBits) | static_cast<std::uint64_t>(*path) << 56U;
  return UTOFU_SUCCESS;
}

int utofu_query_vcq_info(utofu_vcq_id_t id, std::uint8_t coords[], utofu_tni_id_t* tni, utofu_cq_id_t* cq,
                         std::uint16_t* extra) {
  const auto place = Place::of(id);
  if (!place) return UTOFU_ERR_INVALID_VCQ_ID;
  std::memcpy(coords, place->coords, 6);
  *tni = place->tni;
  *cq = place->cq;
  *extra = switches().extra_is_cmp ? place->cmp : std::uint16_t{0xabcd};
  return UTOFU_SUCCESS;
}

int utofu_reg_mem(utofu_vcq_hdl_t handle, void* address, std::size_t size, unsigned long flags, utofu_stadd_t* stadd) {
  if (const int wrong = memory_wrong(address, size, flags, stadd); wrong != UTOFU_SUCCESS) return wrong;
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  Cq& cq = vcq.cq();
  const auto count = static_cast<std::uint32_t>(switches().stags);
  const Lock lock(cq.mutex);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t stag = kReservedStags + ((switches().stags_return ? cq.first_stag : cq.next_stag) + i) % count;
    if (cq.stags[stag].used != 0) continue;
    cq.next_stag = stag - kReservedStags + 1;
    return register_memory(cq, stag, address, size, flags, stadd);
  }
  return UTOFU_ERR_FULL;
}

int utofu_reg_mem_with_stag(utofu_vcq_hdl_t handle, void* address, std::size_t size, unsigned stag, unsigned long flags,
                            utofu_stadd_t* stadd) {
  if (const int wrong = memory_wrong(address, size, flags, stadd); wrong != UTOFU_SUCCESS) return wrong;
  if (stag >= kReservedStags) return UTOFU_ERR_INVALID_STAG;
  if (reinterpret_cast<std::uint64_t>(address) % 256 != 0) return UTOFU_ERR_INVALID_ADDRESS;
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  const Lock lock(vcq.cq().mutex);
  if (vcq.cq().stags[stag].used != 0) return UTOFU_ERR_USED;
  return register_memory(vcq.cq(), stag, address, size, flags, stadd);
}

int utofu_query_stadd(utofu_vcq_id_t id, unsigned stag, utofu_stadd_t* stadd) {
  if (!Place::of(id)) return UTOFU_ERR_INVALID_VCQ_ID;
  if (stag >= kReservedStags) return UTOFU_ERR_INVALID_STAG;
  *stadd = base_of(stag);
  return UTOFU_SUCCESS;
}

int utofu_dereg_mem(utofu_vcq_hdl_t handle, utofu_stadd_t stadd, unsigned long flags) {
  if (flags != 0) return UTOFU_ERR_INVALID_FLAGS;
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  const Lock lock(vcq.cq().mutex);
  const Reached at = reach(vcq.cq(), stadd, 1);
  if (at.stag == nullptr || at.address != at.stag->address) violation("deregistering what is not registered");
  if (switches().dereg_waits && vcq.works_on(*at.stag)) return UTOFU_ERR_BUSY;
  at.stag->used = 0;
  return UTOFU_SUCCESS;
}

int utofu_put(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, utofu_stadd_t local, utofu_stadd_t remote, std::size_t length,
              std::uint64_t edata, unsigned long flags, void* cbdata) {
  return post(vcq, transfer(Kind::put, to, local, remote, length, edata, flags), cbdata);
}
int utofu_get(utofu_vcq_hdl_t vcq, utofu_vcq_id_t from, utofu_stadd_t local, utofu_stadd_t remote, std::size_t length,
              std::uint64_t edata, unsigned long flags, void* cbdata) {
  return post(vcq, transfer(Kind::get, from, local, remote, length, edata, flags), cbdata);
}
int utofu_put_piggyback(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, void* data, utofu_stadd_t remote, std::size_t length,
                        std::uint64_t edata, unsigned long flags, void* cbdata) {
  return post(vcq, piggyback(to, data, remote, length, edata, flags), cbdata);
}
int utofu_put_piggyback8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, std::uint64_t data, utofu_stadd_t remote,
                         std::size_t length, std::uint64_t edata, unsigned long flags, void* cbdata) {
  if (length > sizeof data) return UTOFU_ERR_INVALID_SIZE;
  return post(vcq, piggyback(to, &data, remote, length, edata, flags), cbdata);
}
int utofu_armw8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, enum utofu_armw_op op, std::uint64_t value,
                utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* cbdata) {
  if (op < UTOFU_ARMW_OP_SWAP || op > UTOFU_ARMW_OP_OR) return UTOFU_ERR_INVALID_OP;
  return post(vcq, atomic(Kind::armw, at, op, value, remote, edata, flags), cbdata);
}
int utofu_cswap8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, std::uint64_t expected, std::uint64_t value,
                 utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* cbdata) {
  return post(vcq, atomic(Kind::cswap, at, expected, value, remote, edata, flags), cbdata);
}

int utofu_prepare_put(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, utofu_stadd_t local, utofu_stadd_t remote,
                      std::size_t length, std::uint64_t edata, unsigned long flags, void* desc,
                      std::size_t* desc_size) {
  return prepare(vcq, transfer(Kind::put, to, local, remote, length, edata, flags), desc, desc_size);
}
int utofu_prepare_get(utofu_vcq_hdl_t vcq, utofu_vcq_id_t from, utofu_stadd_t local, utofu_stadd_t remote,
                      std::size_t length, std::uint64_t edata, unsigned long flags, void* desc,
                      std::size_t* desc_size) {
  return prepare(vcq, transfer(Kind::get, from, local, remote, length, edata, flags), desc, desc_size);
}
int utofu_prepare_put_piggyback(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, void* data, utofu_stadd_t remote,
                                std::size_t length, std::uint64_t edata, unsigned long flags, void* desc,
                                std::size_t* desc_size) {
  return prepare(vcq, piggyback(to, data, remote, length, edata, flags), desc, desc_size);
}
int utofu_prepare_armw8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, enum utofu_armw_op op, std::uint64_t value,
                        utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* desc,
                        std::size_t* desc_size) {
  if (op < UTOFU_ARMW_OP_SWAP || op > UTOFU_ARMW_OP_OR) return UTOFU_ERR_INVALID_OP;
  return prepare(vcq, atomic(Kind::armw, at, op, value, remote, edata, flags), desc, desc_size);
}
int utofu_prepare_cswap8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, std::uint64_t expected, std::uint64_t value,
                         utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* desc,
                         std::size_t* desc_size) {
  return prepare(vcq, atomic(Kind::cswap, at, expected, value, remote, edata, flags), desc, desc_size);
}

int utofu_post_toq(utofu_vcq_hdl_t handle, void* desc, std::size_t desc_size, void* cbdata) {
  if (desc == nullptr || desc_size == 0 || desc_size % sizeof(Descriptor) != 0) return UTOFU_ERR_INVALID_DESC;
  std::array<Descriptor, 16> commands;
  const std::size_t count = desc_size / sizeof(Descriptor);
  if (count > commands.size()) return UTOFU_ERR_INVALID_SIZE;
  std::memcpy(commands.data(), desc, desc_size);
  for (const Descriptor& command : std::span(commands).first(count))
    if (command.kind == Kind::none || command.kind > Kind::cswap) return UTOFU_ERR_INVALID_DESC;
  Vcq& vcq = vcq_of(handle);
  for (const Descriptor& command : std::span(commands).first(count))
    if (command.prepared_for != vcq.number()) violation("a descriptor that was prepared for another VCQ");
  const Vcq::Use use(vcq);
  return vcq.post(std::span(commands).first(count), cbdata);
}

int utofu_poll_tcq(utofu_vcq_hdl_t handle, unsigned long flags, void** cbdata) {
  if (flags != 0) return UTOFU_ERR_INVALID_FLAGS;
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  return vcq.poll_tcq(cbdata);
}

int utofu_poll_mrq(utofu_vcq_hdl_t handle, unsigned long flags, utofu_mrq_notice* notice) {
  if (flags != 0) return UTOFU_ERR_INVALID_FLAGS;
  Vcq& vcq = vcq_of(handle);
  const Vcq::Use use(vcq);
  return vcq.poll_mrq(*notice);
}

} // extern "C"

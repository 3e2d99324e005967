// libheddle-paths.so: preloaded into any program, it lets connections on InfiniBand take the paths of a plan (plan.hpp). It stands in
// front of the functions of libibverbs that take a destination LID, puts the planned LID of the same node in its place, and passes
// everything else on. librdmacm connects by the same functions. Only the current versions of the functions are replaced: programs
// older than IBVERBS_1.1 have other structures.
//
// It must do no harm wherever it is loaded: it needs only the C library, starts no thread, takes nothing from the heap, touches no
// signal, and where anything is missing or wrong the program runs as without it.
#include "paths/preload/lookup.hpp"
#include "paths/preload/next.hpp"
#include "paths/preload/own_plan.hpp"
#include "paths/preload/report.hpp"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>

#define HEDDLE_SEEN extern "C" [[gnu::visibility("default")]]

using heddle::paths::Choice;
using heddle::paths::choose;
using heddle::paths::Found;
using heddle::paths::next::Function;

struct mlx5dv_devx_obj;

namespace {

using ModifyQp = int (*)(ibv_qp*, ibv_qp_attr*, int);
using CreateAh = ibv_ah* (*)(ibv_pd*, ibv_ah_attr*);
using InitAh = int (*)(ibv_context*, std::uint8_t, ibv_wc*, ibv_grh*, ibv_ah_attr*);
using ModifyByCommand = int (*)(void*, const void*, std::size_t, void*, std::size_t);

constexpr const char* kVerbs = "libibverbs.so.1";
constexpr const char* kMlx5 = "libmlx5.so.1";

Function next_modify_qp{kVerbs, "ibv_modify_qp", "IBVERBS_1.1"};
Function next_create_ah{kVerbs, "ibv_create_ah", "IBVERBS_1.1"};
Function next_init_ah{kVerbs, "ibv_init_ah_from_wc", "IBVERBS_1.1"};
Function next_qp_modify{kMlx5, "mlx5dv_devx_qp_modify", "MLX5_1.8"};
Function next_obj_modify{kMlx5, "mlx5dv_devx_obj_modify", "MLX5_1.7"};

// Connects a queue pair: the only command that brings an address. Numbers in commands are big-endian.
constexpr unsigned kInitToReadyToReceive = 0x503;

void note_command(const void* command, std::size_t bytes) {
  const auto* const in = static_cast<const unsigned char*>(command);
  if (bytes >= 2 && (in[0] << 8U | in[1]) == kInitToReadyToReceive) heddle::paths::count_past_verbs();
}

[[gnu::constructor]] void begin() {
  heddle::paths::name_plan();
  heddle::paths::begin_report();
}

[[gnu::destructor]] void end() {
  heddle::paths::end_report();
}

} // namespace

// The attributes are changed where they are, and changed back: they may be longer than this library's header knows. Each end checks
// that packets come from the LID that it sends to, so the source's path bits are those of the way back.
HEDDLE_SEEN int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  const auto next = next_modify_qp.as<ModifyQp>();
  if (next == nullptr) return ENOSYS;
  if ((mask & IBV_QP_AV) == 0) return next(qp, attr, mask);
  ibv_ah_attr& address = attr->ah_attr;
  const Choice choice = choose(qp->context, address.port_num, address.dlid);
  heddle::paths::count_connection(choice.found);
  if (choice.found != Found::planned) return next(qp, attr, mask);
  const std::uint16_t lid = address.dlid;
  const std::uint8_t bits = address.src_path_bits;
  address.dlid = choice.lid;
  address.src_path_bits = choice.own_path_bits;
  const int status = next(qp, attr, mask);
  address.dlid = lid;
  address.src_path_bits = bits;
  return status;
}

// Datagrams: nobody checks where they come from.
HEDDLE_SEEN ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  const auto next = next_create_ah.as<CreateAh>();
  if (next == nullptr) {
    errno = ENOSYS;
    return nullptr;
  }
  const Choice choice = choose(pd->context, attr->port_num, attr->dlid);
  heddle::paths::count_address(choice.found);
  ibv_ah_attr planned = *attr; // part of other structures, so its length stays
  if (choice.found == Found::planned) planned.dlid = choice.lid;
  return next(pd, &planned);
}

// libibverbs calls its own ibv_create_ah here, past everybody who stands in front of it.
HEDDLE_SEEN ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  const auto init = next_init_ah.as<InitAh>();
  ibv_ah_attr address{};
  if (init == nullptr) {
    errno = ENOSYS;
    return nullptr;
  }
  if (init(pd->context, port, wc, grh, &address) != 0) return nullptr;
  return ibv_create_ah(pd, &address);
}

// Commands to the adapter are counted, so that the report can say what was not planned.
HEDDLE_SEEN int mlx5dv_devx_qp_modify(ibv_qp* qp, const void* in, std::size_t in_bytes, void* out,
                                      std::size_t out_bytes) {
  note_command(in, in_bytes);
  const auto next = next_qp_modify.as<ModifyByCommand>();
  return next != nullptr ? next(qp, in, in_bytes, out, out_bytes) : ENOSYS;
}

HEDDLE_SEEN int mlx5dv_devx_obj_modify(mlx5dv_devx_obj* object, const void* in, std::size_t in_bytes, void* out,
                                       std::size_t out_bytes) {
  note_command(in, in_bytes);
  const auto next = next_obj_modify.as<ModifyByCommand>();
  return next != nullptr ? next(object, in, in_bytes, out, out_bytes) : ENOSYS;
}

namespace heddle::paths::lookup {

const Replacement replacements[] = {
    {"ibv_modify_qp", "IBVERBS_1.1", reinterpret_cast<void*>(&ibv_modify_qp)},
    {"ibv_create_ah", "IBVERBS_1.1", reinterpret_cast<void*>(&ibv_create_ah)},
    {"ibv_create_ah_from_wc", "IBVERBS_1.1", reinterpret_cast<void*>(&ibv_create_ah_from_wc)},
    {"mlx5dv_devx_qp_modify", "MLX5_1.8", reinterpret_cast<void*>(&mlx5dv_devx_qp_modify)},
    {"mlx5dv_devx_obj_modify", "MLX5_1.7", reinterpret_cast<void*>(&mlx5dv_devx_obj_modify)},
    {nullptr, nullptr, nullptr}};

} // namespace heddle::paths::lookup

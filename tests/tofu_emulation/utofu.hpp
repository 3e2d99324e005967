// The uTofu API that the emulation offers: what the translator uses of it, and what public client programs use beside.
#pragma once

#include "translators/utofu/library.hpp"

#include <type_traits>

using utofu_bg_id_t = std::uint16_t;
using utofu_path_id_t = std::uint8_t;

inline constexpr auto UTOFU_ARMW_OP_XOR = utofu_armw_op{3}, UTOFU_ARMW_OP_AND = utofu_armw_op{4},
                      UTOFU_ARMW_OP_OR = utofu_armw_op{5};
inline constexpr std::uint8_t UTOFU_MRQ_TYPE_LCL_PUT = 0, UTOFU_MRQ_TYPE_LCL_GET = 2, UTOFU_MRQ_TYPE_LCL_ARMW = 4;
inline constexpr unsigned long UTOFU_VCQ_FLAG_THREAD_SAFE = 1, UTOFU_VCQ_FLAG_EXCLUSIVE = 2,
                               UTOFU_VCQ_FLAG_SESSION_MODE = 4;
inline constexpr unsigned long UTOFU_REG_MEM_FLAG_READ_ONLY = 1;
inline constexpr unsigned long UTOFU_ONESIDED_FLAG_PACKET_RESPONSE = 1UL << 1U, UTOFU_ONESIDED_FLAG_PADDING = 1UL << 3U,
                               UTOFU_ONESIDED_FLAG_DELAY_START = 1UL << 8U;
constexpr unsigned long UTOFU_ONESIDED_FLAG_PATH(utofu_path_id_t path) {
  return static_cast<unsigned long>(path) << 28U;
}

// The codes that the translator does not tell apart.
enum utofu_return_code {
  UTOFU_ERR_NOT_FOUND = -1,
  UTOFU_ERR_NOT_COMPLETED = -2,
  UTOFU_ERR_NOT_PROCESSED = -3,
  UTOFU_ERR_USED = -5,
  UTOFU_ERR_FULL = -6,
  UTOFU_ERR_NOT_AVAILABLE = -7,
  UTOFU_ERR_NOT_SUPPORTED = -8,
  UTOFU_ERR_TCQ_DESC = -129,
  UTOFU_ERR_TCQ_MEMORY = -130,
  UTOFU_ERR_TCQ_STADD = -131,
  UTOFU_ERR_TCQ_LENGTH = -132,
  UTOFU_ERR_MRQ_LCL_MEMORY = -194,
  UTOFU_ERR_MRQ_LCL_STADD = -196,
  UTOFU_ERR_MRQ_LCL_LENGTH = -198,
  UTOFU_ERR_BARRIER_OTHER = -256,
  UTOFU_ERR_BARRIER_MISMATCH = -257,
  UTOFU_ERR_INVALID_ARG = -512,
  UTOFU_ERR_INVALID_POINTER = -513,
  UTOFU_ERR_INVALID_FLAGS = -514,
  UTOFU_ERR_INVALID_COORDS = -515,
  UTOFU_ERR_INVALID_PATH = -516,
  UTOFU_ERR_INVALID_TNI_ID = -517,
  UTOFU_ERR_INVALID_CQ_ID = -518,
  UTOFU_ERR_INVALID_BG_ID = -519,
  UTOFU_ERR_INVALID_CMP_ID = -520,
  UTOFU_ERR_INVALID_VCQ_HDL = -521,
  UTOFU_ERR_INVALID_VCQ_ID = -522,
  UTOFU_ERR_INVALID_VBG_ID = -523,
  UTOFU_ERR_INVALID_PATH_ID = -524,
  UTOFU_ERR_INVALID_STADD = -525,
  UTOFU_ERR_INVALID_ADDRESS = -526,
  UTOFU_ERR_INVALID_SIZE = -527,
  UTOFU_ERR_INVALID_STAG = -528,
  UTOFU_ERR_INVALID_EDATA = -529,
  UTOFU_ERR_INVALID_NUMBER = -530,
  UTOFU_ERR_INVALID_OP = -531,
  UTOFU_ERR_INVALID_DESC = -532,
  UTOFU_ERR_INVALID_DATA = -533,
  UTOFU_ERR_OUT_OF_RESOURCE = -640,
  UTOFU_ERR_OUT_OF_MEMORY = -641,
  UTOFU_ERR_FATAL = -768
};

// Types as the translator has them: what it calls is what is here.
#define HEDDLE_UTOFU_AS_CALLED(name) \
  extern "C" std::remove_pointer_t<decltype(heddle::translators::utofu::Library::name)> utofu_##name;
HEDDLE_UTOFU_AS_CALLED(get_onesided_tnis)
HEDDLE_UTOFU_AS_CALLED(get_barrier_tnis)
HEDDLE_UTOFU_AS_CALLED(query_onesided_caps)
HEDDLE_UTOFU_AS_CALLED(create_vcq_with_cmp_id)
HEDDLE_UTOFU_AS_CALLED(free_vcq)
HEDDLE_UTOFU_AS_CALLED(query_vcq_id)
HEDDLE_UTOFU_AS_CALLED(construct_vcq_id)
HEDDLE_UTOFU_AS_CALLED(set_vcq_id_path)
HEDDLE_UTOFU_AS_CALLED(query_vcq_info)
HEDDLE_UTOFU_AS_CALLED(reg_mem)
HEDDLE_UTOFU_AS_CALLED(reg_mem_with_stag)
HEDDLE_UTOFU_AS_CALLED(query_stadd)
HEDDLE_UTOFU_AS_CALLED(dereg_mem)
HEDDLE_UTOFU_AS_CALLED(prepare_put)
HEDDLE_UTOFU_AS_CALLED(prepare_get)
HEDDLE_UTOFU_AS_CALLED(prepare_put_piggyback)
HEDDLE_UTOFU_AS_CALLED(prepare_armw8)
HEDDLE_UTOFU_AS_CALLED(prepare_cswap8)
HEDDLE_UTOFU_AS_CALLED(post_toq)
HEDDLE_UTOFU_AS_CALLED(poll_tcq)
HEDDLE_UTOFU_AS_CALLED(poll_mrq)
HEDDLE_UTOFU_AS_CALLED(alloc_vbg)
HEDDLE_UTOFU_AS_CALLED(free_vbg)
HEDDLE_UTOFU_AS_CALLED(set_vbg)
HEDDLE_UTOFU_AS_CALLED(barrier)
HEDDLE_UTOFU_AS_CALLED(poll_barrier)
#undef HEDDLE_UTOFU_AS_CALLED

extern "C" {

int utofu_query_my_coords(std::uint8_t coords[]);
int utofu_create_vcq(utofu_tni_id_t tni, unsigned long flags, utofu_vcq_hdl_t* vcq);

// Posted at once.
int utofu_put(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, utofu_stadd_t local, utofu_stadd_t remote, std::size_t length,
              std::uint64_t edata, unsigned long flags, void* cbdata);
int utofu_get(utofu_vcq_hdl_t vcq, utofu_vcq_id_t from, utofu_stadd_t local, utofu_stadd_t remote, std::size_t length,
              std::uint64_t edata, unsigned long flags, void* cbdata);
int utofu_put_piggyback(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, void* data, utofu_stadd_t remote, std::size_t length,
                        std::uint64_t edata, unsigned long flags, void* cbdata);
int utofu_put_piggyback8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, std::uint64_t data, utofu_stadd_t remote,
                         std::size_t length, std::uint64_t edata, unsigned long flags, void* cbdata);
int utofu_armw8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, enum utofu_armw_op op, std::uint64_t value,
                utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* cbdata);
int utofu_cswap8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, std::uint64_t expected, std::uint64_t value,
                 utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* cbdata);

} // extern "C"

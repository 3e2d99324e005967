// The uTofu API as far as it is known in public: names, numbers and the order of members are the API's, the layout is ours. Only declared:
// the translator finds the functions at run time (library.hpp); the emulation for tests defines them.
// What no public source settles is listed in docs/protocols/utofu.md.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using utofu_tni_id_t = std::uint16_t;
using utofu_cq_id_t = std::uint16_t;
using utofu_bg_id_t = std::uint16_t;
using utofu_cmp_id_t = std::uint16_t;
using utofu_vcq_hdl_t = std::uintptr_t; // of this process
using utofu_vcq_id_t = std::uint64_t;   // known everywhere
using utofu_vbg_id_t = std::uint64_t;
using utofu_path_id_t = std::uint8_t;
using utofu_stadd_t = std::uint64_t;

struct utofu_onesided_caps {
  unsigned long flags, armw_ops;
  unsigned num_cmp_ids, num_reserved_stags;
  std::size_t cache_line_size, stag_address_alignment, max_toq_desc_size, max_putget_size, max_piggyback_size,
      max_edata_size, max_mtu, max_gap;
};
struct utofu_vbg_setting {
  utofu_vbg_id_t vbg_id, src_lcl_vbg_id, src_rmt_vbg_id, dst_lcl_vbg_id, dst_rmt_vbg_id;
  std::uint8_t dst_path_coords[3];
};
struct utofu_mrq_notice {
  std::uint8_t notice_type, pad[7];
  utofu_vcq_id_t vcq_id;
  std::uint64_t edata, rmt_value;
  utofu_stadd_t lcl_stadd, rmt_stadd;
  std::uint64_t reserved[2];
};
static_assert(sizeof(utofu_mrq_notice) == 64);

enum utofu_armw_op {
  UTOFU_ARMW_OP_SWAP = 1,
  UTOFU_ARMW_OP_ADD,
  UTOFU_ARMW_OP_XOR,
  UTOFU_ARMW_OP_AND,
  UTOFU_ARMW_OP_OR
};
enum utofu_mrq_notice_type {
  UTOFU_MRQ_TYPE_LCL_PUT,
  UTOFU_MRQ_TYPE_RMT_PUT,
  UTOFU_MRQ_TYPE_LCL_GET,
  UTOFU_MRQ_TYPE_RMT_GET,
  UTOFU_MRQ_TYPE_LCL_ARMW,
  UTOFU_MRQ_TYPE_RMT_ARMW
};

inline constexpr unsigned long UTOFU_VCQ_FLAG_THREAD_SAFE = 1, UTOFU_VCQ_FLAG_EXCLUSIVE = 2,
                               UTOFU_VCQ_FLAG_SESSION_MODE = 4;
inline constexpr unsigned long UTOFU_REG_MEM_FLAG_READ_ONLY = 1;
inline constexpr unsigned long UTOFU_ONESIDED_FLAG_STRONG_ORDER = 1UL << 0U,
                               UTOFU_ONESIDED_FLAG_PACKET_RESPONSE = 1UL << 1U,
                               UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE = 1UL << 2U,
                               UTOFU_ONESIDED_FLAG_PADDING = 1UL << 3U, UTOFU_ONESIDED_FLAG_CACHE_INJECTION = 1UL << 5U,
                               UTOFU_ONESIDED_FLAG_DELAY_START = 1UL << 8U, UTOFU_ONESIDED_FLAG_TCQ_NOTICE = 1UL << 14U,
                               UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE = 1UL << 15U;
constexpr unsigned long UTOFU_ONESIDED_FLAG_PATH(utofu_path_id_t path) {
  return static_cast<unsigned long>(path) << 28U;
}
inline constexpr utofu_vbg_id_t UTOFU_VBG_ID_NULL = ~utofu_vbg_id_t{0};
inline constexpr std::uint8_t UTOFU_PATH_COORD_NULL = 0xff;

enum utofu_return_code {
  UTOFU_SUCCESS = 0,
  UTOFU_ERR_NOT_FOUND = -1,
  UTOFU_ERR_NOT_COMPLETED = -2,
  UTOFU_ERR_NOT_PROCESSED = -3,
  UTOFU_ERR_BUSY = -4,
  UTOFU_ERR_USED = -5,
  UTOFU_ERR_FULL = -6,
  UTOFU_ERR_NOT_AVAILABLE = -7,
  UTOFU_ERR_NOT_SUPPORTED = -8,
  UTOFU_ERR_TCQ_OTHER = -128,
  UTOFU_ERR_TCQ_DESC = -129,
  UTOFU_ERR_TCQ_MEMORY = -130,
  UTOFU_ERR_TCQ_STADD = -131,
  UTOFU_ERR_TCQ_LENGTH = -132,
  UTOFU_ERR_MRQ_OTHER = -192,
  UTOFU_ERR_MRQ_PEER = -193,
  UTOFU_ERR_MRQ_LCL_MEMORY = -194,
  UTOFU_ERR_MRQ_RMT_MEMORY = -195,
  UTOFU_ERR_MRQ_LCL_STADD = -196,
  UTOFU_ERR_MRQ_RMT_STADD = -197,
  UTOFU_ERR_MRQ_LCL_LENGTH = -198,
  UTOFU_ERR_MRQ_RMT_LENGTH = -199,
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

// Arrays of ids are the caller's to free; capabilities are the library's.
int utofu_get_onesided_tnis(utofu_tni_id_t** ids, std::size_t* count);
int utofu_get_barrier_tnis(utofu_tni_id_t** ids, std::size_t* count);
int utofu_query_onesided_caps(utofu_tni_id_t tni, utofu_onesided_caps** caps);
int utofu_query_my_coords(std::uint8_t coords[]);

int utofu_create_vcq(utofu_tni_id_t tni, unsigned long flags, utofu_vcq_hdl_t* vcq);
int utofu_create_vcq_with_cmp_id(utofu_tni_id_t tni, utofu_cmp_id_t cmp, unsigned long flags, utofu_vcq_hdl_t* vcq);
int utofu_free_vcq(utofu_vcq_hdl_t vcq);
int utofu_query_vcq_id(utofu_vcq_hdl_t vcq, utofu_vcq_id_t* id);
int utofu_construct_vcq_id(std::uint8_t coords[], utofu_tni_id_t tni, utofu_cq_id_t cq, utofu_cmp_id_t cmp,
                           utofu_vcq_id_t* id);
int utofu_set_vcq_id_path(utofu_vcq_id_t* id, std::uint8_t path_coords[]);
int utofu_query_vcq_info(utofu_vcq_id_t id, std::uint8_t coords[], utofu_tni_id_t* tni, utofu_cq_id_t* cq,
                         std::uint16_t* extra);

int utofu_reg_mem(utofu_vcq_hdl_t vcq, void* address, std::size_t size, unsigned long flags, utofu_stadd_t* stadd);
int utofu_reg_mem_with_stag(utofu_vcq_hdl_t vcq, void* address, std::size_t size, unsigned stag, unsigned long flags,
                            utofu_stadd_t* stadd);
int utofu_query_stadd(utofu_vcq_id_t id, unsigned stag, utofu_stadd_t* stadd);
int utofu_dereg_mem(utofu_vcq_hdl_t vcq, utofu_stadd_t stadd, unsigned long flags);

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

// The same, prepared into memory of the caller's; several that lie end to end are posted at once.
int utofu_prepare_put(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, utofu_stadd_t local, utofu_stadd_t remote,
                      std::size_t length, std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_size);
int utofu_prepare_get(utofu_vcq_hdl_t vcq, utofu_vcq_id_t from, utofu_stadd_t local, utofu_stadd_t remote,
                      std::size_t length, std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_size);
int utofu_prepare_put_piggyback(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, void* data, utofu_stadd_t remote,
                                std::size_t length, std::uint64_t edata, unsigned long flags, void* desc,
                                std::size_t* desc_size);
int utofu_prepare_armw8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, enum utofu_armw_op op, std::uint64_t value,
                        utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* desc,
                        std::size_t* desc_size);
int utofu_prepare_cswap8(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, std::uint64_t expected, std::uint64_t value,
                         utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* desc,
                         std::size_t* desc_size);
int utofu_post_toq(utofu_vcq_hdl_t vcq, void* desc, std::size_t desc_size, void* cbdata);

int utofu_poll_tcq(utofu_vcq_hdl_t vcq, unsigned long flags, void** cbdata);
int utofu_poll_mrq(utofu_vcq_hdl_t vcq, unsigned long flags, utofu_mrq_notice* notice);

int utofu_alloc_vbg(utofu_tni_id_t tni, std::size_t count, unsigned long flags, utofu_vbg_id_t ids[]);
int utofu_free_vbg(utofu_vbg_id_t ids[], std::size_t count);
int utofu_set_vbg(utofu_vbg_setting settings[], std::size_t count);
int utofu_barrier(utofu_vbg_id_t start, unsigned long flags);
int utofu_poll_barrier(utofu_vbg_id_t start, unsigned long flags);

} // extern "C"

// What this translator uses of the uTofu API, as far as that is known in public: names, numbers and the order of members are the API's, the
// layout is ours. The functions are found at run time (library.hpp). What no public source settles: docs/protocols/utofu.md.
#pragma once

#include <cstddef>
#include <cstdint>

using utofu_tni_id_t = std::uint16_t;
using utofu_cq_id_t = std::uint16_t;
using utofu_cmp_id_t = std::uint16_t;
using utofu_vcq_hdl_t = std::uintptr_t; // of this process
using utofu_vcq_id_t = std::uint64_t;   // known everywhere
using utofu_vbg_id_t = std::uint64_t;
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

enum utofu_armw_op : unsigned { UTOFU_ARMW_OP_SWAP = 1, UTOFU_ARMW_OP_ADD = 2 };
inline constexpr std::uint8_t UTOFU_MRQ_TYPE_RMT_PUT = 1, UTOFU_MRQ_TYPE_RMT_GET = 3, UTOFU_MRQ_TYPE_RMT_ARMW = 5;
inline constexpr unsigned long UTOFU_ONESIDED_FLAG_STRONG_ORDER = 1UL << 0U,
                               UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE = 1UL << 2U,
                               UTOFU_ONESIDED_FLAG_CACHE_INJECTION = 1UL << 5U,
                               UTOFU_ONESIDED_FLAG_TCQ_NOTICE = 1UL << 14U,
                               UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE = 1UL << 15U;
inline constexpr utofu_vbg_id_t UTOFU_VBG_ID_NULL = ~utofu_vbg_id_t{0};
inline constexpr std::uint8_t UTOFU_PATH_COORD_NULL = 0xff;
inline constexpr int UTOFU_SUCCESS = 0, UTOFU_ERR_BUSY = -4, UTOFU_ERR_TCQ_OTHER = -128, UTOFU_ERR_MRQ_OTHER = -192,
                     UTOFU_ERR_MRQ_PEER = -193, UTOFU_ERR_MRQ_RMT_MEMORY = -195, UTOFU_ERR_MRQ_RMT_STADD = -197,
                     UTOFU_ERR_MRQ_RMT_LENGTH = -199;

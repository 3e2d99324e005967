// libtofucom.so, loaded at run time: one package of Heddle serves machines with and without it.
#pragma once

#include "translators/utofu/api.hpp"

#include <heddle/error.hpp>

#include <string>

namespace heddle::translators::utofu {

// utofu_NAME of the API for each that the translator calls.
struct Library {
  std::string where; // the file that was found

  // Arrays of ids are the caller's to free; capabilities are the library's.
  int (*get_onesided_tnis)(utofu_tni_id_t** ids, std::size_t* count);
  int (*get_barrier_tnis)(utofu_tni_id_t** ids, std::size_t* count);
  int (*query_onesided_caps)(utofu_tni_id_t tni, utofu_onesided_caps** caps);

  int (*create_vcq_with_cmp_id)(utofu_tni_id_t tni, utofu_cmp_id_t cmp, unsigned long flags, utofu_vcq_hdl_t* vcq);
  int (*free_vcq)(utofu_vcq_hdl_t vcq);
  int (*query_vcq_id)(utofu_vcq_hdl_t vcq, utofu_vcq_id_t* id);
  int (*construct_vcq_id)(std::uint8_t coords[], utofu_tni_id_t tni, utofu_cq_id_t cq, utofu_cmp_id_t cmp,
                          utofu_vcq_id_t* id);
  int (*set_vcq_id_path)(utofu_vcq_id_t* id, std::uint8_t path_coords[]);
  int (*query_vcq_info)(utofu_vcq_id_t id, std::uint8_t coords[], utofu_tni_id_t* tni, utofu_cq_id_t* cq,
                        std::uint16_t* extra);

  int (*reg_mem)(utofu_vcq_hdl_t vcq, void* address, std::size_t size, unsigned long flags, utofu_stadd_t* stadd);
  int (*reg_mem_with_stag)(utofu_vcq_hdl_t vcq, void* address, std::size_t size, unsigned stag, unsigned long flags,
                           utofu_stadd_t* stadd);
  int (*query_stadd)(utofu_vcq_id_t id, unsigned stag, utofu_stadd_t* stadd);
  int (*dereg_mem)(utofu_vcq_hdl_t vcq, utofu_stadd_t stadd, unsigned long flags);

  // Prepared into memory of the caller's; several that lie end to end are posted at once.
  int (*prepare_put)(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, utofu_stadd_t local, utofu_stadd_t remote,
                     std::size_t length, std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_size);
  int (*prepare_get)(utofu_vcq_hdl_t vcq, utofu_vcq_id_t from, utofu_stadd_t local, utofu_stadd_t remote,
                     std::size_t length, std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_size);
  int (*prepare_put_piggyback)(utofu_vcq_hdl_t vcq, utofu_vcq_id_t to, void* data, utofu_stadd_t remote,
                               std::size_t length, std::uint64_t edata, unsigned long flags, void* desc,
                               std::size_t* desc_size);
  int (*prepare_armw8)(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, enum utofu_armw_op op, std::uint64_t value,
                       utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* desc,
                       std::size_t* desc_size);
  int (*prepare_cswap8)(utofu_vcq_hdl_t vcq, utofu_vcq_id_t at, std::uint64_t expected, std::uint64_t value,
                        utofu_stadd_t remote, std::uint64_t edata, unsigned long flags, void* desc,
                        std::size_t* desc_size);
  int (*post_toq)(utofu_vcq_hdl_t vcq, void* desc, std::size_t desc_size, void* cbdata);
  int (*poll_tcq)(utofu_vcq_hdl_t vcq, unsigned long flags, void** cbdata);
  int (*poll_mrq)(utofu_vcq_hdl_t vcq, unsigned long flags, utofu_mrq_notice* notice);

  int (*alloc_vbg)(utofu_tni_id_t tni, std::size_t count, unsigned long flags, utofu_vbg_id_t ids[]);
  int (*free_vbg)(utofu_vbg_id_t ids[], std::size_t count);
  int (*set_vbg)(utofu_vbg_setting settings[], std::size_t count);
  int (*barrier)(utofu_vbg_id_t start, unsigned long flags);
  int (*poll_barrier)(utofu_vbg_id_t start, unsigned long flags);

  // Stays loaded. Error: it is not there, or lacks a function.
  static Result<Library> load(const std::string& name);
};

} // namespace heddle::translators::utofu

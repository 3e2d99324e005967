// libtofucom.so, loaded at run time: one package of Heddle serves machines with and without it.
#pragma once

#include "translators/utofu/api.hpp"

#include <heddle/error.hpp>

#include <string>

namespace heddle::translators::utofu {

// The functions that the translator calls: api.NAME is utofu_NAME.
#define HEDDLE_UTOFU_FUNCTIONS(each)                                                                                   \
  each(get_onesided_tnis) each(get_barrier_tnis) each(query_onesided_caps) each(query_my_coords)                       \
      each(create_vcq_with_cmp_id) each(free_vcq) each(query_vcq_id) each(construct_vcq_id) each(set_vcq_id_path)      \
          each(query_vcq_info) each(reg_mem) each(reg_mem_with_stag) each(query_stadd) each(dereg_mem)                 \
              each(prepare_put) each(prepare_get) each(prepare_put_piggyback) each(prepare_armw8) each(prepare_cswap8) \
                  each(post_toq) each(poll_tcq) each(poll_mrq) each(alloc_vbg) each(free_vbg) each(set_vbg)            \
                      each(barrier) each(poll_barrier)

struct Library {
  std::string where; // the file that was found
#define HEDDLE_UTOFU_MEMBER(name) decltype(&::utofu_##name) name = nullptr;
  HEDDLE_UTOFU_FUNCTIONS(HEDDLE_UTOFU_MEMBER)
#undef HEDDLE_UTOFU_MEMBER
};

// Stays loaded. Error: it is not there, or lacks a function.
Result<const Library*> load(const std::string& name);

} // namespace heddle::translators::utofu

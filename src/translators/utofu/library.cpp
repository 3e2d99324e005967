#include "translators/utofu/library.hpp"

#include "base/loaded_library.hpp"

namespace heddle::translators::utofu {

Result<Library> Library::load(const std::string& name) {
  base::LoadedLibrary file(name);
  Library made{};
  if (file.find("utofu_get_onesided_tnis", made.get_onesided_tnis) &&
      file.find("utofu_get_barrier_tnis", made.get_barrier_tnis) &&
      file.find("utofu_query_onesided_caps", made.query_onesided_caps) &&
      file.find("utofu_create_vcq_with_cmp_id", made.create_vcq_with_cmp_id) &&
      file.find("utofu_free_vcq", made.free_vcq) && file.find("utofu_query_vcq_id", made.query_vcq_id) &&
      file.find("utofu_construct_vcq_id", made.construct_vcq_id) &&
      file.find("utofu_set_vcq_id_path", made.set_vcq_id_path) &&
      file.find("utofu_query_vcq_info", made.query_vcq_info) && file.find("utofu_reg_mem", made.reg_mem) &&
      file.find("utofu_reg_mem_with_stag", made.reg_mem_with_stag) &&
      file.find("utofu_query_stadd", made.query_stadd) && file.find("utofu_dereg_mem", made.dereg_mem) &&
      file.find("utofu_prepare_put", made.prepare_put) && file.find("utofu_prepare_get", made.prepare_get) &&
      file.find("utofu_prepare_put_piggyback", made.prepare_put_piggyback) &&
      file.find("utofu_prepare_armw8", made.prepare_armw8) && file.find("utofu_prepare_cswap8", made.prepare_cswap8) &&
      file.find("utofu_post_toq", made.post_toq) && file.find("utofu_poll_tcq", made.poll_tcq) &&
      file.find("utofu_poll_mrq", made.poll_mrq) && file.find("utofu_alloc_vbg", made.alloc_vbg) &&
      file.find("utofu_free_vbg", made.free_vbg) && file.find("utofu_set_vbg", made.set_vbg) &&
      file.find("utofu_barrier", made.barrier) && file.find("utofu_poll_barrier", made.poll_barrier)) {
    made.where = base::file_of(reinterpret_cast<const void*>(made.poll_mrq));
    return made;
  }
  return std::unexpected(
      Error{.code = ErrorCode::unsupported,
            .fact = "the uTofu library cannot be loaded: " + file.why(),
            .remedy = "this machine needs Tofu, and option utofu.library the path of its libtofucom.so"});
}

} // namespace heddle::translators::utofu

#include "translators/verbs/library.hpp"

#include <dlfcn.h>

namespace heddle::translators::verbs {

namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

} // namespace

Result<std::shared_ptr<const Library>> Library::load(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "InfiniBand's library cannot be loaded: " + std::string(::dlerror()),
                                 .remedy = "install ibverbs-providers"});
  auto made = std::make_shared<Library>();
  Library& it = *made;
  const bool whole =
      find(handle, "ibv_get_device_list", it.get_device_list) &&
      find(handle, "ibv_free_device_list", it.free_device_list) &&
      find(handle, "ibv_get_device_name", it.get_device_name) && find(handle, "ibv_open_device", it.open_device) &&
      find(handle, "ibv_close_device", it.close_device) && find(handle, "ibv_query_device", it.query_device) &&
      find(handle, "ibv_query_port", it.query_port) && find(handle, "_ibv_query_gid_ex", it.query_gid) &&
      find(handle, "ibv_alloc_pd", it.alloc_pd) && find(handle, "ibv_dealloc_pd", it.dealloc_pd) &&
      find(handle, "ibv_reg_mr_iova2", it.reg_mr) && find(handle, "ibv_dereg_mr", it.dereg_mr) &&
      find(handle, "ibv_create_comp_channel", it.create_comp_channel) &&
      find(handle, "ibv_destroy_comp_channel", it.destroy_comp_channel) &&
      find(handle, "ibv_create_cq", it.create_cq) && find(handle, "ibv_destroy_cq", it.destroy_cq) &&
      find(handle, "ibv_get_cq_event", it.get_cq_event) && find(handle, "ibv_ack_cq_events", it.ack_cq_events) &&
      find(handle, "ibv_create_srq", it.create_srq) && find(handle, "ibv_destroy_srq", it.destroy_srq) &&
      find(handle, "ibv_create_qp", it.create_qp) && find(handle, "ibv_modify_qp", it.modify_qp) &&
      find(handle, "ibv_destroy_qp", it.destroy_qp) && find(handle, "ibv_create_ah", it.create_ah) &&
      find(handle, "ibv_destroy_ah", it.destroy_ah) && find(handle, "ibv_get_async_event", it.get_async_event) &&
      find(handle, "ibv_ack_async_event", it.ack_async_event) && find(handle, "ibv_fork_init", it.fork_init) &&
      find(handle, "ibv_is_fork_initialized", it.is_fork_initialized);
  if (!whole)
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "InfiniBand's library " + name + " is too old: " + std::string(::dlerror()),
                                 .remedy = "install libibverbs1 of rdma-core 36 or later"});
  return made;
}

} // namespace heddle::translators::verbs

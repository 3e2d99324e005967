#include "translators/verbs/library.hpp"

#include "base/loaded_library.hpp"

namespace heddle::translators::verbs {

Result<std::shared_ptr<const Library>> Library::load(const std::string& name) {
  base::LoadedLibrary library(name);
  if (!library.is_there())
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "InfiniBand's library cannot be loaded: " + library.why(),
                                 .remedy = "install ibverbs-providers"});
  auto made = std::make_shared<Library>();
  Library& it = *made;
  const bool whole =
      library.find("ibv_get_device_list", it.get_device_list) &&
      library.find("ibv_free_device_list", it.free_device_list) &&
      library.find("ibv_get_device_name", it.get_device_name) && library.find("ibv_open_device", it.open_device) &&
      library.find("ibv_close_device", it.close_device) && library.find("ibv_query_device", it.query_device) &&
      library.find("ibv_query_port", it.query_port) && library.find("_ibv_query_gid_ex", it.query_gid) &&
      library.find("ibv_alloc_pd", it.alloc_pd) && library.find("ibv_dealloc_pd", it.dealloc_pd) &&
      library.find("ibv_reg_mr_iova2", it.reg_mr) && library.find("ibv_dereg_mr", it.dereg_mr) &&
      library.find("ibv_create_comp_channel", it.create_comp_channel) &&
      library.find("ibv_destroy_comp_channel", it.destroy_comp_channel) &&
      library.find("ibv_create_cq", it.create_cq) && library.find("ibv_destroy_cq", it.destroy_cq) &&
      library.find("ibv_get_cq_event", it.get_cq_event) && library.find("ibv_ack_cq_events", it.ack_cq_events) &&
      library.find("ibv_create_srq", it.create_srq) && library.find("ibv_destroy_srq", it.destroy_srq) &&
      library.find("ibv_create_qp", it.create_qp) && library.find("ibv_modify_qp", it.modify_qp) &&
      library.find("ibv_destroy_qp", it.destroy_qp) && library.find("ibv_create_ah", it.create_ah) &&
      library.find("ibv_destroy_ah", it.destroy_ah) && library.find("ibv_get_async_event", it.get_async_event) &&
      library.find("ibv_ack_async_event", it.ack_async_event) && library.find("ibv_fork_init", it.fork_init) &&
      library.find("ibv_is_fork_initialized", it.is_fork_initialized);
  if (!whole)
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "InfiniBand's library " + name + " is too old: " + library.why(),
                                 .remedy = "install libibverbs1 of rdma-core 36 or later"});
  return made;
}

} // namespace heddle::translators::verbs

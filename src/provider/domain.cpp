// Domains, and memory that is registered in them. A key is the program's own choice, and addresses are offsets; FI_MR_BASIC has both the other way.
#include "provider/endpoint.hpp"
#include "provider/queue.hpp"

#include <new>

namespace heddle::provider {

namespace {

Domain& domain_of(fid* fid) {
  return *reinterpret_cast<Domain*>(fid);
}

int close_domain(fid* fid) {
  Domain& domain = domain_of(fid);
  {
    const Lock lock(domain);
    if (domain.users > 0 || !domain.regions.empty() || !domain.endpoints.empty()) return -FI_EBUSY;
  }
  delete &domain;
  return 0;
}

int bind_domain(fid* /*fid*/, struct fid* other, uint64_t flags) {
  return other->fclass == FI_CLASS_EQ && (flags & FI_REG_MR) == 0 ? 0 : -FI_ENOSYS;
}

int close_region(fid* fid) {
  auto& region = *reinterpret_cast<Region*>(fid);
  {
    const Lock lock(*region.domain);
    region.domain->regions.erase(region.fid.key);
  }
  delete &region;
  return 0;
}

fi_ops region_fid_operations = {
    .size = sizeof(fi_ops),
    .close = close_region,
    .bind = no_bind,
    .control = [](fid*, int command, void*) { return command == FI_ENABLE ? 0 : -FI_ENOSYS; },
    .ops_open = no_ops};

int register_attributes(fid* fid, const fi_mr_attr* attributes, uint64_t flags, fid_mr** registered) try {
  Domain& domain = domain_of(fid);
  if (fid->fclass != FI_CLASS_DOMAIN || attributes == nullptr || attributes->iov_count != 1 ||
      attributes->offset != 0 || attributes->iface != FI_HMEM_SYSTEM)
    return -FI_EINVAL;
  if (flags != 0) return -FI_EBADFLAGS;
  auto region = std::make_unique<Region>();
  region->domain = &domain;
  region->data = static_cast<std::byte*>(attributes->mr_iov[0].iov_base);
  region->bytes = attributes->mr_iov[0].iov_len;
  region->access = attributes->access;
  region->fid = {.fid = {.fclass = FI_CLASS_MR, .context = attributes->context, .ops = &region_fid_operations},
                 .mem_desc = nullptr,
                 .key = attributes->requested_key};
  const Lock lock(domain);
  if (domain.basic) region->fid.key = ++domain.last_key;
  if (!domain.regions.try_emplace(region->fid.key, region.get()).second) return -FI_ENOKEY;
  *registered = &region.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int register_pieces(fid* fid, const iovec* iov, size_t count, uint64_t access, uint64_t offset, uint64_t key,
                    uint64_t flags, fid_mr** registered, void* context) {
  const fi_mr_attr attributes{
      .mr_iov = iov, .iov_count = count, .access = access, .offset = offset, .requested_key = key, .context = context};
  return register_attributes(fid, &attributes, flags, registered);
}

int register_memory(fid* fid, const void* data, size_t bytes, uint64_t access, uint64_t offset, uint64_t key,
                    uint64_t flags, fid_mr** registered, void* context) {
  const iovec iov{.iov_base = const_cast<void*>(data), .iov_len = bytes};
  return register_pieces(fid, &iov, 1, access, offset, key, flags, registered, context);
}

fi_ops domain_fid_operations = {
    .size = sizeof(fi_ops), .close = close_domain, .bind = bind_domain, .control = no_control, .ops_open = no_ops};
fi_ops_domain domain_operations = {
    .size = sizeof(fi_ops_domain),
    .av_open = open_addresses,
    .cq_open = open_queue,
    .endpoint = open_endpoint,
    .scalable_ep = [](fid_domain*, fi_info*, fid_ep**, void*) { return -FI_ENOSYS; },
    .cntr_open = open_counter,
    .poll_open = open_poll_set,
    .stx_ctx = [](fid_domain*, fi_tx_attr*, fid_stx**, void*) { return -FI_ENOSYS; },
    .srx_ctx = [](fid_domain*, fi_rx_attr*, fid_ep**, void*) { return -FI_ENOSYS; },
    .query_atomic = query_atomic,
    .query_collective = [](fid_domain*, fi_collective_op, fi_collective_attr*, uint64_t) { return -FI_ENOSYS; },
    .endpoint2 =
        [](fid_domain* domain, fi_info* info, fid_ep** endpoint, uint64_t flags, void* context) {
          return flags == 0 ? open_endpoint(domain, info, endpoint, context) : -FI_ENOSYS;
        }};

} // namespace

fi_ops_mr region_operations = {
    .size = sizeof(fi_ops_mr), .reg = register_memory, .regv = register_pieces, .regattr = register_attributes};

int open_domain(fid_fabric* /*fabric*/, fi_info* info, fid_domain** fid, void* context) try {
  auto domain = std::make_unique<Domain>();
  const fi_threading threading = info->domain_attr != nullptr ? info->domain_attr->threading : FI_THREAD_UNSPEC;
  domain->locks = threading != FI_THREAD_DOMAIN;
  domain->basic = info->domain_attr != nullptr && info->domain_attr->mr_mode == FI_MR_BASIC;
  domain->fid = {.fid = {.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &domain_fid_operations},
                 .ops = &domain_operations,
                 .mr = &region_operations};
  *fid = &domain.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

} // namespace heddle::provider

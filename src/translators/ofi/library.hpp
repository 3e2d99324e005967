// libfabric, found at run time: neither a program nor this library is linked with it.
#pragma once

#include <heddle/error.hpp>

#if __has_include(<rdma/fabric.h>)
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#define HEDDLE_HAS_LIBFABRIC 1
#else
#define HEDDLE_HAS_LIBFABRIC 0
#endif

#if HEDDLE_HAS_LIBFABRIC
namespace heddle::translators::ofi {

// The calls that are functions of the library; all others go by tables of the objects that these give.
struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;

  // Stays loaded. unsupported where there is none.
  static Result<Library> load();
  // "FACT: No data available", for a number that a call has returned.
  [[nodiscard]] Error error(const std::string& fact, long number) const;
};

} // namespace heddle::translators::ofi
#endif

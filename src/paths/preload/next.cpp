#include "paths/preload/next.hpp"

#include "paths/preload/lookup.hpp"

#include <infiniband/verbs.h>

#include <dlfcn.h>

#undef ibv_query_port // here the function of the library is wanted, not the header's way around it

namespace heddle::paths::next {
namespace {

constexpr const char* kVerbs = "libibverbs.so.1";

Function query_port{kVerbs, "ibv_query_port", "IBVERBS_1.1"};

} // namespace

// First in the order in which libraries were loaded, so that others which stand in front of it are heard; then where the program
// has opened it for itself alone.
void* Function::look() {
  void* found = lookup::versioned(RTLD_NEXT, name_, version_);
  if (found == nullptr)
    if (void* library = ::dlopen(library_, RTLD_LAZY | RTLD_NOLOAD); library != nullptr)
      found = lookup::versioned(library, name_, version_);
  ::dlerror(); // what was not found is no matter of the program's
  if (found != nullptr) found_.store(found, std::memory_order_relaxed);
  return found;
}

bool port_lids(ibv_context* context, std::uint8_t port, std::uint16_t& lid, std::uint8_t& lmc) {
  using QueryPort = int (*)(ibv_context*, std::uint8_t, _compat_ibv_port_attr*);
  const auto query = query_port.as<QueryPort>();
  ibv_port_attr about{}; // begins as what the function fills in
  if (query == nullptr || query(context, port, reinterpret_cast<_compat_ibv_port_attr*>(&about)) != 0) return false;
  lid = about.lid;
  lmc = about.lmc;
  return true;
}

bool verbs_are_loaded() {
  void* library = ::dlopen(kVerbs, RTLD_LAZY | RTLD_NOLOAD);
  ::dlerror();
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

} // namespace heddle::paths::next

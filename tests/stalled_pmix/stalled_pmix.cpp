// The calls of libpmix that Heddle uses, for a job of one process, by a server that never answers the one that STALLED_PMIX names; "none":
// it says in the end how often it was called, but for questions that are answered by what the process knows.
#include "store/pmix_library.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace heddle::store::pmix;

namespace {

constexpr Status kNotFound = -46;
int inits = 0;
int puts_and_commits = 0;
int fences = 0;

void stall_if(std::string_view call) {
  const char* named = std::getenv("STALLED_PMIX");
  while (named != nullptr && call == named) ::pause();
}

} // namespace

extern "C" {

Status PMIx_Init(Process* self, Info* /*info*/, std::size_t /*count*/) {
  stall_if("init");
  ++inits;
  self->name_space[0] = 'j';
  self->rank = 0;
  return kSuccess;
}

Status PMIx_Finalize(const Info* /*info*/, std::size_t /*count*/) {
  stall_if("finalize");
  const char* named = std::getenv("STALLED_PMIX");
  if (named != nullptr && std::string_view(named) == "none")
    std::printf("PMIx: init %d, put and commit %d, fence %d, finalize\n", inits, puts_and_commits, fences);
  return kSuccess;
}

Status PMIx_Abort(int /*status*/, const char* /*message*/, Process* /*processes*/, std::size_t /*count*/) {
  stall_if("abort");
  return kSuccess;
}

Status PMIx_Put(std::uint8_t /*scope*/, const char* /*key*/, Value* /*value*/) {
  ++puts_and_commits;
  return kSuccess;
}

Status PMIx_Commit() {
  ++puts_and_commits;
  return kSuccess;
}

Status PMIx_Fence_nb(const Process* /*processes*/, std::size_t /*count*/, const Info* /*info*/, std::size_t /*infos*/,
                     OperationCallback callback, void* context) {
  ++fences;
  callback(kSuccess, context);
  return kSuccess;
}

Status PMIx_Get_nb(const Process* /*process*/, const char* key, const Info* /*info*/, std::size_t /*infos*/,
                   ValueCallback callback, void* context) {
  Value one;
  one.type = kUint32;
  one.data.uint32 = 1;
  const bool size = std::string_view(key) == "pmix.job.size";
  callback(size ? kSuccess : kNotFound, size ? &one : nullptr, context);
  return kSuccess;
}

Status PMIx_Resolve_nodes(const char* /*name_space*/, char** /*names*/) {
  return kNotFound;
}

const char* PMIx_Error_string(Status /*status*/) {
  return "an error";
}
}

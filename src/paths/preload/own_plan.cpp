#include "paths/preload/own_plan.hpp"

#include "paths/plan.hpp"
#include "paths/preload/next.hpp"
#include "paths/preload/report.hpp"

#include <infiniband/verbs.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace heddle::paths {
namespace {

constexpr std::uint32_t kMostPorts = 64;      // of all adapters; connections from further ones are not planned
constexpr std::uint32_t kFirstGroup = 0xC000; // from here on LIDs are those of multicast groups

// A port by its name, which stays when a device is closed and opened again.
struct Port {
  char device[IBV_SYSFS_NAME_MAX] = {};
  std::uint8_t number = 0;
  bool planned = false;
  std::uint32_t own = 0; // its node
  Shape shape;
  const Byte* lids = nullptr;
  const Byte* row = nullptr;
};

char plan_name[4096];
Port ports[kMostPorts]; // the first `known` of them never change any more
std::atomic<std::uint32_t> known;
pthread_mutex_t entering = PTHREAD_MUTEX_INITIALIZER;

const Port* find(const char* device, std::uint8_t number, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i)
    if (ports[i].number == number && std::strncmp(ports[i].device, device, sizeof ports[i].device) == 0)
      return &ports[i];
  return nullptr;
}

bool read_at(int file, Byte* bytes, std::size_t count, std::size_t at) {
  while (count > 0) {
    const ssize_t got = ::pread(file, bytes, count, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    at += static_cast<std::size_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

// Null, or what is wrong with the file.
const char* read_row(int file, std::uint32_t lid, std::uint32_t lmc, Port& port) {
  constexpr const char* kCannotRead = "it cannot be read";
  struct stat about{};
  Byte header[kHeaderBytes];
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return "it is no ordinary file";
  if (!read_at(file, header, sizeof header, 0)) return kCannotRead;
  if (const char* wrong = read_header(header, static_cast<std::uint64_t>(about.st_size), port.shape)) return wrong;
  const Shape& shape = port.shape;
  const std::size_t size = shape.lids_bytes() + shape.row_bytes();
  void* const pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return "there is no memory for it";
  auto* const lids = static_cast<Byte*>(pages);
  Byte* const row = lids + shape.lids_bytes();
  const char* wrong = read_at(file, lids, shape.lids_bytes(), kHeaderBytes) ? check_lids(lids, shape) : kCannotRead;
  const std::uint32_t own = wrong == nullptr ? node_of(lids, shape, lid) : shape.nodes;
  const bool ours = own < shape.nodes;
  if (ours && lmc != shape.lmc)
    wrong = "this port has another LMC: the tables that it was planned for are not those of the subnet";
  else if (ours)
    wrong = read_at(file, row, shape.row_bytes(), shape.row_at(own)) ? check_row(row, shape) : kCannotRead;
  if (wrong != nullptr || !ours) {
    ::munmap(pages, size);
    return wrong;
  }
  ::mprotect(pages, size, PROT_READ);
  port.lids = lids;
  port.row = row;
  port.own = own;
  port.planned = true;
  return nullptr;
}

void read_plan(ibv_context* context, Port& port) {
  if (plan_name[0] == '\0') return complain("no plan is named in HEDDLE_PATHS_PLAN", "");
  std::uint16_t lid = 0;
  std::uint8_t lmc = 0;
  if (!next::port_lids(context, port.number, lid, lmc) || lid == 0) return; // Ethernet, or down
  const int file = ::open(plan_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return complain(plan_name, ": the plan cannot be opened");
  const char* const wrong = read_row(file, lid, lmc, port);
  ::close(file);
  if (wrong != nullptr) complain(plan_name, ": ", wrong);
}

const Port* enter(ibv_context* context, const char* device, std::uint8_t number, std::uint32_t searched) {
  const int code = errno;
  ::pthread_mutex_lock(&entering);
  const std::uint32_t count = known.load(std::memory_order_relaxed);
  const Port* found = find(device, number, searched, count);
  if (found == nullptr && count < kMostPorts) {
    Port& port = ports[count];
    std::memcpy(port.device, device, sizeof port.device);
    port.number = number;
    read_plan(context, port);
    known.store(count + 1, std::memory_order_release);
    found = &port;
  }
  ::pthread_mutex_unlock(&entering);
  errno = code;
  return found;
}

} // namespace

void name_plan() {
  const char* name = std::getenv("HEDDLE_PATHS_PLAN");
  if (name != nullptr && std::strlen(name) < sizeof plan_name) std::strcpy(plan_name, name);
}

Choice choose(ibv_context* context, std::uint8_t number, std::uint16_t lid) {
  if (lid == 0 || lid >= kFirstGroup) return {};
  const char* const device = context->device->name;
  const std::uint32_t count = known.load(std::memory_order_acquire);
  const Port* port = find(device, number, 0, count);
  if (port == nullptr) port = enter(context, device, number, count);
  if (port == nullptr || !port->planned) return {.found = Found::foreign_port};
  const std::uint32_t node = node_of(port->lids, port->shape, lid);
  if (node == port->shape.nodes) return {.found = Found::unknown};
  return {.found = Found::planned,
          .lid = static_cast<std::uint16_t>(lid_at(port->lids, node) + port->row[node]),
          .own_path_bits = port->row[port->shape.nodes + node]};
}

} // namespace heddle::paths

#include "fabric.hpp"

#include "switches.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace tofu_emulation {

namespace {

constexpr std::uint64_t kMade = 0x546f'6675'454d'0001;

void prepare(Fabric& made) {
  if (made.made == kMade) return;
  made.mutex.init();
  made.atomics.init();
  made.gate_mutex.init();
  for (Cq& cq : made.cqs) cq.mutex.init();
  made.made = kMade;
}

Fabric& map() {
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); // peers reach this process's memory
  const std::string& path = switches().fabric;
  int file = -1;
  if (!path.empty()) {
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::flock(file, LOCK_EX) != 0 || ::ftruncate(file, sizeof(Fabric)) != 0)
      violation("cannot use the fabric " + path);
  }
  void* memory = ::mmap(nullptr, sizeof(Fabric), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
  if (memory == MAP_FAILED) violation("no memory for the fabric");
  auto& made = *static_cast<Fabric*>(memory);
  prepare(made);
  if (file >= 0) ::flock(file, LOCK_UN); // the mapping keeps what close would let go of
  if (file >= 0) ::close(file);
  return made;
}

std::array<unsigned, 6> six(const std::string& text, const char* form) {
  std::array<unsigned, 6> n{};
  char more = 0;
  if (std::sscanf(text.c_str(), form, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &more) != 6)
    violation("coordinates: '" + text + "'");
  return n;
}

Place find_here() {
  const Switches& s = switches();
  const char* rank = std::getenv(s.rank.c_str());
  const std::uint64_t process = rank != nullptr ? std::strtoull(rank, nullptr, 10) : 0;
  std::array<unsigned, 6> at{};
  if (!s.coords.empty()) {
    at = six(s.coords, "%u.%u.%u.%u.%u.%u%c");
  } else {
    const auto shape =
        s.shape.empty() ? std::array<unsigned, 6>{4, 4, 4, 2, 3, 2} : six(s.shape, "%ux%ux%ux%ux%ux%u%c");
    std::uint64_t rest = process / s.per_node;
    for (std::size_t axis = 6; axis-- > 0;) {
      if (shape[axis] == 0) violation("shape: '" + s.shape + "'");
      at[axis] = static_cast<unsigned>(rest % shape[axis]);
      rest /= shape[axis];
    }
    if (rest != 0) violation("process " + std::to_string(process) + " is outside the shape");
  }
  if (at[3] > 1 || at[4] > 2 || at[5] > 1) violation("coordinates: a and c are 0 or 1, b 0 to 2");
  Place place;
  for (std::size_t axis = 0; axis < 6; ++axis) place.coords[axis] = static_cast<std::uint8_t>(at[axis]);
  return place;
}

} // namespace

void Mutex::init() {
  pthread_mutexattr_t robust;
  ::pthread_mutexattr_init(&robust);
  ::pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&raw, &robust);
  ::pthread_mutexattr_destroy(&robust);
}

// A process that is killed between giving a mutex back and waking who waits for it leaves them asleep, if a third takes it meanwhile: it is
// looked at again.
Lock::Lock(Mutex& mutex) : mutex_(mutex) {
  constexpr long kLook = 10'000'000;
  int code = ETIMEDOUT;
  while (code == ETIMEDOUT) {
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += kLook;
    until.tv_sec += until.tv_nsec / 1'000'000'000;
    until.tv_nsec %= 1'000'000'000;
    code = ::pthread_mutex_clocklock(&mutex.raw, CLOCK_MONOTONIC, &until);
  }
  if (code == EOWNERDEAD) ::pthread_mutex_consistent(&mutex.raw);
}

Fabric& fabric() {
  static Fabric& made = map();
  return made;
}

// From bit 0: x 8, y 8, z 8, a 2, b 2, c 2, tni 4, cq 8, cmp 8; 55: a mark; from 56: the path.
std::uint64_t Place::id() const {
  std::uint64_t id = 0;
  unsigned at = 0;
  const auto add = [&](std::uint64_t value, unsigned bits) {
    id |= value << at;
    at += bits;
  };
  for (int axis = 0; axis < 3; ++axis) add(coords[axis], 8);
  for (int axis = 3; axis < 6; ++axis) add(coords[axis], 2);
  add(tni, 4);
  add(cq, 8);
  add(cmp, 8);
  return id | std::uint64_t{1} << 55U | static_cast<std::uint64_t>(path) << 56U;
}

std::optional<Place> Place::of(std::uint64_t id) {
  if ((id >> 55U & 1U) == 0 || (id >> 50U & 0x1fU) != 0 || (id >> 56U) > 12) return {};
  Place place;
  const auto take = [&id](unsigned bits) {
    const std::uint64_t value = id & ((1U << bits) - 1);
    id >>= bits;
    return value;
  };
  for (int axis = 0; axis < 3; ++axis) place.coords[axis] = static_cast<std::uint8_t>(take(8));
  for (int axis = 3; axis < 6; ++axis) place.coords[axis] = static_cast<std::uint8_t>(take(2));
  place.tni = static_cast<std::uint16_t>(take(4));
  place.cq = static_cast<std::uint16_t>(take(8));
  place.cmp = static_cast<std::uint16_t>(take(8));
  place.path = static_cast<std::uint16_t>(id >> 6U);
  return place;
}

const Place& here() {
  static const Place kHere = find_here();
  return kHere;
}

std::optional<std::uint16_t> path_of(const std::uint8_t coords[3]) {
  if (coords == nullptr || coords[0] == UTOFU_PATH_COORD_NULL) return std::uint16_t{0};
  if (coords[0] > 1 || coords[1] > 2 || coords[2] > 1) return {};
  return static_cast<std::uint16_t>(1 + (coords[0] * 3 + coords[1]) * 2 + coords[2]);
}

Cq* find_cq(std::uint64_t id) {
  for (Cq& cq : fabric().cqs)
    if (cq.used != 0 && cq.id == (id & ~kPathBits)) return &cq;
  return nullptr;
}

std::uint64_t first_of(std::uint32_t stag, std::uint64_t address) {
  const bool bare = stag < kReservedStags && !switches().tag_keeps_bits;
  return base_of(stag) + (bare ? 0 : address & 0xffffU);
}

Reached reach(Cq& cq, std::uint64_t stadd, std::uint64_t bytes) {
  const std::uint64_t upper = stadd >> 32U;
  std::uint64_t stag = kStags;
  if (upper >= 0x100000)
    stag = kReservedStags + (upper - 0x100000) / 0x200;
  else if (upper >= 0xf0000)
    stag = (upper - 0xf0000) / 0x100;
  if (stag >= kStags || cq.stags[stag].used == 0) return {};
  Stag& at = cq.stags[stag];
  const std::uint64_t first = first_of(static_cast<std::uint32_t>(stag), at.address);
  if (stadd < first || stadd - first >= at.bytes) return {.stag = &at};
  const std::uint64_t offset = stadd - first;
  return {.stag = &at, .address = at.address + offset, .bytes = std::min(bytes, at.bytes - offset)};
}

} // namespace tofu_emulation

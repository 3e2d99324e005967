// What all processes of the emulated machine share: completion queues with their notices and registered memory, and barrier gates. Memory
// itself stays where it is: processes read and write each other's through the kernel.
#pragma once

#include "utofu.hpp"

#include <cstdint>
#include <optional>

#include <pthread.h>

namespace tofu_emulation {

inline constexpr std::uint32_t kReservedStags = 256;
inline constexpr std::uint32_t kStags = kReservedStags + 1024;
inline constexpr std::uint32_t kMrqEntries = 8192;
inline constexpr std::uint32_t kCqs = 512;
inline constexpr std::uint32_t kGates = 4096;

// Survives the death of whoever holds it.
struct Mutex {
  pthread_mutex_t raw;
  void init();
};
class Lock {
 public:
  explicit Lock(Mutex& mutex);
  ~Lock() { ::pthread_mutex_unlock(&mutex_.raw); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

struct Stag {
  std::uint64_t address, bytes;
  std::uint32_t flags, used;
};
struct Entry {
  utofu_mrq_notice notice;
  std::int64_t code;
};
struct Cq {
  Mutex mutex;
  std::uint32_t used;
  int pid;
  std::uint64_t id; // as query_vcq_id tells it: no path
  std::uint32_t tni;
  std::uint32_t first_stag, next_stag; // of the dynamic ones
  std::uint64_t head, tail, reserved;  // of mrq; reserved: room that commands of its own have taken
  Stag stags[kStags];
  Entry mrq[kMrqEntries];
};
struct Gate {
  std::uint64_t id;
  int pid;
  bool set, running;
  utofu_vbg_setting to;
  std::uint32_t local, remote; // signals that have come
};
struct Fabric {
  std::uint64_t made;
  Mutex mutex;   // of everything but the queues
  Mutex atomics; // armw=node
  Mutex gate_mutex;
  Gate gates[kGates];
  Cq cqs[kCqs];
};

Fabric& fabric();

// Ids: 6 x 8 bits of coordinates would be 48; a, b and c need 2 each, so that 10 bits are left for the path.
struct Place {
  std::uint8_t coords[6]{};
  std::uint16_t tni = 0, cq = 0, cmp = 0;
  std::uint16_t path = 0; // 0: default, otherwise 1 + ((a * 3) + b) * 2 + c

  [[nodiscard]] std::uint64_t id() const;
  static std::optional<Place> of(std::uint64_t id);
};
inline constexpr std::uint64_t kPathBits = std::uint64_t{0xff} << 56U;
// Of this process's node.
const Place& here();
std::optional<std::uint16_t> path_of(const std::uint8_t coords[3]);

// The queue with that id; null: nobody's now.
Cq* find_cq(std::uint64_t id);

inline std::uint64_t base_of(std::uint32_t stag) {
  return stag < kReservedStags ? (std::uint64_t{0xf0000} + 0x100 * stag) << 32U
                               : (std::uint64_t{0x100000} + 0x200 * (std::uint64_t{stag} - kReservedStags)) << 32U;
}
// Where memory that is registered under it begins.
std::uint64_t first_of(std::uint32_t stag, std::uint64_t address);
// Memory at a steering address: how much of `bytes` lies inside the registration, from `address` on.
struct Reached {
  Stag* stag = nullptr;
  std::uint64_t address = 0, bytes = 0;
};
Reached reach(Cq& cq, std::uint64_t stadd, std::uint64_t bytes);

} // namespace tofu_emulation

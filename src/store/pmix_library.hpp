// As much of libpmix as is used here: its types as they are in memory (stable since PMIx 2), and its calls, found at run time. So neither its
// headers nor the library are needed where there is no PMIx.
#pragma once

#include <heddle/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::store::pmix {

using Status = int;
using DataType = std::uint16_t;

inline constexpr Status kSuccess = 0;
inline constexpr DataType kBool = 1;
inline constexpr DataType kString = 3;
inline constexpr DataType kUint32 = 14;
inline constexpr std::uint8_t kGlobal = 3;
inline constexpr std::uint32_t kAnyRank = UINT32_MAX - 1;

struct Process {
  std::array<char, 256> name_space{};
  std::uint32_t rank = 0;
};

struct Value {
  DataType type = 0;
  union {
    bool flag;
    std::uint32_t uint32;
    char* string;
    std::array<char*, 3> largest; // what it reserves for the kinds that are not used here
  } data{.largest = {}};
};

struct Info {
  std::array<char, 512> key{};
  std::uint32_t flags = 0;
  Value value;
};

using OperationCallback = void (*)(Status status, void* context);
using ValueCallback = void (*)(Status status, Value* value, void* context);

// All or none are there.
struct Library {
  Status (*init)(Process* self, Info* info, std::size_t count) = nullptr;
  Status (*finalize)(const Info* info, std::size_t count) = nullptr;
  Status (*abort)(int status, const char* message, Process* processes, std::size_t count) = nullptr;
  Status (*put)(std::uint8_t scope, const char* key, Value* value) = nullptr;
  Status (*commit)() = nullptr;
  Status (*fence)(const Process* processes, std::size_t count, const Info* info, std::size_t infos,
                  OperationCallback callback, void* context) = nullptr;
  Status (*get)(const Process* process, const char* key, const Info* info, std::size_t infos, ValueCallback callback,
                void* context) = nullptr;
  Status (*resolve_nodes)(const char* name_space, char** names) = nullptr;
  const char* (*error_text)(Status status) = nullptr;

  // The library that the system finds as libpmix.so.2; stays loaded. store_failed where there is none.
  static Result<Library> load();
};

} // namespace heddle::store::pmix

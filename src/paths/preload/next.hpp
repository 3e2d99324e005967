// The functions that this library stands in front of, as the program would have found them without it.
#pragma once

#include <atomic>
#include <cstdint>

struct ibv_context;

namespace heddle::paths::next {

// A function of a library, in the version whose arguments this library knows. Looked for when first needed, since programs load
// libibverbs when they like and how they like; then it stays loaded.
class Function {
 public:
  constexpr Function(const char* library, const char* name, const char* version)
      : library_(library), name_(name), version_(version) {}

  // Null where no such library is loaded.
  template <typename Type>
  Type as() {
    void* found = found_.load(std::memory_order_relaxed);
    return reinterpret_cast<Type>(found != nullptr ? found : look());
  }

 private:
  void* look();

  const char* library_;
  const char* name_;
  const char* version_;
  std::atomic<void*> found_ = nullptr;
};

// Of a port that has some; false where the adapter does not say.
bool port_lids(ibv_context* context, std::uint8_t port, std::uint16_t& lid, std::uint8_t& lmc);

// Whether libibverbs is in this process at all.
bool verbs_are_loaded();

} // namespace heddle::paths::next

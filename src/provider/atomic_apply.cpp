// Atomic operations of every kind and type that libfabric names, on memory of this process. Calls of all endpoints of the process exclude each other.
#include "provider/control.hpp"
#include "provider/libfabric.hpp"

#include <complex>
#include <cstring>
#include <mutex>
#include <type_traits>

namespace heddle::provider {

namespace {

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// Integers wrap around.
template <typename T>
T sum(const T& one, const T& other) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(one) + static_cast<std::uint64_t>(other));
  else
    return one + other;
}
template <typename T>
T product(const T& one, const T& other) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(one) * static_cast<std::uint64_t>(other));
  else
    return one * other;
}

// The new value. False: no such operation on the type.
template <typename T>
bool combine(fi_op op, const T& old, const T& operand, const T& compare, T& result) {
  const auto truth = [](bool value) { return value ? T(1) : T(0); };
  const bool one = old != T(0);
  const bool other = operand != T(0);
  if (op == FI_SUM)
    result = sum(old, operand);
  else if (op == FI_PROD)
    result = product(old, operand);
  else if (op == FI_LOR)
    result = truth(one || other);
  else if (op == FI_LAND)
    result = truth(one && other);
  else if (op == FI_LXOR)
    result = truth(one != other);
  else if (op == FI_ATOMIC_READ)
    result = old;
  else if (op == FI_ATOMIC_WRITE)
    result = operand;
  else if (op == FI_CSWAP)
    result = compare == old ? operand : old;
  else if (op == FI_CSWAP_NE)
    result = compare != old ? operand : old;
  else if constexpr (!kIsComplex<T>) {
    if (op == FI_MIN)
      result = operand < old ? operand : old;
    else if (op == FI_MAX)
      result = operand > old ? operand : old;
    else if (op == FI_CSWAP_LE)
      result = compare <= old ? operand : old;
    else if (op == FI_CSWAP_LT)
      result = compare < old ? operand : old;
    else if (op == FI_CSWAP_GE)
      result = compare >= old ? operand : old;
    else if (op == FI_CSWAP_GT)
      result = compare > old ? operand : old;
    else if constexpr (std::is_integral_v<T>) {
      if (op == FI_BOR)
        result = static_cast<T>(old | operand);
      else if (op == FI_BAND)
        result = static_cast<T>(old & operand);
      else if (op == FI_BXOR)
        result = static_cast<T>(old ^ operand);
      else if (op == FI_MSWAP)
        result = static_cast<T>((operand & compare) | (old & static_cast<T>(~compare)));
      else
        return false;
    } else {
      return false;
    }
  } else {
    return false;
  }
  return true;
}

struct Memories {
  std::byte* memory;
  const std::byte* operands;
  const std::byte* compare;
  std::byte* before;
};

template <typename T>
T load(const std::byte* from, std::size_t index) {
  T value{};
  if (from != nullptr) std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
bool apply(fi_op op, std::size_t count, const Memories& at) {
  for (std::size_t i = 0; i < count; ++i) {
    const T old = load<T>(at.memory, i);
    T result{};
    if (!combine<T>(op, old, load<T>(at.operands, i), load<T>(at.compare, i), result)) return false;
    if (at.before != nullptr) std::memcpy(at.before + i * sizeof(T), &old, sizeof(T));
    if (op != FI_ATOMIC_READ) std::memcpy(at.memory + i * sizeof(T), &result, sizeof(T));
  }
  return true;
}

template <typename Visit>
bool with_type(std::uint8_t datatype, Visit&& visit) {
  switch (static_cast<unsigned>(datatype)) {
    case FI_INT8: return visit(std::int8_t{});
    case FI_UINT8: return visit(std::uint8_t{});
    case FI_INT16: return visit(std::int16_t{});
    case FI_UINT16: return visit(std::uint16_t{});
    case FI_INT32: return visit(std::int32_t{});
    case FI_UINT32: return visit(std::uint32_t{});

    case FI_INT64: return visit(std::int64_t{});
    case FI_UINT64: return visit(std::uint64_t{});
    case FI_FLOAT: return visit(float{});
    case FI_DOUBLE: return visit(double{});
    case FI_FLOAT_COMPLEX: return visit(std::complex<float>{});
    case FI_DOUBLE_COMPLEX: return visit(std::complex<double>{});
    case FI_LONG_DOUBLE: return visit(static_cast<long double>(0));
    case FI_LONG_DOUBLE_COMPLEX: return visit(std::complex<long double>{});
    default: return false;
  }
}

} // namespace

bool apply_atomic(std::uint8_t datatype, std::uint8_t op, std::size_t count, std::byte* memory,
                  const std::byte* operands, const std::byte* compare, std::byte* before) {
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  return with_type(datatype, [&]<typename T>(T) {
    return apply<T>(static_cast<fi_op>(op), count,
                    {.memory = memory, .operands = operands, .compare = compare, .before = before});
  });
}

std::size_t element_bytes(std::uint8_t datatype) {
  std::size_t bytes = 0;
  with_type(datatype, [&bytes]<typename T>(T) {
    bytes = sizeof(T);
    return true;
  });
  return bytes;
}

bool atomic_exists(AtomicForm form, std::uint8_t datatype, std::uint8_t op) {
  if (op >= FI_ATOMIC_OP_LAST) return false;
  const bool compares = op >= FI_CSWAP;
  if (compares != (form == AtomicForm::compare)) return false;
  if (op == FI_ATOMIC_READ && form != AtomicForm::fetch) return false;
  return with_type(datatype, [op]<typename T>(T) {
    T result{};
    return combine<T>(static_cast<fi_op>(op), T{}, T{}, T{}, result);
  });
}

} // namespace heddle::provider

// Every atomic operation on every type, in each form of call, against a model.
#include "tests/provider/side.hpp"

#include <algorithm>
#include <complex>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>

namespace heddle::tests {
namespace {

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

enum class Form : std::uint8_t { plain, fetch, compare };

// What fi_atomic(3) says of an operation on one element. Nothing: it does not exist for the type.
template <typename T>
std::optional<T> model(fi_op op, T there, T operand, T compare) {
  constexpr bool kOrdered = !IsComplex<T>::value;
  const T zero{};
  const T one(1);
  switch (static_cast<unsigned>(op)) {
    case FI_SUM:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uintmax_t>(there) + static_cast<std::uintmax_t>(operand));
      else
        return there + operand;
    case FI_PROD:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uintmax_t>(there) * static_cast<std::uintmax_t>(operand));
      else
        return there * operand;
    case FI_LOR: return there != zero || operand != zero ? one : zero;
    case FI_LAND: return there != zero && operand != zero ? one : zero;
    case FI_LXOR: return (there != zero) != (operand != zero) ? one : zero;
    case FI_ATOMIC_READ: return there;
    case FI_ATOMIC_WRITE: return operand;
    case FI_CSWAP: return compare == there ? operand : there;
    case FI_CSWAP_NE: return compare == there ? there : operand;
    default: break;
  }
  if constexpr (kOrdered) {
    switch (static_cast<unsigned>(op)) {
      case FI_MIN: return std::min(there, operand);
      case FI_MAX: return std::max(there, operand);
      case FI_CSWAP_LE: return compare <= there ? operand : there;
      case FI_CSWAP_LT: return compare < there ? operand : there;
      case FI_CSWAP_GE: return compare >= there ? operand : there;
      case FI_CSWAP_GT: return compare > there ? operand : there;
      default: break;
    }
  }
  if constexpr (std::is_integral_v<T>) {
    switch (static_cast<unsigned>(op)) {
      case FI_BOR: return static_cast<T>(there | operand);
      case FI_BAND: return static_cast<T>(there & operand);
      case FI_BXOR: return static_cast<T>(there ^ operand);
      case FI_MSWAP: return static_cast<T>((operand & compare) | (there & ~compare));
      default: break;
    }
  }
  return std::nullopt;
}

bool exists(Form form, fi_op op) {
  if (op >= FI_CSWAP) return form == Form::compare;
  return form == Form::fetch || (form == Form::plain && op != FI_ATOMIC_READ);
}

constexpr std::size_t kElements = 5;
template <typename T>
using Elements = std::array<T, kElements>;

template <typename T>
Elements<T> draw(std::mt19937& random) {
  Elements<T> values{};
  for (T& each : values) {
    const int small =
        static_cast<int>(random() % 7) - (std::is_unsigned_v<T> ? 0 : 3); // so that some are alike, and some 0
    if constexpr (IsComplex<T>::value) {
      using Real = typename T::value_type;
      each = T(static_cast<Real>(small), static_cast<Real>(random() % 3));
    } else {
      each = static_cast<T>(small);
    }
    if constexpr (std::is_integral_v<T>)
      if (random() % 3 == 0) each = static_cast<T>(random()); // sums and products wrap around
  }
  return values;
}

// One operation by the call that takes whole arrays, by the one that takes pieces, or by the one that takes a description of all.
struct Call {
  Side& from;
  fi_addr_t to;
  fi_datatype type;
  fi_op op;
  Form form;
  int way;
};

template <typename T>
void begin(const Call& what, Elements<T>& operands, Elements<T>& compare, Elements<T>& before) {
  fid_ep* ep = what.from.ep;
  constexpr std::uint64_t kAt = sizeof(T);
  const auto in_pieces = [](Elements<T>& all, std::size_t first) {
    return std::array{fi_ioc{all.data(), first}, fi_ioc{all.data() + first, kElements - first}};
  };
  auto out = in_pieces(operands, 2);
  auto compared = in_pieces(compare, 1);
  auto results = in_pieces(before, 4);
  const std::array<fi_rma_ioc, 2> places = {fi_rma_ioc{.addr = kAt, .count = 3, .key = 1},
                                            fi_rma_ioc{.addr = kAt + 3 * sizeof(T), .count = 2, .key = 1}};
  fi_msg_atomic message{};
  message.msg_iov = out.data();
  message.iov_count = out.size();
  message.addr = what.to;
  message.rma_iov = places.data();
  message.rma_iov_count = places.size();
  message.datatype = what.type;
  message.op = what.op;
  message.context = &before;
  const auto [type, op] = std::pair(what.type, what.op);
  if (what.form == Form::plain) {
    if (what.way == 0)
      demand(fi_atomic(ep, operands.data(), kElements, nullptr, what.to, kAt, 1, type, op, &before));
    else if (what.way == 1)
      demand(fi_atomicv(ep, out.data(), nullptr, out.size(), what.to, kAt, 1, type, op, &before));
    else
      demand(fi_atomicmsg(ep, &message, FI_COMPLETION));
  } else if (what.form == Form::fetch) {
    if (what.way == 0)
      demand(fi_fetch_atomic(ep, operands.data(), kElements, nullptr, before.data(), nullptr, what.to, kAt, 1, type, op,
                             &before));
    else if (what.way == 1)
      demand(fi_fetch_atomicv(ep, out.data(), nullptr, out.size(), results.data(), nullptr, results.size(), what.to,
                              kAt, 1, type, op, &before));
    else
      demand(fi_fetch_atomicmsg(ep, &message, results.data(), nullptr, results.size(), FI_COMPLETION));
  } else if (what.way == 0) {
    demand(fi_compare_atomic(ep, operands.data(), kElements, nullptr, compare.data(), nullptr, before.data(), nullptr,
                             what.to, kAt, 1, type, op, &before));
  } else if (what.way == 1) {
    demand(fi_compare_atomicv(ep, out.data(), nullptr, out.size(), compared.data(), nullptr, compared.size(),
                              results.data(), nullptr, results.size(), what.to, kAt, 1, type, op, &before));
  } else {
    demand(fi_compare_atomicmsg(ep, &message, compared.data(), nullptr, compared.size(), results.data(), nullptr,
                                results.size(), FI_COMPLETION));
  }
}

// Whether the domain says so, and every call of its form.
bool is_offered(Side& side, fi_datatype type, fi_op op, Form form, std::size_t element) {
  const std::uint64_t flags = form == Form::plain ? 0 : form == Form::fetch ? FI_FETCH_ATOMIC : FI_COMPARE_ATOMIC;
  fi_atomic_attr attributes{};
  const int status = fi_query_atomic(side.domain, type, op, &attributes, flags);
  std::size_t count = 0;
  const int valid = form == Form::plain   ? fi_atomicvalid(side.ep, type, op, &count)
                    : form == Form::fetch ? fi_fetch_atomicvalid(side.ep, type, op, &count)
                                          : fi_compare_atomicvalid(side.ep, type, op, &count);
  EXPECT_EQ(status, valid);
  if (status != 0) return false;
  EXPECT_EQ(attributes.size, element);
  EXPECT_EQ(attributes.count, 8192 / element);
  EXPECT_EQ(count, attributes.count);
  return true;
}

template <typename T>
std::size_t try_all(Side& here, Side& there, fi_addr_t to, fi_datatype type, std::byte* memory,
                    const std::function<void*()>& ended) {
  std::mt19937 random(static_cast<unsigned>(type));
  std::size_t tried = 0;
  T* const words = reinterpret_cast<T*>(memory);
  for (int number = 0; number < FI_ATOMIC_OP_LAST; ++number)
    for (const Form form : {Form::plain, Form::fetch, Form::compare}) {
      const auto op = static_cast<fi_op>(number);
      SCOPED_TRACE(testing::Message() << "type " << type << ", operation " << op << ", form "
                                      << static_cast<int>(form));
      const bool expected = exists(form, op) && model<T>(op, T{}, T{}, T{}).has_value();
      EXPECT_EQ(is_offered(there, type, op, form, sizeof(T)), expected);
      if (!expected) continue;
      ++tried;
      for (int round = 0; round < 6; ++round) {
        Elements<T> were = draw<T>(random);
        Elements<T> operands = draw<T>(random);
        Elements<T> compare = draw<T>(random);
        Elements<T> before{};
        std::copy(were.begin(), were.end(), words + 1);
        words[0] = words[kElements + 1] = T(1);
        begin<T>({here, to, type, op, form, round % 3}, operands, compare, before);
        EXPECT_EQ(ended(), &before);
        for (std::size_t i = 0; i < kElements; ++i) {
          const std::optional<T> result = model<T>(op, were[i], operands[i], compare[i]);
          EXPECT_EQ(words[i + 1], *result) << were[i] << " and " << operands[i] << ", compared with " << compare[i];
          if (form != Form::plain) {
            EXPECT_EQ(before[i], were[i]);
          }
        }
        EXPECT_EQ(words[0], T(1));
        EXPECT_EQ(words[kElements + 1], T(1));
        if (testing::Test::HasFailure()) return tried;
      }
    }
  return tried;
}

TEST_P(Provider, EveryAtomicOperationOnEveryTypeInEveryForm) {
  open();
  alignas(64) std::array<std::byte, 1024> memory{};
  there->expose(memory.data(), memory.size(), 1, kBoth);
  const auto ended = [this] { return entry_of(*here).op_context; };
  std::size_t tried = 0;
  const auto all = [&]<typename T>(fi_datatype type, T) {
    tried += try_all<T>(*here, *there, to_there, type, memory.data(), ended);
  };
  all(FI_INT8, std::int8_t{});
  all(FI_UINT8, std::uint8_t{});
  all(FI_INT16, std::int16_t{});
  all(FI_UINT16, std::uint16_t{});
  all(FI_INT32, std::int32_t{});
  all(FI_UINT32, std::uint32_t{});
  all(FI_INT64, std::int64_t{});
  all(FI_UINT64, std::uint64_t{});
  all(FI_FLOAT, float{});
  all(FI_DOUBLE, double{});
  all(FI_FLOAT_COMPLEX, std::complex<float>{});
  all(FI_DOUBLE_COMPLEX, std::complex<double>{});
  all(FI_LONG_DOUBLE, static_cast<long double>(0));
  all(FI_LONG_DOUBLE_COMPLEX, std::complex<long double>{});
  // Of 19 operations: integers have all, other real types not those on bits, complex ones no order either. Two in two forms but the read.
  EXPECT_EQ(tried, 8 * (2 * 11 + 1 + 7) + 3 * (2 * 8 + 1 + 6) + 3 * (2 * 6 + 1 + 2));
}

TEST_P(Provider, InjectedAtomicsAreCountedOnly) {
  open();
  std::uint64_t memory = 0;
  there->expose(&memory, sizeof memory, 1, kBoth);
  for (std::uint64_t i = 1; i <= 10; ++i) demand(fi_inject_atomic(here->ep, &i, 1, to_there, 0, 1, FI_UINT64, FI_SUM));
  while (fi_cntr_read(here->counters[3]) < 10) EXPECT_FALSE(there->next());
  EXPECT_EQ(memory, 55U);
  EXPECT_FALSE(here->next());
}

} // namespace
} // namespace heddle::tests

// RMA and atomics through libfabric, and what fi_getinfo says of all.
#include "tests/provider/side.hpp"

#include <algorithm>
#include <complex>
#include <functional>
#include <numeric>
#include <span>

namespace heddle::tests {
namespace {

TEST_P(Provider, WritesAndReadsMemoryOfEverySize) {
  open();
  std::vector<std::uint8_t> memory(3'000'000);
  there->expose(memory.data(), memory.size(), 42, kBoth);
  for (const std::size_t bytes : {0U, 1U, 1000U, 16384U, 16385U, 1'000'000U, 2'999'999U}) {
    SCOPED_TRACE(bytes);
    std::vector<std::uint8_t> out(bytes);
    std::iota(out.begin(), out.end(), static_cast<std::uint8_t>(bytes));
    demand(fi_write(here->ep, out.data(), bytes, nullptr, to_there, 1, 42, &out));
    auto ended = entry_of(*here);
    EXPECT_EQ(ended.op_context, &out);
    EXPECT_EQ(ended.flags, FI_RMA | FI_WRITE);
    EXPECT_TRUE(std::ranges::equal(out, std::span(memory).subspan(1, bytes)));
    std::vector<std::uint8_t> in(bytes);
    demand(fi_read(here->ep, in.data(), bytes, nullptr, to_there, 1, 42, &in));
    ended = entry_of(*here);
    EXPECT_EQ(ended.op_context, &in);
    EXPECT_EQ(ended.flags, FI_RMA | FI_READ);
    EXPECT_EQ(in, out);
  }
  EXPECT_EQ(fi_cntr_read(here->counters[2]), 7U);
  EXPECT_EQ(fi_cntr_read(here->counters[3]), 7U);
  EXPECT_EQ(fi_cntr_read(there->counters[4]), 7U);
  EXPECT_EQ(fi_cntr_read(there->counters[5]), 7U);
  const std::uint8_t byte = 99;
  demand(fi_inject_write(here->ep, &byte, 1, to_there, 5, 42));
  while (fi_cntr_read(here->counters[3]) < 8) EXPECT_FALSE(there->next());
  EXPECT_EQ(memory[5], 99);
  EXPECT_FALSE(here->next());
  demand(fi_writedata(here->ep, &byte, 1, nullptr, 0xabcdef0123456789ULL, to_there, 6, 42, nullptr));
  const auto told = entry_of(*there);
  EXPECT_EQ(told.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(told.data, 0xabcdef0123456789ULL);
  EXPECT_EQ(memory[6], 99);
}

TEST_P(Provider, MovesPiecesOfMemoryOnBothSides) {
  open();
  std::vector<std::uint8_t> memory(200'000);
  there->expose(memory.data(), memory.size(), 1, kBoth);
  std::vector<std::uint8_t> local(60'000);
  std::iota(local.begin(), local.end(), std::uint8_t{0});
  const std::array<iovec, 2> pieces = {iovec{local.data(), 20'000}, iovec{local.data() + 20'000, 40'000}};
  const std::array<fi_rma_iov, 3> places = {fi_rma_iov{.addr = 100, .len = 10, .key = 1},
                                            fi_rma_iov{.addr = 1000, .len = 50'000, .key = 1},
                                            fi_rma_iov{.addr = 100'000, .len = 9'990, .key = 1}};
  fi_msg_rma message{};
  message.msg_iov = pieces.data();
  message.iov_count = pieces.size();
  message.addr = to_there;
  message.rma_iov = places.data();
  message.rma_iov_count = places.size();
  demand(fi_writemsg(here->ep, &message, FI_COMPLETION));
  entry_of(*here);
  EXPECT_EQ(std::memcmp(memory.data() + 100, local.data(), 10), 0);
  EXPECT_EQ(std::memcmp(memory.data() + 1000, local.data() + 10, 50'000), 0);
  EXPECT_EQ(std::memcmp(memory.data() + 100'000, local.data() + 50'010, 9'990), 0);
  const auto before = local;
  std::ranges::fill(local, 0);
  demand(fi_readmsg(here->ep, &message, FI_COMPLETION));
  entry_of(*here);
  EXPECT_EQ(local, before);
}

TEST_P(Provider, RefusesWhatIsNotOpenToPeers) {
  open();
  std::vector<std::uint8_t> memory(100'000, 7);
  there->expose(memory.data(), memory.size(), 3, FI_REMOTE_READ);
  fid_mr* again = nullptr;
  EXPECT_EQ(fi_mr_reg(there->domain, memory.data(), 1, kBoth, 0, 3, 0, &again, nullptr), -FI_ENOKEY);
  std::vector<std::uint8_t> local(100'000, 1);
  const auto refused = [&](ssize_t status) {
    demand(status);
    return error_of(*here);
  };
  for (const std::size_t bytes : {10U, 50'000U}) {
    EXPECT_EQ(refused(fi_write(here->ep, local.data(), bytes, nullptr, to_there, 0, 3, nullptr)), FI_EACCES);
    EXPECT_EQ(refused(fi_read(here->ep, local.data(), bytes, nullptr, to_there, 99'999, 3, nullptr)), FI_EACCES);
    EXPECT_EQ(refused(fi_read(here->ep, local.data(), bytes, nullptr, to_there, ~0ULL - 4, 3, nullptr)), FI_EACCES);
    EXPECT_EQ(refused(fi_read(here->ep, local.data(), bytes, nullptr, to_there, 0, 4, nullptr)), FI_ENOKEY);
    EXPECT_EQ(refused(fi_write(here->ep, local.data(), bytes, nullptr, to_there, 0, 4, nullptr)), FI_ENOKEY);
    demand(fi_read(here->ep, local.data(), bytes, nullptr, to_there, 0, 3, nullptr));
    entry_of(*here);
    EXPECT_EQ(local[0], 7);
  }
  std::uint64_t one = 1;
  EXPECT_EQ(refused(fi_atomic(here->ep, &one, 1, nullptr, to_there, 0, 3, FI_UINT64, FI_SUM, nullptr)), FI_EACCES);
  EXPECT_EQ(memory, std::vector<std::uint8_t>(100'000, 7));
}

template <typename T>
void add_and_compare(Side& here, fi_addr_t to, fi_datatype type, T* memory, const std::function<void()>& wait) {
  SCOPED_TRACE(type);
  memory[1] = T(20);
  T three = T(3);
  T before = T(0);
  demand(fi_fetch_atomic(here.ep, &three, 1, nullptr, &before, nullptr, to, sizeof(T), 1, type, FI_SUM, nullptr));
  wait();
  EXPECT_EQ(before, T(20));
  EXPECT_EQ(memory[1], T(23));
  demand(fi_atomic(here.ep, &three, 1, nullptr, to, sizeof(T), 1, type, FI_PROD, nullptr));
  wait();
  EXPECT_EQ(memory[1], T(69));
  T expected = T(69);
  demand(fi_compare_atomic(here.ep, &three, 1, nullptr, &expected, nullptr, &before, nullptr, to, sizeof(T), 1, type,
                           FI_CSWAP, nullptr));
  wait();
  EXPECT_EQ(before, T(69));
  EXPECT_EQ(memory[1], T(3));
  demand(fi_compare_atomic(here.ep, &expected, 1, nullptr, &expected, nullptr, &before, nullptr, to, sizeof(T), 1, type,
                           FI_CSWAP, nullptr));
  wait();
  EXPECT_EQ(before, T(3));
  EXPECT_EQ(memory[1], T(3)) << "it was not what was expected";
  demand(
      fi_fetch_atomic(here.ep, nullptr, 1, nullptr, &before, nullptr, to, sizeof(T), 1, type, FI_ATOMIC_READ, nullptr));
  wait();
  EXPECT_EQ(before, T(3));
}

TEST_P(Provider, AtomicsOfEveryType) {
  open();
  alignas(64) std::array<std::byte, 65536> memory{};
  there->expose(memory.data(), memory.size(), 1, kBoth);
  const auto wait = [this] { entry_of(*here); };
  const auto one = [&]<typename T>(fi_datatype type, const T*) {
    add_and_compare<T>(*here, to_there, type, reinterpret_cast<T*>(memory.data()), wait);
  };
  one(FI_INT8, static_cast<std::int8_t*>(nullptr));
  one(FI_UINT8, static_cast<std::uint8_t*>(nullptr));
  one(FI_INT16, static_cast<std::int16_t*>(nullptr));
  one(FI_UINT16, static_cast<std::uint16_t*>(nullptr));
  one(FI_INT32, static_cast<std::int32_t*>(nullptr));
  one(FI_UINT32, static_cast<std::uint32_t*>(nullptr));
  one(FI_INT64, static_cast<std::int64_t*>(nullptr));
  one(FI_UINT64, static_cast<std::uint64_t*>(nullptr));
  one(FI_FLOAT, static_cast<float*>(nullptr));
  one(FI_DOUBLE, static_cast<double*>(nullptr));
  one(FI_FLOAT_COMPLEX, static_cast<std::complex<float>*>(nullptr));
  one(FI_DOUBLE_COMPLEX, static_cast<std::complex<double>*>(nullptr));
  one(FI_LONG_DOUBLE, static_cast<long double*>(nullptr));
  one(FI_LONG_DOUBLE_COMPLEX, static_cast<std::complex<long double>*>(nullptr));
  // Many elements, and what is not there.
  std::vector<std::int32_t> operands(2048);
  std::iota(operands.begin(), operands.end(), -1000);
  auto* words = reinterpret_cast<std::int32_t*>(memory.data());
  std::fill_n(words, 2048, 0);
  demand(fi_atomic(here->ep, operands.data(), 2048, nullptr, to_there, 0, 1, FI_INT32, FI_MAX, nullptr));
  wait();
  for (int i = 0; i < 2048; ++i) ASSERT_EQ(words[i], std::max(0, i - 1000));
  std::size_t count = 0;
  EXPECT_EQ(fi_atomicvalid(here->ep, FI_INT32, FI_BXOR, &count), 0);
  EXPECT_EQ(count, 2048U);
  EXPECT_EQ(fi_atomicvalid(here->ep, FI_DOUBLE, FI_BXOR, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomicvalid(here->ep, FI_INT32, FI_CSWAP, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_compare_atomicvalid(here->ep, FI_DOUBLE_COMPLEX, FI_CSWAP_LE, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomic(here->ep, operands.data(), 2049, nullptr, to_there, 0, 1, FI_INT32, FI_MAX, nullptr), -FI_EINVAL);
}

TEST_P(Provider, AnEndpointReachesItself) {
  open();
  const fi_addr_t self = here->insert(*here);
  std::uint64_t memory = 5;
  here->expose(&memory, sizeof memory, 9, kBoth);
  std::uint64_t in = 0;
  demand(fi_trecv(here->ep, &in, sizeof in, nullptr, self, 1, 0, nullptr));
  const std::uint64_t out = 8;
  demand(fi_tinject(here->ep, &out, sizeof out, self, 1));
  entry_of(*here);
  EXPECT_EQ(in, 8U);
  demand(fi_fetch_atomic(here->ep, &out, 1, nullptr, &in, nullptr, self, 0, 9, FI_UINT64, FI_SUM, nullptr));
  entry_of(*here);
  EXPECT_EQ(in, 5U);
  EXPECT_EQ(memory, 13U);
}

// Keys are the provider's, whatever is asked for, and addresses the target's own.
TEST_P(Provider, MemoryMayBeNamedByItsAddress) { // FI_MR_BASIC
  open({.memory = FI_MR_BASIC});
  EXPECT_EQ(here->info.found->domain_attr->mr_mode, static_cast<int>(FI_MR_BASIC));
  std::array<std::uint64_t, 4> memory = {1, 2, 3, 4};
  fid_mr* second = nullptr;
  there->expose(memory.data(), 16, 7, kBoth);
  demand(fi_mr_reg(there->domain, &memory[2], 16, kBoth, 0, 7, 0, &second, nullptr));
  EXPECT_NE(fi_mr_key(there->mr), fi_mr_key(second));
  const auto address = [](const std::uint64_t& word) { return reinterpret_cast<std::uint64_t>(&word); };
  std::uint64_t in = 0;
  demand(fi_read(here->ep, &in, 8, nullptr, to_there, address(memory[3]), fi_mr_key(second), &in));
  entry_of(*here);
  EXPECT_EQ(in, 4U);
  demand(fi_write(here->ep, &in, 8, nullptr, to_there, address(memory[0]), fi_mr_key(there->mr), &in));
  entry_of(*here);
  EXPECT_EQ(memory[0], 4U);
  for (const std::uint64_t wrong : {std::uint64_t{8}, address(memory[2]), address(memory[0]) - 8}) {
    demand(fi_read(here->ep, &in, 8, nullptr, to_there, wrong, fi_mr_key(there->mr), &in));
    EXPECT_EQ(error_of(*here), FI_EACCES);
  }
  EXPECT_EQ(fi_close(&second->fid), 0);
}

TEST(ProviderInfo, OffersWhatItHasAndRefusesTheRest) {
  const auto status = [](auto&& change) {
    Info info(FI_TAGGED | FI_MSG | FI_RMA | FI_ATOMIC);
    change(*info.hints);
    return info.ask();
  };
  EXPECT_EQ(status([](fi_info&) {}), 0);
  EXPECT_EQ(status([](fi_info& hints) { hints.ep_attr->type = FI_EP_MSG; }), -FI_ENODATA);
  EXPECT_EQ(status([](fi_info& hints) { hints.ep_attr->type = FI_EP_DGRAM; }), -FI_ENODATA);
  EXPECT_EQ(status([](fi_info& hints) { hints.caps |= FI_TRIGGER; }), -FI_ENODATA);
  EXPECT_EQ(status([](fi_info& hints) { hints.caps |= FI_RMA_EVENT; }), 0);
  EXPECT_EQ(status([](fi_info& hints) { hints.caps |= FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV; }), 0);
  EXPECT_EQ(status([](fi_info& hints) { hints.tx_attr->msg_order = FI_ORDER_SAS; }), 0);
  EXPECT_EQ(status([](fi_info& hints) { hints.domain_attr->data_progress = FI_PROGRESS_AUTO; }), -FI_ENODATA);
  EXPECT_EQ(status([](fi_info& hints) { hints.domain_attr->mr_mode = FI_MR_BASIC; }), 0);
  EXPECT_EQ(status([](fi_info& hints) { hints.domain_attr->mr_mode = FI_MR_SCALABLE; }), 0);
  EXPECT_EQ(status([](fi_info& hints) { hints.tx_attr->inject_size = 16385; }), -FI_ENODATA);
  Info tagged(FI_TAGGED);
  ASSERT_EQ(tagged.ask(), 0);
  EXPECT_EQ(tagged.found->caps & (FI_MSG | FI_RMA | FI_ATOMIC), 0U) << "nothing is granted that was not asked for";
  EXPECT_STREQ(tagged.found->fabric_attr->prov_name, "heddle");
}

} // namespace
} // namespace heddle::tests

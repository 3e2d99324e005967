// The forms of calls that MPIs seldom use, and their flags.
#include "tests/provider/side.hpp"

#include <algorithm>
#include <numeric>

namespace heddle::tests {
namespace {

TEST_P(Provider, UntaggedMessagesOfEveryForm) {
  open();
  std::vector<std::uint8_t> out(50'000);
  std::vector<std::uint8_t> in(50'000);
  std::iota(out.begin(), out.end(), std::uint8_t{0});
  const std::array<iovec, 2> from = {iovec{out.data(), 7}, iovec{out.data() + 7, 49'993}};
  const std::array<iovec, 3> into = {iovec{in.data(), 1}, iovec{in.data() + 1, 0}, iovec{in.data() + 1, 49'999}};
  demand(fi_recvv(there->ep, into.data(), nullptr, into.size(), FI_ADDR_UNSPEC, &in));
  demand(fi_sendv(here->ep, from.data(), nullptr, from.size(), to_there, &out));
  auto got = entry_of(*there);
  EXPECT_EQ(got.op_context, &in);
  EXPECT_EQ(got.flags, FI_RECV | FI_MSG);
  EXPECT_EQ(got.len, out.size());
  EXPECT_EQ(in, out);
  EXPECT_EQ(entry_of(*here).op_context, &out);
  fi_msg message{};
  message.msg_iov = from.data();
  message.iov_count = 1;
  message.addr = to_there;
  message.data = 88;
  demand(fi_recv(there->ep, in.data(), in.size(), nullptr, to_here, &in));
  demand(fi_sendmsg(here->ep, &message, FI_REMOTE_CQ_DATA | FI_COMPLETION));
  got = entry_of(*there);
  EXPECT_EQ(got.len, 7U);
  EXPECT_EQ(got.data, 88U);
  EXPECT_EQ(got.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(entry_of(*here).flags, FI_SEND | FI_MSG);
  demand(fi_injectdata(here->ep, &out[3], 2, 99, to_there));
  demand(fi_recv(there->ep, in.data(), in.size(), nullptr, to_here, &in));
  got = entry_of(*there);
  EXPECT_EQ(got.data, 99U);
  EXPECT_EQ(in[0], 3);
  EXPECT_EQ(in[1], 4);
  const std::vector<iovec> many(9, iovec{out.data(), 1});
  EXPECT_EQ(fi_sendv(here->ep, many.data(), nullptr, many.size(), to_there, nullptr), -FI_EINVAL);
  EXPECT_EQ(fi_recvv(here->ep, many.data(), nullptr, many.size(), to_there, nullptr), -FI_EINVAL);
}

TEST_P(Provider, ReadsAndWritesOfEveryForm) {
  open();
  std::vector<std::uint8_t> memory(100'000);
  there->expose(memory.data(), memory.size(), 1, kBoth);
  for (const std::size_t bytes : {100U, 60'000U}) {
    std::vector<std::uint8_t> local(bytes);
    std::iota(local.begin(), local.end(), static_cast<std::uint8_t>(bytes));
    const auto before = local;
    const std::array<iovec, 2> pieces = {iovec{local.data(), 30}, iovec{local.data() + 30, bytes - 30}};
    demand(fi_writev(here->ep, pieces.data(), nullptr, pieces.size(), to_there, 5, 1, &memory));
    EXPECT_EQ(entry_of(*here).op_context, &memory);
    EXPECT_TRUE(std::equal(local.begin(), local.end(), memory.begin() + 5));
    std::ranges::fill(local, 0);
    demand(fi_readv(here->ep, pieces.data(), nullptr, pieces.size(), to_there, 5, 1, &local));
    EXPECT_EQ(entry_of(*here).op_context, &local);
    EXPECT_EQ(local, before);
  }
  const std::uint8_t byte = 77;
  demand(fi_inject_writedata(here->ep, &byte, 1, 1234, to_there, 9, 1));
  const auto told = entry_of(*there);
  EXPECT_EQ(told.data, 1234U);
  EXPECT_EQ(told.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(memory[9], 77);
  EXPECT_EQ(fi_inject_write(here->ep, memory.data(), 16385, to_there, 0, 1), -FI_EMSGSIZE);
  while (fi_cntr_read(here->counters[3]) < 3) EXPECT_FALSE(there->next());
  EXPECT_FALSE(here->next()) << "what is injected is not reported";
}

TEST_P(Provider, CountsWhatOthersDoToItsMemory) { // FI_RMA_EVENT
  open({.caps = FI_TAGGED | FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT});
  EXPECT_NE(here->info.found->caps & FI_RMA_EVENT, 0U);
  std::array<std::uint64_t, 2> memory{};
  there->expose(memory.data(), sizeof memory, 1, kBoth);
  std::uint64_t one = 1;
  std::uint64_t in = 0;
  const auto counted = [&](ssize_t status) {
    demand(status);
    entry_of(*here);
    return std::array{fi_cntr_read(there->counters[4]), fi_cntr_read(there->counters[5])};
  };
  using Counts = std::array<std::uint64_t, 2>; // reads, writes; fetching and comparing are reads, says fi_endpoint(3)
  EXPECT_EQ(counted(fi_write(here->ep, &one, 8, nullptr, to_there, 0, 1, nullptr)), (Counts{0, 1}));
  EXPECT_EQ(counted(fi_read(here->ep, &in, 8, nullptr, to_there, 0, 1, nullptr)), (Counts{1, 1}));
  EXPECT_EQ(counted(fi_atomic(here->ep, &one, 1, nullptr, to_there, 0, 1, FI_UINT64, FI_SUM, nullptr)), (Counts{1, 2}));
  EXPECT_EQ(
      counted(fi_fetch_atomic(here->ep, &one, 1, nullptr, &in, nullptr, to_there, 0, 1, FI_UINT64, FI_SUM, nullptr)),
      (Counts{2, 2}));
  EXPECT_EQ(counted(fi_compare_atomic(here->ep, &one, 1, nullptr, &one, nullptr, &in, nullptr, to_there, 0, 1,
                                      FI_UINT64, FI_CSWAP, nullptr)),
            (Counts{3, 2}));
  EXPECT_EQ(counted(fi_fetch_atomic(here->ep, nullptr, 1, nullptr, &in, nullptr, to_there, 0, 1, FI_UINT64,
                                    FI_ATOMIC_READ, nullptr)),
            (Counts{4, 2}));
  EXPECT_EQ(memory[0], 3U);
}

TEST_P(Provider, FlagsOfTheEndpointHoldForCallsWithoutFlags) {
  open({.bind_flags = FI_SELECTIVE_COMPLETION, .transmit_flags = FI_COMPLETION});
  const auto flags_of = [this](std::uint64_t which) {
    demand(fi_control(&here->ep->fid, FI_GETOPSFLAG, &which));
    return which;
  };
  std::uint64_t in = 0;
  const std::uint64_t out = 3;
  const auto is_reported = [&](std::uint64_t tag) {
    demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, tag, 0, nullptr));
    const std::uint64_t sent = fi_cntr_read(there->counters[1]) + 1;
    demand(fi_tsend(here->ep, &out, sizeof out, nullptr, to_there, tag, nullptr));
    std::size_t entries = 0;
    while (fi_cntr_read(there->counters[1]) < sent) entries += here->next() ? 1 : 0;
    return entries + (here->next() ? 1 : 0) > 0;
  };
  EXPECT_EQ(flags_of(FI_TRANSMIT), FI_COMPLETION) << "as fi_getinfo was asked for";
  EXPECT_EQ(flags_of(FI_RECV), 0U);
  EXPECT_TRUE(is_reported(1));
  std::uint64_t none = FI_TRANSMIT;
  demand(fi_control(&here->ep->fid, FI_SETOPSFLAG, &none));
  EXPECT_EQ(flags_of(FI_TRANSMIT), 0U);
  EXPECT_FALSE(is_reported(2));
  std::uint64_t receiving = FI_RECV | FI_COMPLETION;
  demand(fi_control(&there->ep->fid, FI_SETOPSFLAG, &receiving));
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 3, 0, &in));
  demand(fi_tinject(here->ep, &out, sizeof out, to_there, 3));
  EXPECT_EQ(entry_of(*there).op_context, &in);
}

TEST_P(Provider, InjectAndMatchCompleteOfOneSend) {
  open();
  std::vector<std::uint8_t> out(16384, 5);
  std::vector<std::uint8_t> in(16384);
  iovec piece{out.data(), out.size()};
  fi_msg_tagged message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = to_there;
  message.tag = 1;
  demand(fi_tsendmsg(here->ep, &message, FI_INJECT | FI_COMPLETION));
  std::ranges::fill(out, std::uint8_t{6}); // it is the program's again
  demand(fi_trecv(there->ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr));
  entry_of(*there);
  EXPECT_EQ(in, std::vector<std::uint8_t>(16384, 5));
  EXPECT_EQ(entry_of(*here).flags, FI_SEND | FI_TAGGED);
  demand(fi_tsendmsg(here->ep, &message, FI_MATCH_COMPLETE | FI_COMPLETION));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(here->next()) << "nothing has matched";
    EXPECT_FALSE(there->next());
  }
  demand(fi_trecv(there->ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr));
  entry_of(*there);
  entry_of(*here);
  EXPECT_EQ(in, out);
  out.resize(16385);
  piece = {out.data(), out.size()};
  EXPECT_EQ(fi_tsendmsg(here->ep, &message, FI_INJECT), -FI_EMSGSIZE);
}

TEST_P(Provider, RefusesFlagsOfCallsThatItWouldNotHeed) {
  open();
  std::uint64_t word = 0;
  there->expose(&word, sizeof word, 1, kBoth);
  iovec piece{&word, sizeof word};
  const fi_rma_iov at{.addr = 0, .len = sizeof word, .key = 1};
  fi_ioc operand{&word, 1};
  const fi_rma_ioc place{.addr = 0, .count = 1, .key = 1};
  fi_msg message{};
  fi_msg_tagged tagged{};
  fi_msg_rma memory{};
  fi_msg_atomic atomic{};
  message.msg_iov = tagged.msg_iov = memory.msg_iov = &piece;
  message.iov_count = tagged.iov_count = memory.iov_count = atomic.iov_count = 1;
  message.addr = tagged.addr = memory.addr = atomic.addr = to_there;
  memory.rma_iov = &at;
  memory.rma_iov_count = atomic.rma_iov_count = 1;
  atomic.msg_iov = &operand;
  atomic.rma_iov = &place;
  atomic.datatype = FI_UINT64;
  atomic.op = FI_SUM;
  for (const std::uint64_t flag : {FI_FENCE, FI_TRIGGER, FI_MULTICAST, FI_COMMIT_COMPLETE, FI_VARIABLE_MSG}) {
    SCOPED_TRACE(flag);
    EXPECT_EQ(fi_sendmsg(here->ep, &message, flag), -FI_EBADFLAGS);
    EXPECT_EQ(fi_tsendmsg(here->ep, &tagged, flag), -FI_EBADFLAGS);
    EXPECT_EQ(fi_recvmsg(here->ep, &message, flag), -FI_EBADFLAGS);
    EXPECT_EQ(fi_trecvmsg(here->ep, &tagged, flag), -FI_EBADFLAGS);
    EXPECT_EQ(fi_writemsg(here->ep, &memory, flag), -FI_EBADFLAGS);
    EXPECT_EQ(fi_readmsg(here->ep, &memory, flag), -FI_EBADFLAGS);
    EXPECT_EQ(fi_atomicmsg(here->ep, &atomic, flag), -FI_EBADFLAGS);
    EXPECT_EQ(fi_fetch_atomicmsg(here->ep, &atomic, &operand, nullptr, 1, flag), -FI_EBADFLAGS);
  }
  demand(fi_writemsg(here->ep, &memory, FI_MORE | FI_DELIVERY_COMPLETE | FI_COMPLETION | FI_INJECT));
  entry_of(*here);
  EXPECT_FALSE(there->next()) << "nothing was sent";
}

TEST_P(Provider, ManyMessagesAreTakenWithoutAQueue) {
  open({.receives_into_queue = false});
  std::array<std::uint64_t, 8> buffer{};
  iovec into{buffer.data(), sizeof buffer};
  fi_msg message{};
  message.msg_iov = &into;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  demand(fi_recvmsg(there->ep, &message, FI_MULTI_RECV));
  for (const std::uint64_t out : {1U, 2U}) demand(fi_inject(here->ep, &out, sizeof out, to_there));
  while (fi_cntr_read(there->counters[1]) < 1) EXPECT_FALSE(here->next());
  EXPECT_EQ(buffer[0], 1U);
}

} // namespace
} // namespace heddle::tests

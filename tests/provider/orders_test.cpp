// Order: of what a queue tells, successes and errors alike.
#include "tests/provider/side.hpp"

#include <array>

namespace heddle::tests {
namespace {

TEST_P(Provider, ErrorsAreToldInTheirTurn) {
  open();
  std::array<std::uint64_t, 3> in{};
  std::uint64_t word = 5;
  const auto receive = [&](std::size_t which, std::uint64_t tag) {
    demand(fi_trecv(there->ep, &in[which], sizeof word, nullptr, FI_ADDR_UNSPEC, tag, 0, &in[which]));
  };
  const auto arrives = [&](std::uint64_t tag) {
    const std::uint64_t before = fi_cntr_read(there->counters[1]);
    demand(fi_tinject(here->ep, &word, sizeof word, to_there, tag));
    while (fi_cntr_read(there->counters[1]) == before) EXPECT_FALSE(here->next());
  };
  const auto cancelled = [&](std::size_t which) {
    receive(which, 99);
    const std::uint64_t before = fi_cntr_readerr(there->counters[1]);
    demand(fi_cancel(&there->ep->fid, &in[which]));
    while (fi_cntr_readerr(there->counters[1]) == before) {
    }
  };
  receive(0, 1);
  arrives(1);
  cancelled(1);
  receive(2, 2);
  arrives(2);
  cancelled(1);
  std::array<fi_cq_tagged_entry, 8> entries{};
  const auto next = [&] { return fi_cq_read(there->cq, entries.data(), entries.size()); };
  for (const std::size_t expected : {0U, 2U}) {
    EXPECT_EQ(next(), 1) << "what came before the error, and no more";
    EXPECT_EQ(entries[0].op_context, &in[expected]);
    EXPECT_EQ(next(), -FI_EAVAIL);
    EXPECT_EQ(next(), -FI_EAVAIL) << "until it is read";
    EXPECT_EQ(fi_cq_readerr(there->cq, &there->error, 0), 1);
    EXPECT_EQ(there->error.op_context, &in[1]);
  }
  EXPECT_EQ(next(), -FI_EAGAIN);
  // Who asks for an error before its turn gets it, and nothing is lost.
  receive(0, 1);
  arrives(1);
  cancelled(1);
  receive(2, 2);
  arrives(2);
  cancelled(1);
  EXPECT_EQ(fi_cq_readerr(there->cq, &there->error, 0), 1);
  EXPECT_EQ(next(), 2);
  EXPECT_EQ(next(), -FI_EAVAIL);
  EXPECT_EQ(fi_cq_readerr(there->cq, &there->error, 0), 1);
  EXPECT_EQ(next(), -FI_EAGAIN);
}

// After a call that took all there was, the next says so without a look; the one behind it looks again.
TEST_P(Provider, NothingIsMissedBehindACallThatTookAll) {
  open();
  std::array<std::uint64_t, 2> in{};
  std::array<fi_cq_tagged_entry, 8> entries{};
  for (std::uint64_t round = 1; round <= 50; ++round) {
    for (std::uint64_t& each : in)
      demand(fi_trecv(there->ep, &each, sizeof each, nullptr, FI_ADDR_UNSPEC, 1, 0, &each));
    std::size_t got = 0;
    for (const std::uint64_t& each : in) {
      demand(fi_tinject(here->ep, &round, sizeof round, to_there, 1));
      const std::size_t wanted = got + 1;
      while (got < wanted) {
        const ssize_t count = fi_cq_read(there->cq, entries.data(), entries.size());
        if (count > 0) got += static_cast<std::size_t>(count);
        EXPECT_FALSE(here->next());
      }
      EXPECT_EQ(each, round);
      if (round % 3 == 0) {
        EXPECT_EQ(fi_cq_read(there->cq, nullptr, 0), -FI_EAGAIN);
      }
      if (round % 2 == 0) {
        EXPECT_EQ(fi_cq_read(there->cq, entries.data(), entries.size()), -FI_EAGAIN);
      }
    }
  }
}

} // namespace
} // namespace heddle::tests

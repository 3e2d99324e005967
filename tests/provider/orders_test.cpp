// Order: of what a queue tells, successes and errors alike, and of RMA, atomics and sends to one peer where fi_getinfo was asked for it.
#include "tests/provider/side.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <span>

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

constexpr std::uint64_t kAllOrders = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW |
                                     FI_ORDER_WAS | FI_ORDER_SAR | FI_ORDER_SAW | FI_ORDER_SAS;

TEST(ProviderInfo, GrantsOrdersWhereTheyAreAskedFor) {
  Info plain(FI_MSG | FI_RMA);
  ASSERT_EQ(plain.ask(), 0);
  EXPECT_EQ(plain.found->tx_attr->msg_order, FI_ORDER_SAS) << "none costs anything unless it is asked for";
  EXPECT_EQ(plain.found->ep_attr->max_order_waw_size, 0U);
  Info ordered(FI_MSG | FI_RMA);
  ordered.hints->tx_attr->msg_order = ordered.hints->rx_attr->msg_order = kAllOrders;
  ordered.hints->ep_attr->max_order_raw_size = 16384;
  ASSERT_EQ(ordered.ask(), 0);
  EXPECT_EQ(ordered.found->tx_attr->msg_order, kAllOrders);
  EXPECT_EQ(ordered.found->rx_attr->msg_order, kAllOrders);
  for (const std::size_t most : {ordered.found->ep_attr->max_order_raw_size, ordered.found->ep_attr->max_order_war_size,
                                 ordered.found->ep_attr->max_order_waw_size})
    EXPECT_EQ(most, 16384U);
  Info large(FI_RMA);
  large.hints->ep_attr->max_order_waw_size = 16385;
  EXPECT_EQ(large.ask(), -FI_ENODATA);
}

// Reads, writes and atomics that meet in one memory, none waiting for another, against a model that carries them out as they are begun.
TEST_P(Provider, MemoryIsReachedInTheOrderAskedFor) {
  for (const char* eager : {"65536", "1024"}) { // above the second, requests travel by other ways
    SCOPED_TRACE(eager);
    ::setenv("HEDDLE_EAGER_LIMIT", eager, 1);
    open({.order = kAllOrders});
    ::unsetenv("HEDDLE_EAGER_LIMIT");
    constexpr std::size_t kBytes = 40'000;
    std::vector<std::byte> memory(kBytes);
    std::vector<std::byte> model(kBytes);
    there->expose(memory.data(), memory.size(), 1, kBoth);
    struct Begun {
      std::vector<std::byte> local;
      std::vector<std::byte> expected; // of a read
    };
    std::deque<Begun> all;
    std::size_t ended = 0;
    const auto collect = [&] {
      while (const auto entry = here->next()) {
        const auto& begun = *static_cast<Begun*>(entry->op_context);
        ASSERT_EQ(begun.local, begun.expected);
        ++ended;
      }
      static_cast<void>(there->next());
    };
    std::mt19937_64 random(static_cast<unsigned char>(eager[0]));
    for (int step = 0; step < 1500 && !HasFatalFailure(); ++step) {
      const std::size_t bytes = 8 * (1 + (random() % 3 == 0 ? random() % 2048 : random() % 20));
      const std::size_t at = random() % (kBytes - bytes);
      Begun& next = all.emplace_back();
      next.local.resize(bytes);
      const auto place = std::span(model).subspan(at, bytes);
      const std::uint64_t kind = random() % 3;
      const auto begin = [&]() -> ssize_t {
        if (kind == 0) return fi_read(here->ep, next.local.data(), bytes, nullptr, to_there, at, 1, &next);
        if (kind == 1) return fi_write(here->ep, next.local.data(), bytes, nullptr, to_there, at, 1, &next);
        return fi_atomic(here->ep, next.local.data(), 1, nullptr, to_there, at, 1, FI_UINT64, FI_SUM, &next);
      };
      if (kind == 0) {
        next.expected.assign(place.begin(), place.end());
      } else {
        std::ranges::generate(next.local, [&] { return static_cast<std::byte>(random()); });
        next.expected = next.local;
        if (kind == 1) {
          std::ranges::copy(next.local, place.begin());
        } else {
          std::uint64_t there_now = 0;
          std::uint64_t added = 0;
          std::memcpy(&there_now, place.data(), 8);
          std::memcpy(&added, next.local.data(), 8);
          there_now += added;
          std::memcpy(place.data(), &there_now, 8);
        }
      }
      for (ssize_t status = -FI_EAGAIN; status != 0 && !HasFatalFailure();) {
        if ((status = begin()) != -FI_EAGAIN) demand(status);
        if (status != 0 || random() % 8 == 0) collect();
      }
    }
    while (ended < all.size() && !HasFatalFailure()) collect();
    EXPECT_EQ(memory, model);
    here->close();
    there->close();
  }
}

// Whoever gets the message finds what was written before it, however large, and whether the message is tagged or not.
TEST_P(Provider, ASendComesBehindTheWritesBeforeIt) {
  open({.order = kAllOrders});
  std::vector<std::uint8_t> memory(2'000'000);
  std::vector<std::uint8_t> out(memory.size());
  there->expose(memory.data(), memory.size(), 1, kBoth);
  std::uint64_t in = 0;
  for (std::uint8_t round = 1; round <= 40; ++round) {
    const std::size_t bytes = round % 4 == 0 ? out.size() : 100 * round;
    std::ranges::fill(out, round);
    const bool tagged = round % 2 == 0;
    demand(tagged ? fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in)
                  : fi_recv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, &in));
    for (int i = 0; i < 20; ++i) // more than the target takes at once
      demand(fi_inject_write(here->ep, out.data(), 8, to_there, memory.size() - 8, 1));
    demand(fi_write(here->ep, out.data(), bytes, nullptr, to_there, 0, 1, &out));
    const std::uint64_t word = round;
    std::optional<fi_cq_tagged_entry> got;
    for (bool sent = false; !got;) {
      if (!sent) {
        const ssize_t status = tagged ? fi_tinject(here->ep, &word, sizeof word, to_there, 1)
                                      : fi_inject(here->ep, &word, sizeof word, to_there);
        sent = status == 0;
        if (status != -FI_EAGAIN) demand(status);
      }
      static_cast<void>(here->next());
      got = there->next();
    }
    ASSERT_EQ(in, round);
    ASSERT_EQ(memory[bytes - 1], round);
    ASSERT_EQ(memory.back(), round);
    while (fi_cntr_read(here->counters[3]) < std::uint64_t{21} * round) static_cast<void>(there->next());
    static_cast<void>(here->next());
  }
}

} // namespace
} // namespace heddle::tests

// Several endpoints of one domain, which share its lock, a completion queue and an address vector; and receives from one of several senders.
#include "tests/provider/side.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

namespace heddle::tests {
namespace {

// One more endpoint, bound to what a side has already.
class Another {
 public:
  explicit Another(Side& side) {
    demand(fi_endpoint(side.domain, side.info.found, &ep, nullptr));
    demand(fi_ep_bind(ep, &side.av->fid, 0));
    demand(fi_ep_bind(ep, &side.cq->fid, FI_TRANSMIT | FI_RECV));
    demand(fi_ep_bind(ep, &side.counters[1]->fid, FI_RECV));
    demand(fi_enable(ep));
    std::size_t bytes = name.size();
    demand(fi_getname(&ep->fid, name.data(), &bytes));
    address = insert_into(side);
  }
  Another(const Another&) = delete;
  Another& operator=(const Another&) = delete;
  ~Another() { EXPECT_EQ(fi_close(&ep->fid), 0); }
  [[nodiscard]] fi_addr_t insert_into(Side& side) const {
    fi_addr_t place = FI_ADDR_UNSPEC;
    EXPECT_EQ(fi_av_insert(side.av, name.data(), 1, &place, 0, nullptr), 1);
    return place;
  }

  fid_ep* ep = nullptr;
  std::array<std::byte, 64> name{};
  fi_addr_t address = 0; // in that side's own vector
};

TEST_P(Provider, EndpointsOfOneDomainShareAQueueAndAddresses) {
  for (const fi_threading threading : {FI_THREAD_SAFE, FI_THREAD_DOMAIN}) {
    SCOPED_TRACE(threading);
    open({.threading = threading});
    EXPECT_EQ(there->info.found->domain_attr->threading, threading);
    Another second(*there);
    Another third(*there);
    const std::array<fid_ep*, 3> endpoints = {there->ep, second.ep, third.ep};
    const std::array<fi_addr_t, 3> from_here = {to_there, second.insert_into(*here), third.insert_into(*here)};
    const fi_addr_t there_itself = there->insert(*there);
    const std::array<fi_addr_t, 3> among_them = {there_itself, second.address, third.address};
    std::array<std::uint64_t, 3> in{};
    for (std::uint64_t round = 1; round <= 50; ++round) {
      for (std::size_t i = 0; i < 3; ++i)
        demand(fi_trecv(endpoints[i], &in[i], sizeof in[i], nullptr, FI_ADDR_UNSPEC, round, 0, &in[i]));
      const bool from_outside = round % 2 == 0;
      std::array<std::uint64_t, 3> out{};
      for (std::size_t i = 0; i < 3; ++i) {
        out[i] = 100 * round + i;
        // Each to the next, or all from here; the memory is free when the send ends.
        demand(fi_tsend(from_outside ? here->ep : endpoints[(i + 2) % 3], &out[i], sizeof out[i], nullptr,
                        from_outside ? from_here[i] : among_them[i], round, &out[i]));
      }
      std::map<void*, int> ended;
      while (ended.size() < 6) {
        if (const auto entry = there->next()) ++ended[entry->op_context];
        if (const auto entry = here->next()) ++ended[entry->op_context];
      }
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(in[i], out[i]);
        EXPECT_EQ(ended[&in[i]], 1);
        EXPECT_EQ(ended[&out[i]], 1);
      }
      if (HasFailure()) return;
    }
    EXPECT_EQ(fi_cntr_read(there->counters[1]), 150U) << "one counter of all three";
    EXPECT_EQ(fi_close(&there->cq->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&there->av->fid), -FI_EBUSY);
    EXPECT_EQ(fi_close(&there->domain->fid), -FI_EBUSY);
  }
}

// Threads, each with an endpoint of its own below one lock.
TEST_P(Provider, ThreadsUseEndpointsOfOneDomain) {
  open();
  Another second(*there);
  const fi_addr_t to_second = second.insert_into(*here);
  constexpr std::uint64_t kEach = 200;
  std::atomic<std::uint64_t> received = 0;
  std::vector<std::thread> threads;
  for (const auto& [from, to] : {std::pair(there->ep, to_there), std::pair(second.ep, to_second)}) {
    threads.emplace_back([&, ep = from] {
      std::vector<std::uint64_t> in(kEach);
      for (std::uint64_t& each : in) demand(fi_trecv(ep, &each, sizeof each, nullptr, FI_ADDR_UNSPEC, 4, 0, &each));
      fi_cq_tagged_entry entry{};
      while (received < 2 * kEach)
        if (fi_cq_read(there->cq, &entry, 1) == 1) ++received;
      for (std::uint64_t i = 0; i < kEach; ++i) ASSERT_EQ(in[i], i);
    });
    threads.emplace_back([&, address = to] {
      for (std::uint64_t i = 0; i < kEach;) {
        const ssize_t status = fi_tinject(here->ep, &i, sizeof i, address, 4);
        ASSERT_TRUE(status == 0 || status == -FI_EAGAIN);
        i += status == 0 ? 1 : 0;
      }
      while (received < 2 * kEach) static_cast<void>(fi_cntr_read(here->counters[0]));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Provider, AReceiveFromOnePeerTakesNothingOfAnother) {
  open();
  Side third;
  const fi_addr_t from_third = third.insert(*there);
  const fi_addr_t to_third = there->insert(third);
  std::uint64_t tagged = 0;
  std::uint64_t untagged = 0;
  std::uint64_t any = 0;
  demand(fi_trecv(there->ep, &tagged, sizeof tagged, nullptr, to_here, 1, 0, &tagged));
  demand(fi_recv(there->ep, &untagged, sizeof untagged, nullptr, to_here, &untagged));
  const std::uint64_t wrong = 66;
  demand(fi_tsend(third.ep, &wrong, sizeof wrong, nullptr, from_third, 1, nullptr));
  demand(fi_send(third.ep, &wrong, sizeof wrong, nullptr, from_third, nullptr));
  while (fi_cntr_read(third.counters[0]) < 2) EXPECT_FALSE(there->next()) << "it came from another";
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(there->next());
  // Those wait for whoever takes from anybody.
  demand(fi_trecv(there->ep, &any, sizeof any, nullptr, FI_ADDR_UNSPEC, 1, 0, &any));
  EXPECT_EQ(entry_of(*there).op_context, &any);
  EXPECT_EQ(there->source, to_third);
  EXPECT_EQ(std::exchange(any, 0), wrong);
  const std::uint64_t right = 77;
  demand(fi_tinject(here->ep, &right, sizeof right, to_there, 1));
  demand(fi_inject(here->ep, &right, sizeof right, to_there));
  std::map<void*, fi_addr_t> sources;
  for (int i = 0; i < 2; ++i) {
    const auto entry = entry_of(*there);
    sources[entry.op_context] = there->source;
  }
  EXPECT_EQ(sources, (std::map<void*, fi_addr_t>{{&tagged, to_here}, {&untagged, to_here}}));
  EXPECT_EQ(tagged, right);
  EXPECT_EQ(untagged, right);
  demand(fi_recv(there->ep, &any, sizeof any, nullptr, to_third, &any));
  EXPECT_EQ(entry_of(*there).op_context, &any);
  EXPECT_EQ(any, wrong);
}

} // namespace
} // namespace heddle::tests

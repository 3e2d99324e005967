// Objects by themselves: regions, addresses, event queues, completion queues, counters, and how threads sleep on them.
#include "tests/provider/side.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

namespace heddle::tests {
namespace {

TEST_P(Provider, RegistersMemoryInEveryForm) {
  open();
  std::array<std::uint64_t, 4> memory{};
  const std::array<iovec, 2> pieces = {iovec{memory.data(), 16}, iovec{memory.data() + 2, 16}};
  fi_mr_attr attributes{};
  attributes.mr_iov = &pieces[1];
  attributes.iov_count = 1;
  attributes.access = kBoth;
  attributes.requested_key = 6;
  fid_mr* first = nullptr;
  fid_mr* second = nullptr;
  fid_mr* refused = nullptr;
  demand(fi_mr_regv(there->domain, pieces.data(), 1, kBoth, 0, 5, 0, &first, nullptr));
  demand(fi_mr_regattr(there->domain, &attributes, 0, &second));
  EXPECT_EQ(fi_mr_key(first), 5U);
  EXPECT_EQ(fi_mr_key(second), 6U);
  EXPECT_EQ(fi_mr_regv(there->domain, pieces.data(), 2, kBoth, 0, 7, 0, &refused, nullptr), -FI_EINVAL);
  EXPECT_EQ(fi_mr_reg(there->domain, memory.data(), 8, kBoth, 8, 7, 0, &refused, nullptr), -FI_EINVAL) << "an offset";
  EXPECT_EQ(fi_mr_reg(there->domain, memory.data(), 8, kBoth, 0, 7, FI_RMA_EVENT, &refused, nullptr), -FI_EBADFLAGS);
  for (const std::uint64_t key : {5U, 6U}) {
    demand(fi_write(here->ep, &key, 8, nullptr, to_there, 8, key, nullptr));
    entry_of(*here);
  }
  EXPECT_EQ(memory, (std::array<std::uint64_t, 4>{0, 5, 0, 6}));
  EXPECT_EQ(fi_close(&first->fid), 0);
  const std::uint64_t word = 1;
  demand(fi_write(here->ep, &word, 8, nullptr, to_there, 8, 5, nullptr));
  EXPECT_EQ(error_of(*here), FI_ENOKEY) << "it is closed";
  EXPECT_EQ(std::string(fi_cq_strerror(here->cq, here->error.prov_errno, nullptr, nullptr, 0)),
            "unknown_area: the peer has registered no memory with that key");
  EXPECT_EQ(fi_close(&second->fid), 0);
}

TEST_P(Provider, AddressesAreLookedUpAndNamed) {
  open();
  std::array<std::byte, 64> found{};
  std::size_t bytes = 10;
  demand(fi_av_lookup(here->av, to_there, found.data(), &bytes));
  EXPECT_EQ(bytes, 64U);
  EXPECT_EQ(found[10], std::byte{0}) << "more than there is room for";
  demand(fi_av_lookup(here->av, to_there, found.data(), &bytes));
  EXPECT_EQ(found, there->name);
  EXPECT_EQ(fi_av_lookup(here->av, 17, found.data(), &bytes), -FI_EINVAL);
  std::array<char, 300> text{};
  bytes = text.size();
  const std::string whole = fi_av_straddr(here->av, there->name.data(), text.data(), &bytes);
  EXPECT_EQ(whole.rfind("fi_addr_heddle://", 0), 0U);
  EXPECT_EQ(bytes, whole.size() + 1);
  bytes = 8;
  EXPECT_STREQ(fi_av_straddr(here->av, there->name.data(), text.data(), &bytes), "fi_addr");
  EXPECT_EQ(bytes, whole.size() + 1);
}

TEST_P(Provider, InsertionsAreToldOfByEventOrOneByOne) {
  open();
  fi_eq_attr queue_attributes{};
  fid_eq* queue = nullptr;
  demand(fi_eq_open(here->fabric, &queue_attributes, &queue, nullptr));
  fi_av_attr attributes{};
  attributes.flags = FI_EVENT;
  fid_av* later = nullptr;
  demand(fi_av_open(here->domain, &attributes, &later, nullptr));
  demand(fi_av_bind(later, &queue->fid, 0));
  std::array<std::byte, 128> names{}; // the second is none
  std::ranges::copy(there->name, names.begin());
  std::array<fi_addr_t, 2> places{};
  EXPECT_EQ(fi_av_insert(later, names.data(), 2, places.data(), 0, &names), 0);
  std::uint32_t event = 0;
  fi_eq_entry entry{};
  EXPECT_EQ(fi_eq_read(queue, &event, &entry, sizeof entry, 0), static_cast<ssize_t>(sizeof entry));
  EXPECT_EQ(event, static_cast<std::uint32_t>(FI_AV_COMPLETE));
  EXPECT_EQ(entry.data, 1U);
  EXPECT_EQ(entry.context, &names);
  EXPECT_EQ(entry.fid, &later->fid);
  std::array<int, 2> outcomes = {7, 7};
  EXPECT_EQ(fi_av_insert(here->av, names.data(), 2, places.data(), FI_SYNC_ERR, outcomes.data()), 1);
  EXPECT_EQ(outcomes, (std::array{0, FI_EINVAL}));
  EXPECT_NE(places[0], FI_ADDR_NOTAVAIL);
  EXPECT_EQ(places[1], FI_ADDR_NOTAVAIL);
  EXPECT_EQ(fi_close(&later->fid), 0);
  EXPECT_EQ(fi_close(&queue->fid), 0);
}

TEST_P(Provider, EventQueuesHoldWhatTheProgramWrites) {
  open();
  fi_eq_attr attributes{};
  attributes.wait_obj = FI_WAIT_FD;
  fid_eq* queue = nullptr;
  demand(fi_eq_open(here->fabric, &attributes, &queue, nullptr));
  int descriptor = -1;
  demand(fi_control(&queue->fid, FI_GETWAIT, &descriptor));
  pollfd readable{.fd = descriptor, .events = POLLIN, .revents = 0};
  std::uint32_t event = 0;
  fi_eq_entry entry{.fid = &here->ep->fid, .context = &event, .data = 5};
  fi_eq_entry got{};
  EXPECT_EQ(fi_eq_read(queue, &event, &got, sizeof got, 0), -FI_EAGAIN);
  EXPECT_EQ(fi_eq_sread(queue, &event, &got, sizeof got, 1, 0), -FI_EAGAIN);
  EXPECT_EQ(::poll(&readable, 1, 0), 0);
  EXPECT_EQ(fi_eq_write(queue, FI_NOTIFY, &entry, sizeof entry, 0), static_cast<ssize_t>(sizeof entry));
  entry.data = 6;
  EXPECT_EQ(fi_eq_write(queue, FI_NOTIFY, &entry, sizeof entry, 0), static_cast<ssize_t>(sizeof entry));
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
  EXPECT_EQ(fi_eq_read(queue, &event, &got, 1, 0), -FI_ETOOSMALL);
  EXPECT_EQ(fi_eq_read(queue, &event, &got, sizeof got, FI_PEEK), static_cast<ssize_t>(sizeof got));
  EXPECT_EQ(got.data, 5U);
  for (const std::uint64_t expected : {5U, 6U}) {
    EXPECT_EQ(fi_eq_sread(queue, &event, &got, sizeof got, -1, 0), static_cast<ssize_t>(sizeof got));
    EXPECT_EQ(event, static_cast<std::uint32_t>(FI_NOTIFY));
    EXPECT_EQ(got.data, expected);
  }
  EXPECT_EQ(fi_eq_read(queue, &event, &got, sizeof got, 0), -FI_EAGAIN);
  EXPECT_EQ(fi_close(&queue->fid), 0);
}

TEST_P(Provider, CompletionQueuesAreSignalledAndTellTheSource) {
  open({.wait = FI_WAIT_FD});
  fi_wait_obj kind = FI_WAIT_NONE;
  demand(fi_control(&there->cq->fid, FI_GETWAITOBJ, &kind));
  EXPECT_EQ(kind, FI_WAIT_FD);
  std::thread sleeper([this] {
    fi_cq_tagged_entry entry{};
    EXPECT_EQ(fi_cq_sread(there->cq, &entry, 1, nullptr, -1), -FI_EAGAIN);
  });
  demand(fi_cq_signal(there->cq)); // before or while it sleeps
  sleeper.join();
  std::uint64_t in = 0;
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
  demand(fi_tinject(here->ep, &to_here, sizeof to_here, to_there, 1));
  fi_cq_tagged_entry entry{};
  fi_addr_t source = FI_ADDR_UNSPEC;
  while (fi_cq_sreadfrom(there->cq, &entry, 1, &source, nullptr, 10) == -FI_EAGAIN) EXPECT_FALSE(here->next());
  EXPECT_EQ(entry.op_context, &in);
  EXPECT_EQ(source, to_here);
  EXPECT_EQ(fi_cq_sreadfrom(there->cq, &entry, 1, &source, nullptr, 1), -FI_EAGAIN);
}

// The descriptor stays readable for another thread that has yet to wake, as long as there is something to read.
TEST_P(Provider, WhoeverFindsAnEntryLeavesTheOthersTheirWakeUp) {
  open({.wait = FI_WAIT_FD});
  int descriptor = -1;
  demand(fi_control(&here->cq->fid, FI_GETWAIT, &descriptor));
  std::array<fid*, 1> fids = {&here->cq->fid};
  while (fi_trywait(here->fabric, fids.data(), 1) != 0) EXPECT_FALSE(here->next());
  std::array<int, 2> contexts{};
  for (int& context : contexts) {
    fi_msg_tagged message{};
    message.addr = FI_ADDR_UNSPEC;
    message.context = &context;
    demand(fi_trecvmsg(here->ep, &message, FI_PEEK)); // an entry of its own making: there is no such message
  }
  pollfd readable{.fd = descriptor, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
  EXPECT_EQ(fi_trywait(here->fabric, fids.data(), 1), -FI_EAGAIN);
  EXPECT_EQ(::poll(&readable, 1, 0), 1) << "who slept on it sleeps on";
  for (int& context : contexts) {
    EXPECT_EQ(fi_cq_readerr(here->cq, &here->error, 0), 1);
    EXPECT_EQ(here->error.op_context, &context);
  }
  while (fi_trywait(here->fabric, fids.data(), 1) != 0) EXPECT_FALSE(here->next());
  EXPECT_EQ(::poll(&readable, 1, 0), 0) << "nobody has anything to read";
}

// The system call that a thread of this process is blocked in; none: it runs.
std::optional<long> blocked_in(int thread) {
  std::FILE* file = std::fopen(("/proc/self/task/" + std::to_string(thread) + "/syscall").c_str(), "r");
  if (file == nullptr) return std::nullopt;
  long number = -1;
  const bool is_blocked = std::fscanf(file, "%ld", &number) == 1;
  std::fclose(file);
  return is_blocked ? std::optional(number) : std::nullopt;
}

TEST_P(Provider, AllThreadsWhoseCountIsReachedWake) {
  open();
  fid_cntr* counter = here->counters[1];
  for (std::uint64_t round = 1; round <= 30; ++round) {
    std::atomic<int> number = 0;
    std::thread waiter([&] {
      number = ::gettid();
      EXPECT_EQ(fi_cntr_wait(counter, round, 20'000), 0);
    });
    while (number == 0 || blocked_in(number) != SYS_poll) std::this_thread::yield();
    demand(fi_cntr_add(counter, 1));
    std::array<fid*, 1> fids = {&counter->fid};
    for (int i = 0; i < 3; ++i)
      static_cast<void>(fi_trywait(here->fabric, fids.data(), 1)); // as others do that wait for more
    waiter.join();
    if (HasFailure()) break;
  }
}

TEST_P(Provider, CountersAreSetAddedToAndWaitedFor) {
  open();
  fid_cntr* counter = there->counters[1];
  demand(fi_cntr_set(counter, 10));
  demand(fi_cntr_add(counter, 5));
  EXPECT_EQ(fi_cntr_read(counter), 15U);
  demand(fi_cntr_seterr(counter, 3));
  demand(fi_cntr_adderr(counter, 4));
  EXPECT_EQ(fi_cntr_readerr(counter), 7U);
  EXPECT_EQ(fi_cntr_wait(counter, 15, 0), 0) << "errors from before do not matter";
  EXPECT_EQ(fi_cntr_wait(counter, 16, 1), -FI_ETIMEDOUT);
  std::uint64_t in = 0;
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
  std::thread waiter([counter] { EXPECT_EQ(fi_cntr_wait(counter, 16, -1), 0); });
  const std::uint64_t out = 1;
  demand(fi_tinject(here->ep, &out, sizeof out, to_there, 1));
  while (fi_cntr_read(here->counters[0]) < 1) EXPECT_FALSE(here->next());
  waiter.join();
  std::atomic<bool> ended = false;
  std::thread failing([&] {
    EXPECT_EQ(fi_cntr_wait(counter, 100, -1), -FI_EAVAIL);
    ended = true;
  });
  while (!ended) demand(fi_cntr_adderr(counter, 1)); // it has begun to wait at some time, and the next error ends it
  failing.join();
}

TEST_P(Provider, PollSetsNameWhatHasSomethingToTell) {
  open();
  std::array<int, 2> contexts{};
  fi_poll_attr attributes{};
  fid_poll* set = nullptr;
  demand(fi_poll_open(there->domain, &attributes, &set));
  there->cq->fid.context = contexts.data();
  there->counters[1]->fid.context = &contexts[1];
  demand(fi_poll_add(set, &there->cq->fid, 0));
  demand(fi_poll_add(set, &there->counters[1]->fid, 0));
  EXPECT_EQ(fi_poll_add(set, &there->cq->fid, 0), -FI_EINVAL) << "it is in the set";
  EXPECT_EQ(fi_poll_add(set, &there->av->fid, 0), -FI_EINVAL);
  EXPECT_EQ(fi_poll_add(set, &there->counters[0]->fid, FI_PEEK), -FI_EBADFLAGS);
  static_cast<void>(fi_cntr_read(there->counters[1]));
  std::array<void*, 3> found{};
  const auto ask = [&](int most = 3) { return fi_poll(set, found.data(), most); };
  EXPECT_EQ(ask(), 0);
  std::uint64_t in = 0;
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
  demand(fi_tinject(here->ep, &in, sizeof in, to_there, 1));
  while (ask() == 0) EXPECT_FALSE(here->next()); // it makes the progress
  EXPECT_EQ(ask(), 2) << "until they are read";
  EXPECT_EQ(found[0], contexts.data());
  EXPECT_EQ(found[1], &contexts[1]);
  EXPECT_EQ(ask(1), 1);
  EXPECT_EQ(fi_cntr_read(there->counters[1]), 1U);
  EXPECT_EQ(ask(), 1);
  EXPECT_EQ(there->next()->op_context, &in);
  EXPECT_EQ(ask(), 0);
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
  demand(fi_cancel(&there->ep->fid, &in));
  EXPECT_EQ(ask(), 2) << "errors are told as well";
  EXPECT_EQ(error_of(*there), FI_ECANCELED);
  EXPECT_EQ(fi_cntr_readerr(there->counters[1]), 1U);
  EXPECT_EQ(ask(), 0);
  demand(fi_poll_del(set, &there->cq->fid, 0));
  EXPECT_EQ(fi_poll_del(set, &there->cq->fid, 0), -FI_EINVAL);
  fid_cntr* unbound = nullptr;
  demand(fi_cntr_open(there->domain, nullptr, &unbound, nullptr));
  demand(fi_poll_add(set, &unbound->fid, 0));
  EXPECT_EQ(fi_close(&unbound->fid), -FI_EBUSY) << "it is in a set";
  EXPECT_EQ(fi_close(&set->fid), 0);
  EXPECT_EQ(fi_close(&unbound->fid), 0);
}

TEST_P(Provider, AnEndpointNeedsWhatMakesItsProgress) {
  open();
  fid_ep* bare = nullptr;
  demand(fi_endpoint(here->domain, here->info.found, &bare, nullptr));
  EXPECT_EQ(fi_enable(bare), -FI_ENOAV);
  demand(fi_ep_bind(bare, &here->av->fid, 0));
  EXPECT_EQ(fi_enable(bare), -FI_ENOCQ) << "no call would ever make progress for it";
  demand(fi_ep_bind(bare, &here->counters[4]->fid, FI_REMOTE_READ));
  EXPECT_EQ(fi_enable(bare), 0);
  EXPECT_EQ(fi_close(&bare->fid), 0);
}

TEST_P(Provider, OneCounterForOneKindOfEvent) {
  open();
  fid_cntr* second = nullptr;
  demand(fi_cntr_open(here->domain, nullptr, &second, nullptr));
  EXPECT_EQ(fi_ep_bind(here->ep, &second->fid, FI_RECV), -FI_EINVAL);
  EXPECT_EQ(fi_close(&second->fid), 0) << "nothing uses it";
  EXPECT_EQ(fi_ep_bind(here->ep, &here->cq->fid, FI_TRANSMIT), -FI_EINVAL);
}

} // namespace
} // namespace heddle::tests

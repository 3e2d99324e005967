// Messages through libfabric: every call of fi_tagged and fi_msg, and what may become of them.
#include "tests/provider/side.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>

#include <deque>
#include <map>
#include <random>
#include <span>
#include <thread>

namespace heddle::tests {
namespace {

std::vector<std::byte> content(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = seed * 2654435761U + 1;
  for (std::byte& each : data) each = static_cast<std::byte>((state = state * 6364136223846793005ULL + 1) >> 56U);
  return data;
}

// Of all files.
INSTANTIATE_TEST_SUITE_P(Over, Provider, testing::Values("shm", "tcp"),
                         [](const auto& over) { return std::string(over.param); });

TEST_P(Provider, TaggedMessagesOfEverySizeArriveWhole) {
  open();
  std::uint64_t tag = 1;
  for (const std::size_t bytes : {0U, 1U, 8U, 100U, 16384U, 16385U, 65536U, 65537U, 300'000U, 5'000'000U})
    for (const bool posted : {true, false}) {
      SCOPED_TRACE(bytes);
      const auto out = content(bytes, ++tag);
      std::vector<std::byte> in(bytes);
      if (posted) demand(fi_trecv(there->ep, in.data(), bytes, nullptr, to_here, tag, 0, &in));
      demand(fi_tsenddata(here->ep, out.data(), bytes, nullptr, tag * 3, to_there, tag, &tag));
      if (!posted) {
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(there->next());
        demand(fi_trecv(there->ep, in.data(), bytes, nullptr, FI_ADDR_UNSPEC, tag, 0xffULL << 50U, &in));
      }
      const auto got = entry_of(*there);
      EXPECT_EQ(got.op_context, &in);
      EXPECT_EQ(got.flags, FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA);
      EXPECT_EQ(got.len, bytes);
      EXPECT_EQ(got.data, tag * 3);
      EXPECT_EQ(got.tag, tag);
      EXPECT_EQ(there->source, to_here);
      EXPECT_EQ(in, out);
      const auto sent = entry_of(*here);
      EXPECT_EQ(sent.op_context, &tag);
      EXPECT_EQ(sent.flags, FI_SEND | FI_TAGGED);
    }
  EXPECT_EQ(fi_cntr_read(here->counters[0]), 20U);
  EXPECT_EQ(fi_cntr_read(there->counters[1]), 20U);
}

TEST_P(Provider, PiecesInjectsAndFlagsOfTaggedMessages) {
  open();
  auto out = content(40'000, 1);
  std::vector<std::byte> in(40'000);
  const std::array<iovec, 3> from = {iovec{out.data(), 10}, iovec{out.data() + 10, 29'990},
                                     iovec{out.data() + 30'000, 10'000}};
  const std::array<iovec, 2> into = {iovec{in.data(), 20'000}, iovec{in.data() + 20'000, 20'000}};
  demand(fi_trecvv(there->ep, into.data(), nullptr, 2, FI_ADDR_UNSPEC, 4, 0, nullptr));
  demand(fi_tsendv(here->ep, from.data(), nullptr, 3, to_there, 4, nullptr));
  EXPECT_EQ(entry_of(*there).len, 40'000U);
  EXPECT_EQ(in, out);
  entry_of(*here);
  // Injected: nothing is reported to the sender, and the memory is free.
  std::uint64_t word = 77;
  demand(fi_tinjectdata(here->ep, &word, sizeof word, 5, to_there, 9));
  word = 0;
  demand(fi_trecv(there->ep, in.data(), 8, nullptr, FI_ADDR_UNSPEC, 9, 0, nullptr));
  EXPECT_EQ(entry_of(*there).data, 5U);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(in.data()), 77U);
  EXPECT_FALSE(here->next());
  EXPECT_EQ(fi_tinject(here->ep, out.data(), 16385, to_there, 9), -FI_EMSGSIZE);
  // Delivery complete: reported when it has been received.
  fi_msg_tagged message{};
  message.msg_iov = from.data();
  message.iov_count = 1;
  message.addr = to_there;
  message.tag = 10;
  demand(fi_tsendmsg(here->ep, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(here->next());
    EXPECT_FALSE(there->next());
  }
  demand(fi_trecv(there->ep, in.data(), 10, nullptr, FI_ADDR_UNSPEC, 10, 0, nullptr));
  entry_of(*there);
  entry_of(*here);
}

TEST_P(Provider, CutsCancelsAndSaysWhy) {
  open();
  const auto text_of = [this](const fi_cq_err_entry& error) {
    return std::string_view(fi_cq_strerror(there->cq, error.prov_errno, error.err_data, nullptr, 0));
  };
  const auto out = content(200'000, 1);
  std::vector<std::byte> in(1000);
  for (const std::size_t bytes : {1001U, 200'000U}) {
    demand(fi_trecv(there->ep, in.data(), 1000, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
    demand(fi_tsend(here->ep, out.data(), bytes, nullptr, to_there, 1, nullptr));
    EXPECT_EQ(error_of(*there), FI_ETRUNC);
    EXPECT_EQ(there->error.op_context, &in);
    EXPECT_EQ(there->error.olen, bytes - 1000);
    EXPECT_EQ(text_of(there->error), "truncated: the message is longer than the memory given for it");
    entry_of(*here);
  }
  demand(fi_trecv(there->ep, in.data(), 1000, nullptr, FI_ADDR_UNSPEC, 2, 0, &in));
  EXPECT_EQ(fi_cancel(&there->ep->fid, &in), 0);
  EXPECT_EQ(error_of(*there), FI_ECANCELED);
  EXPECT_EQ(fi_cancel(&there->ep->fid, &in), -FI_ENOENT);
  EXPECT_EQ(fi_tsend(here->ep, out.data(), 8, nullptr, 99, 1, nullptr), -FI_EINVAL);
  EXPECT_EQ(fi_cntr_readerr(there->counters[1]), 3U);
}

TEST_P(Provider, LooksClaimsAndDiscards) {
  open();
  std::array<fi_context, 3> contexts{};
  const auto look = [&](std::uint64_t tag, std::uint64_t flags, void* context, iovec* into = nullptr) {
    fi_msg_tagged message{};
    message.msg_iov = into;
    message.iov_count = into == nullptr ? 0 : 1;
    message.addr = FI_ADDR_UNSPEC;
    message.tag = tag;
    message.context = context;
    demand(fi_trecvmsg(there->ep, &message, flags));
  };
  look(1, FI_PEEK, contexts.data());
  EXPECT_EQ(error_of(*there), FI_ENOMSG);
  std::array<char, 12> cut{};
  fi_cq_strerror(there->cq, there->error.prov_errno, nullptr, cut.data(), cut.size());
  EXPECT_STREQ(cut.data(), "no message:");
  const auto out = content(100'000, 1);
  for (const std::size_t bytes : {10U, 100'000U})
    for (std::uint64_t tag = 1; tag <= 3; ++tag)
      demand(fi_tsenddata(here->ep, out.data(), bytes, nullptr, 40 + tag, to_there, tag, nullptr));
  for (const std::size_t bytes : {10U, 100'000U}) {
    std::optional<fi_cq_tagged_entry> found;
    while (!found) {
      look(3, FI_PEEK, contexts.data());
      found = there->next();
      if (const auto sent = here->next()) kept_here.push_back(*sent);
      there->error.err = 0;
    }
    EXPECT_EQ(found->len, bytes);
    EXPECT_EQ(found->data, 43U);
    EXPECT_NE(found->flags & FI_REMOTE_CQ_DATA, 0U);
    look(1, FI_PEEK | FI_CLAIM, &contexts[1]);
    EXPECT_EQ(entry_of(*there).len, bytes);
    look(2, FI_PEEK | FI_DISCARD, &contexts[2]);
    EXPECT_EQ(entry_of(*there).len, bytes);
    std::vector<std::byte> in(bytes);
    iovec into{in.data(), bytes};
    look(1, FI_CLAIM, &contexts[1], &into);
    const auto got = entry_of(*there);
    EXPECT_EQ(got.op_context, &contexts[1]);
    EXPECT_EQ(got.len, bytes);
    EXPECT_EQ(in, std::vector(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)));
    look(3, 0, contexts.data(), &into);
    EXPECT_EQ(entry_of(*there).len, bytes);
  }
  for (int i = 0; i < 6; ++i) entry_of(*here);
  look(2, FI_PEEK, contexts.data());
  EXPECT_EQ(error_of(*there), FI_ENOMSG) << "it was discarded";
}

TEST_P(Provider, BuffersTakeManyUntaggedMessages) {
  open();
  const std::size_t least = 2000;
  demand(fi_setopt(&there->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
  std::array<std::vector<std::byte>, 2> buffers = {std::vector<std::byte>(10'000), std::vector<std::byte>(200'000)};
  for (auto& buffer : buffers) {
    iovec into{buffer.data(), buffer.size()};
    fi_msg message{};
    message.msg_iov = &into;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = &buffer;
    demand(fi_recvmsg(there->ep, &message, FI_MULTI_RECV));
  }
  std::size_t released = 0;
  std::size_t used = 0;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const auto out = content(i == 8 ? 90'000 : 1500, i);
    demand(fi_senddata(here->ep, out.data(), out.size(), nullptr, i, to_there, nullptr));
    const auto got = entry_of(*there);
    EXPECT_EQ(got.op_context, &buffers[at]);
    EXPECT_EQ(got.buf, buffers[at].data() + used);
    EXPECT_EQ(got.len, out.size());
    EXPECT_EQ(got.data, i);
    EXPECT_EQ(std::memcmp(got.buf, out.data(), out.size()), 0);
    used += out.size();
    if ((got.flags & FI_MULTI_RECV) != 0) {
      EXPECT_LT(buffers[at].size() - used, least);
      ++released;
      ++at;
      used = 0;
    }
    entry_of(*here);
  }
  EXPECT_EQ(released, 1U);
  // A plain receive waits its turn behind the buffer.
  EXPECT_EQ(fi_cancel(&there->ep->fid, &buffers[1]), 0);
  EXPECT_EQ(error_of(*there), FI_ECANCELED);
  std::uint64_t word = 0;
  demand(fi_recv(there->ep, &word, sizeof word, nullptr, to_here, &word));
  const std::uint64_t sent = 4711;
  demand(fi_inject(here->ep, &sent, sizeof sent, to_there));
  EXPECT_EQ(entry_of(*there).op_context, &word);
  EXPECT_EQ(word, sent);
}

TEST_P(Provider, ReportsOnlyWhatIsSelected) {
  open({.bind_flags = FI_SELECTIVE_COMPLETION, .av = FI_AV_TABLE});
  EXPECT_EQ(to_there, 0U);
  int in = 0;
  const int out = 5;
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr));
  demand(fi_tsend(here->ep, &out, sizeof out, nullptr, to_there, 1, nullptr));
  while (fi_cntr_read(there->counters[1]) < 1) EXPECT_FALSE(here->next());
  EXPECT_FALSE(there->next());
  EXPECT_EQ(in, 5);
  iovec piece{const_cast<int*>(&out), sizeof out};
  fi_msg_tagged message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = to_there;
  message.tag = 2;
  demand(fi_tsendmsg(here->ep, &message, FI_COMPLETION));
  EXPECT_TRUE(here->next());
}

TEST_P(Provider, EveryFormatOfEntries) {
  for (const fi_cq_format format : {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED}) {
    open({.format = format});
    int in = 0;
    demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
    demand(fi_tinjectdata(here->ep, &in, sizeof in, 9, to_there, 1));
    std::array<fi_cq_tagged_entry, 2> entries{};
    while (fi_cq_read(there->cq, entries.data(), 1) != 1) here->next();
    EXPECT_EQ(entries[0].op_context, &in);
    EXPECT_EQ(entries[0].len, format == FI_CQ_FORMAT_CONTEXT ? 0U : sizeof in);
    EXPECT_EQ(entries[0].data, format >= FI_CQ_FORMAT_DATA ? 9U : 0U);
    EXPECT_EQ(entries[0].tag, format == FI_CQ_FORMAT_TAGGED ? 1U : 0U);
    EXPECT_EQ(entries[1].op_context, nullptr);
  }
}

TEST_P(Provider, SleepsOnADescriptorUntilSomethingComes) {
  open({.wait = FI_WAIT_FD});
  int descriptor = -1;
  demand(fi_control(&there->cq->fid, FI_GETWAIT, &descriptor));
  std::uint64_t in = 0;
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
  std::thread sender([this] {
    for (const std::uint64_t out : {1ULL, 2ULL, 3ULL}) {
      demand(fi_tinject(here->ep, &out, sizeof out, to_there, 1));
      while (fi_cntr_read(there->counters[0]) < out) here->next(); // its answer
    }
  });
  for (std::uint64_t i = 1; i <= 3; ++i) {
    std::optional<fi_cq_tagged_entry> got;
    while (!got) {
      std::array<fid*, 1> fids = {&there->cq->fid};
      if (i < 3 && fi_trywait(there->fabric, fids.data(), 1) == 0) {
        pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
        ASSERT_EQ(::poll(&wait, 1, 20'000), 1);
        got = there->next();
      } else {
        fi_cq_tagged_entry entry{};
        if (fi_cq_sread(there->cq, &entry, 1, nullptr, 20'000) == 1) got = entry;
      }
    }
    EXPECT_EQ(in, i);
    demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
    demand(fi_tinject(there->ep, &in, sizeof in, to_here, 2));
  }
  sender.join();
  fi_cq_tagged_entry entry{};
  EXPECT_EQ(fi_cq_sread(there->cq, &entry, 1, nullptr, 10), -FI_EAGAIN);
  EXPECT_EQ(fi_cntr_wait(there->counters[1], 100, 10), -FI_ETIMEDOUT);
}

TEST_P(Provider, WhatOnlyADepartedPeerCouldServeEndsWithAnError) {
  open();
  int in = 0;
  demand(fi_tinject(there->ep, &in, sizeof in, to_here, 1));
  demand(fi_trecv(here->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr));
  entry_of(*here);
  demand(fi_trecv(here->ep, &in, sizeof in, nullptr, to_there, 2, 0, &in));
  demand(fi_read(here->ep, &in, sizeof in, nullptr, to_there, 0, 1, &to_there));
  there->close();
  int errors = 0;
  while (errors < 2) {
    EXPECT_FALSE(here->next());
    if (std::exchange(here->error.err, 0) == FI_ECONNABORTED) ++errors;
  }
}

// Random tagged traffic in both directions, against a model: for each tag, messages arrive in the order sent.
TEST_P(Provider, RandomTrafficIsAsTheModelSays) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    open();
    std::mt19937_64 random(seed);
    struct Posted {
      std::vector<std::byte> in;
      std::uint64_t tag;
    };
    std::deque<std::vector<std::byte>> outs;
    std::deque<Posted> ins;
    std::map<std::uint64_t, std::deque<std::size_t>> sent; // by tag: which content, in order
    std::map<std::uint64_t, std::deque<Posted*>> posted;
    std::size_t ended = 0;
    const auto collect = [&] {
      while (const auto entry = there->next()) {
        if ((entry->flags & FI_RECV) == 0) continue;
        auto& post = *static_cast<Posted*>(entry->op_context);
        const std::size_t number = entry->data;
        ASSERT_LT(number, outs.size());
        ASSERT_EQ(entry->len, outs[number].size());
        ASSERT_TRUE(std::ranges::equal(outs[number], std::span(post.in).first(entry->len)));
        // The same receive gets the same message in order: the n-th posted of a tag the n-th sent.
        auto& order = posted[post.tag];
        const auto place = static_cast<std::size_t>(std::ranges::find(order, &post) - order.begin());
        ASSERT_EQ(sent[post.tag][place], number);
        ++ended;
      }
      while (here->next()) {
      }
    };
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t tag = random() % 5;
      if (random() % 2 == 0) {
        const std::size_t bytes = random() % 10 == 0 ? random() % 200'000 : random() % 2000;
        outs.push_back(content(bytes, random()));
        const ssize_t status = fi_tsenddata(here->ep, outs.back().data(), bytes, nullptr, outs.size() - 1, to_there,
                                            tag | random() % 4 << 60U, nullptr);
        if (status == -FI_EAGAIN) {
          outs.pop_back();
          collect();
          continue;
        }
        demand(status);
        sent[tag].push_back(outs.size() - 1);
      } else {
        ins.push_back({.in = std::vector<std::byte>(200'000), .tag = tag});
        posted[tag].push_back(&ins.back());
        demand(fi_trecv(there->ep, ins.back().in.data(), 200'000, nullptr, random() % 2 == 0 ? to_here : FI_ADDR_UNSPEC,
                        tag, 0xfULL << 60U, &ins.back()));
      }
      if (random() % 4 == 0) collect();
      if (HasFatalFailure()) return;
    }
    std::size_t expected = 0;
    for (auto& [tag, order] : sent) expected += std::min(order.size(), posted[tag].size());
    while (ended < expected && !HasFatalFailure()) collect();
    EXPECT_EQ(ended, expected);
    here->close();
    there->close();
  }
}

TEST_P(Provider, ThreadsShareAnEndpoint) {
  open();
  constexpr std::uint64_t kEach = 300;
  std::atomic<std::uint64_t> received = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t who = 0; who < 2; ++who) {
    threads.emplace_back([&, who] {
      for (std::uint64_t i = 0; i < kEach;) {
        const ssize_t status = fi_tinject(here->ep, &i, sizeof i, to_there, who);
        ASSERT_TRUE(status == 0 || status == -FI_EAGAIN);
        i += status == 0 ? 1 : 0;
      }
      fi_cq_tagged_entry entry{};
      while (received < 2 * kEach) ASSERT_EQ(fi_cq_read(here->cq, &entry, 1), -FI_EAGAIN); // what is held makes its way
    });
    threads.emplace_back([&, who] {
      std::vector<std::uint64_t> in(kEach);
      for (std::uint64_t& each : in) demand(fi_trecv(there->ep, &each, sizeof each, nullptr, to_here, who, 0, &each));
      fi_cq_tagged_entry entry{};
      while (received < 2 * kEach)
        if (fi_cq_read(there->cq, &entry, 1) == 1) ++received;
      for (std::uint64_t i = 0; i < kEach; ++i) ASSERT_EQ(in[i], i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

} // namespace
} // namespace heddle::tests

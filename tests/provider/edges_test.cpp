// Where calls meet that seldom meet: buffers that are exactly full, contexts and addresses used twice, peers that are gone or silent.
#include "tests/provider/side.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <span>

namespace heddle::tests {
namespace {

void post_many(Side& side, void* data, std::size_t bytes, void* context, fi_addr_t from = FI_ADDR_UNSPEC) {
  iovec into{data, bytes};
  fi_msg message{};
  message.msg_iov = &into;
  message.iov_count = 1;
  message.addr = from;
  message.context = context;
  demand(fi_recvmsg(side.ep, &message, FI_MULTI_RECV));
}

ssize_t look(Side& side, std::uint64_t tag, std::uint64_t flags, void* context, iovec* into = nullptr) {
  fi_msg_tagged message{};
  message.msg_iov = into;
  message.iov_count = into == nullptr ? 0 : 1;
  message.addr = FI_ADDR_UNSPEC;
  message.tag = tag;
  message.context = context;
  return fi_trecvmsg(side.ep, &message, flags);
}

TEST_P(Provider, ABufferThatIsExactlyFullIsGivenBack) {
  open();
  const std::size_t least = 0;
  demand(fi_setopt(&there->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
  std::array<std::byte, 64> buffer{};
  std::array<std::byte, 64> next{};
  post_many(*there, buffer.data(), buffer.size(), &buffer);
  post_many(*there, next.data(), next.size(), &next);
  for (int i = 0; i < 2; ++i) {
    demand(fi_send(here->ep, buffer.data(), 32, nullptr, to_there, nullptr));
    const auto got = entry_of(*there);
    EXPECT_EQ(got.buf, buffer.data() + 32 * i);
    EXPECT_EQ((got.flags & FI_MULTI_RECV) != 0, i == 1);
  }
  // One that is too long for what is left is cut, and the buffer given back with the error.
  demand(fi_send(here->ep, buffer.data(), 40, nullptr, to_there, nullptr));
  EXPECT_EQ(entry_of(*there).op_context, &next);
  demand(fi_send(here->ep, buffer.data(), 40, nullptr, to_there, nullptr));
  EXPECT_EQ(error_of(*there), FI_ETRUNC);
  EXPECT_EQ(there->error.op_context, &next);
  EXPECT_EQ(there->error.olen, 16U);
  EXPECT_NE(there->error.flags & FI_MULTI_RECV, 0U);
}

TEST_P(Provider, WhatIsCancelledOfManyIsGivenBackOnce) {
  open();
  std::array<std::byte, 1000> buffer{};
  post_many(*there, buffer.data(), buffer.size(), &buffer);
  demand(fi_send(here->ep, buffer.data(), 10, nullptr, to_there, nullptr));
  EXPECT_EQ(entry_of(*there).flags & FI_MULTI_RECV, 0U);
  EXPECT_EQ(fi_cancel(&there->ep->fid, &buffer), 0);
  EXPECT_EQ(error_of(*there), FI_ECANCELED);
  EXPECT_NE(there->error.flags & FI_MULTI_RECV, 0U);
  EXPECT_EQ(fi_cancel(&there->ep->fid, &buffer), -FI_ENOENT);
}

// Untagged receives behind one that takes many are matched by the endpoint itself.
TEST_P(Provider, ListedReceivesFromAPeerThatLeavesEnd) {
  open();
  std::array<std::byte, 100> buffer{};
  std::uint64_t word = 0;
  post_many(*here, buffer.data(), buffer.size(), &buffer, to_there);
  demand(fi_recv(here->ep, &word, sizeof word, nullptr, to_there, &word));
  there->close();
  std::vector<void*> ended;
  while (ended.size() < 2) {
    EXPECT_FALSE(here->next());
    if (std::exchange(here->error.err, 0) == FI_ECONNABORTED) ended.push_back(here->error.op_context);
  }
  EXPECT_EQ(ended, (std::vector<void*>{&buffer, &word}));
}

TEST_P(Provider, AContextHoldsOneClaimedMessage) {
  open();
  fi_context context{};
  std::array<std::uint64_t, 2> out = {11, 22};
  demand(fi_tinject(here->ep, out.data(), 16, to_there, 1));
  demand(fi_tinject(here->ep, &out[1], 8, to_there, 1));
  demand(look(*there, 1, FI_PEEK | FI_CLAIM, &context));
  EXPECT_EQ(entry_of(*there).len, 16U);
  EXPECT_EQ(look(*there, 1, FI_PEEK | FI_CLAIM, &context), -FI_EINVAL);
  EXPECT_EQ(fi_cancel(&there->ep->fid, &context), -FI_ENOENT) << "it has matched";
  std::uint64_t in = 0;
  iovec into{&in, sizeof in};
  demand(look(*there, 1, FI_CLAIM, &context, &into));
  EXPECT_EQ(error_of(*there), FI_ETRUNC);
  EXPECT_EQ(in, 11U);
  EXPECT_EQ(look(*there, 1, FI_CLAIM, &context, &into), -FI_EINVAL) << "nothing is claimed";
  demand(look(*there, 1, 0, &context, &into));
  EXPECT_EQ(entry_of(*there).op_context, &context);
  EXPECT_EQ(in, 22U);
}

TEST_P(Provider, AClaimedMessageMayBeThrownAway) {
  open();
  fi_context context{};
  std::vector<std::byte> out(100'000);
  demand(fi_tsend(here->ep, out.data(), out.size(), nullptr, to_there, 1, nullptr));
  std::optional<fi_cq_tagged_entry> found;
  while (!found) {
    demand(look(*there, 1, FI_PEEK | FI_CLAIM, &context));
    found = there->next();
    here->next();
  }
  demand(look(*there, 1, FI_CLAIM | FI_DISCARD, &context));
  EXPECT_EQ(entry_of(*there).op_context, &context);
  entry_of(*here); // the sender's memory is its own again
}

TEST_P(Provider, AnAddressInsertedTwiceStaysKnownWhenOneIsRemoved) {
  open();
  fi_addr_t second = there->insert(*here);
  ASSERT_NE(second, to_here);
  std::uint64_t in = 0;
  const auto heard = [&] {
    demand(fi_tinject(here->ep, &in, sizeof in, to_there, 1));
    demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr));
    entry_of(*there);
    return there->source;
  };
  demand(fi_tinject(there->ep, &in, sizeof in, second, 2)); // used last
  EXPECT_TRUE(heard() == to_here || heard() == second);
  demand(fi_av_remove(there->av, &second, 1, 0));
  EXPECT_EQ(heard(), to_here);
  EXPECT_EQ(fi_av_remove(there->av, &second, 1, 0), -FI_EINVAL);
  demand(fi_av_remove(there->av, &to_here, 1, 0));
  EXPECT_EQ(heard(), FI_ADDR_NOTAVAIL);
}

// The place of an address that was removed is given to another peer: what was begun for the one is not the other's.
TEST_P(Provider, APlaceIsTakenByAnother) {
  open();
  Side third;
  const fi_addr_t from_third = third.insert(*there);
  std::array<std::uint64_t, 2> in{};
  const auto receive = [&](std::uint64_t& into, fi_addr_t from) {
    demand(fi_trecv(there->ep, &into, sizeof into, nullptr, from, 1, 0, &into));
  };
  receive(in[0], to_here);
  demand(fi_av_remove(there->av, &to_here, 1, 0));
  EXPECT_EQ(fi_trecv(there->ep, &in[1], 8, nullptr, to_here, 1, 0, &in[1]), -FI_EINVAL) << "nobody is there";
  const fi_addr_t to_third = there->insert(third);
  EXPECT_EQ(to_third, to_here) << "places are used again";
  receive(in[1], to_third);
  const std::uint64_t out = 33;
  demand(fi_tsend(third.ep, &out, sizeof out, nullptr, from_third, 1, nullptr));
  std::optional<fi_cq_tagged_entry> got;
  while (!(got = there->next())) static_cast<void>(third.next());
  EXPECT_EQ(got->op_context, &in[1]);
  EXPECT_EQ(there->source, to_third);
  demand(fi_tinject(here->ep, &out, sizeof out, to_there, 1));
  while (!(got = there->next())) EXPECT_FALSE(here->next());
  EXPECT_EQ(got->op_context, &in[0]);
  EXPECT_EQ(there->source, FI_ADDR_NOTAVAIL);
}

// Large messages, reads and writes in both directions, at all stages: those of the side that stays end, one way or the other.
TEST_P(Provider, EndpointsCloseWithMuchUnderWay) {
  constexpr std::size_t kBytes = 2'000'000;
  std::vector<std::byte> memory(kBytes);
  std::vector<std::byte> local(kBytes);
  for (int rounds = 0; rounds < 24; rounds += 3) {
    open({.wait = FI_WAIT_FD});
    for (Side* side : {&*here, &*there}) side->expose(memory.data(), kBytes, 1, kBoth);
    std::size_t ended = 0;
    for (const auto& [side, to] : {std::pair(&*here, to_there), std::pair(&*there, to_here)}) {
      demand(fi_trecv(side->ep, memory.data(), kBytes, nullptr, to, 1, 0, nullptr));
      demand(fi_tsend(side->ep, local.data(), kBytes, nullptr, to, 1, nullptr));
      demand(fi_write(side->ep, local.data(), kBytes, nullptr, to, 0, 1, nullptr));
      demand(fi_read(side->ep, local.data(), kBytes, nullptr, to, 0, 1, nullptr));
    }
    const auto look = [&] {
      if (here->next() || std::exchange(here->error.err, 0) != 0) ++ended;
    };
    for (int i = 0; i < rounds; ++i) {
      look();
      static_cast<void>(there->next());
    }
    there->close();
    while (ended < 4) look();
    here->close();
  }
}

TEST_P(Provider, WhatIsBegunAfterAPeerHasLeftEndsWithAnError) {
  open();
  std::vector<std::byte> memory(200'000);
  there->expose(memory.data(), memory.size(), 1, kBoth);
  std::uint64_t word = 0;
  demand(fi_trecv(here->ep, &word, sizeof word, nullptr, to_there, 1, 0, &word));
  there->close();
  while (here->error.err == 0) EXPECT_FALSE(here->next());
  EXPECT_EQ(std::exchange(here->error.err, 0), FI_ECONNABORTED);
  for (int round = 0; round < 20; ++round)
    for (const std::size_t bytes : {8U, 16385U, 150'000U}) {
      SCOPED_TRACE(bytes);
      const std::array<iovec, 3> pieces = {iovec{memory.data(), 3}, iovec{memory.data() + 3, 2},
                                           iovec{memory.data() + 5, bytes - 5}};
      const auto fails = [&](ssize_t status) {
        if (status < 0) return; // at once
        while (here->error.err == 0) EXPECT_FALSE(here->next());
        EXPECT_EQ(std::exchange(here->error.err, 0), FI_ECONNABORTED);
        EXPECT_EQ(here->error.op_context, &memory);
      };
      fails(fi_write(here->ep, memory.data(), bytes, nullptr, to_there, 0, 1, &memory));
      fails(fi_writev(here->ep, pieces.data(), nullptr, pieces.size(), to_there, 0, 1, &memory));
      fails(fi_readv(here->ep, pieces.data(), nullptr, pieces.size(), to_there, 0, 1, &memory));
      fails(fi_fetch_atomic(here->ep, &word, 1, nullptr, memory.data(), nullptr, to_there, 0, 1, FI_UINT64, FI_SUM,
                            &memory));
    }
  EXPECT_FALSE(here->next());
  EXPECT_EQ(here->error.err, 0) << "one error for each";
}

// An endpoint that closes still sees its messages off, and meanwhile receives what others write to it.
TEST_P(Provider, AnEndpointThatClosesMayStillBeWrittenTo) {
  for (int round = 0; round < 3; ++round) {
    open();
    std::vector<std::byte> memory(16384);
    std::vector<std::byte> large(3'000'000);
    here->expose(memory.data(), memory.size(), 1, kBoth);
    demand(fi_tsend(here->ep, large.data(), large.size(), nullptr, to_there, 1, nullptr)); // nobody takes it
    for (int i = 0; i < 20; ++i)
      static_cast<void>(fi_inject_write(there->ep, memory.data(), memory.size(), to_here, 0, 1));
    here->close();
    there->close();
  }
}

TEST_P(Provider, TheTargetIsToldOfAWriteWhenAllOfItIsThere) {
  open();
  std::vector<std::uint8_t> memory(1'000'000);
  there->expose(memory.data(), memory.size(), 1, FI_REMOTE_READ | FI_REMOTE_WRITE);
  std::vector<std::uint8_t> local(600'010);
  std::mt19937 random(1);
  for (std::uint64_t round = 1; round <= 30; ++round) {
    std::ranges::fill(local, static_cast<std::uint8_t>(round));
    const std::size_t first = 20'000 + random() % 580'000; // by a message of its own; the last within the request
    const iovec piece{local.data(), first + 10};
    const std::array<fi_rma_iov, 2> places = {fi_rma_iov{.addr = 100, .len = first, .key = 1},
                                              fi_rma_iov{.addr = 900'000, .len = 10, .key = 1}};
    fi_msg_rma message{};
    message.msg_iov = &piece;
    message.iov_count = 1;
    message.addr = to_there;
    message.rma_iov = places.data();
    message.rma_iov_count = places.size();
    message.data = round;
    demand(fi_writemsg(here->ep, &message, FI_COMPLETION | FI_REMOTE_CQ_DATA));
    EXPECT_EQ(entry_of(*there).data, round);
    ASSERT_EQ(memory[100], round);
    ASSERT_EQ(memory[99 + first], round);
    ASSERT_EQ(memory[900'009], round);
    entry_of(*here);
  }
  EXPECT_FALSE(there->next()) << "it was told twice";
}

TEST_P(Provider, APeerThatTakesNothingHoldsUpNoOther) {
  open();
  Side third;
  const fi_addr_t to_third = here->insert(third);
  const fi_addr_t back = third.insert(*here);
  std::vector<std::byte> memory(16384);
  there->expose(memory.data(), memory.size(), 1, FI_REMOTE_WRITE);
  third.expose(memory.data(), memory.size(), 1, FI_REMOTE_READ);
  std::uint64_t in = 0;
  for (ssize_t status = -FI_EAGAIN; status == -FI_EAGAIN; static_cast<void>(third.next()))
    status = fi_inject(third.ep, nullptr, 0, back); // they are connected
  std::uint64_t writes = 0;
  while (fi_inject_write(here->ep, memory.data(), memory.size(), to_there, 0, 1) == 0) ++writes;
  EXPECT_GT(writes, 500U);
  demand(fi_read(here->ep, &in, sizeof in, nullptr, to_third, 0, 1, &in));
  while (!here->next()) static_cast<void>(third.next());
}

TEST_P(Provider, NoEntryIsLostWhereNobodyReads) {
  open();
  constexpr std::uint64_t kSends = 20'000;
  std::deque<std::uint64_t> numbers(kSends);
  std::uint64_t in = 0;
  for (std::uint64_t i = 0; i < kSends; ++i) {
    demand(fi_tsend(here->ep, &in, sizeof in, nullptr, to_there, 1, &numbers[i]));
    demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &numbers[i]));
    while (fi_cntr_read(there->counters[1]) <= i) {
    }
    // What has arrived is confirmed: over TCP 16 Ki messages may be under way, and only calls see confirmations.
    static_cast<void>(fi_cntr_read(here->counters[0]));
  }
  for (Side* side : {&*here, &*there}) {
    EXPECT_EQ(fi_cq_read(side->cq, nullptr, 0), 0) << "there are some";
    for (std::uint64_t i = 0; i < kSends; ++i) {
      const auto entry = side->next();
      ASSERT_TRUE(entry);
      ASSERT_EQ(entry->op_context, &numbers[i]);
    }
    EXPECT_EQ(fi_cq_read(side->cq, nullptr, 0), -FI_EAGAIN);
  }
}

// What is injected is on its way once the call returns: whoever has sent it need not come back.
TEST_P(Provider, TheFirstMessageLeavesBeforeItsCallEnds) {
  here.emplace();
  there.emplace();
  to_there = here->insert(*there);
  const std::uint64_t out = 5;
  ssize_t status = fi_tinject(here->ep, &out, sizeof out, to_there, 1);
  EXPECT_EQ(status, -FI_EAGAIN) << "the other has not been there yet";
  while (status == -FI_EAGAIN) {
    EXPECT_FALSE(there->next());
    status = fi_tinject(here->ep, &out, sizeof out, to_there, 1);
  }
  demand(status);
  std::uint64_t in = 0;
  demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr));
  while (!there->next()) {
  }
  EXPECT_EQ(in, 5U);
}

TEST_P(Provider, APeerThatStaysSilentIsNotWaitedForForEver) {
  here.emplace();
  there.emplace();
  to_there = here->insert(*there);
  const std::uint64_t out = 5;
  std::uint64_t sent = 6; // ends when it has left
  const auto begin = std::chrono::steady_clock::now();
  demand(fi_tsend(here->ep, &sent, sizeof sent, nullptr, to_there, 1, &sent));
  EXPECT_FALSE(here->next());
  ssize_t status = -FI_EAGAIN;
  while (status == -FI_EAGAIN) status = fi_tinject(here->ep, &out, sizeof out, to_there, 1);
  demand(status);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  for (const std::uint64_t expected : {6U, 5U}) {
    std::uint64_t in = 0;
    demand(fi_trecv(there->ep, &in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &in));
    EXPECT_EQ(entry_of(*there).op_context, &in);
    EXPECT_EQ(in, expected);
  }
  EXPECT_EQ(entry_of(*here).op_context, &sent);
}

// Untagged messages into plain receives and buffers that take many, some of them cancelled: each goes to the oldest receive that is there.
TEST_P(Provider, RandomUntaggedTrafficIsAsTheModelSays) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    open();
    std::mt19937_64 random(seed);
    struct Posted {
      std::vector<std::byte> in;
      bool many = false;
      bool over = false;
      std::map<std::size_t, std::uint64_t> got; // by offset: the message's number
    };
    std::deque<Posted> posts;
    std::deque<std::vector<std::byte>> outs;
    std::size_t received = 0;
    const std::size_t least = 500;
    demand(fi_setopt(&there->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
    const auto collect = [&] {
      while (const auto entry = there->next()) {
        if ((entry->flags & FI_RECV) == 0) continue;
        auto& post = *static_cast<Posted*>(entry->op_context);
        ASSERT_FALSE(post.over);
        ASSERT_LT(entry->data, outs.size());
        const auto& out = outs[entry->data];
        ASSERT_EQ(entry->len, out.size());
        const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(entry->buf) - post.in.data());
        ASSERT_TRUE(std::ranges::equal(out, std::span(post.in).subspan(offset, out.size())));
        ASSERT_TRUE(post.got.emplace(offset, entry->data).second);
        post.over = !post.many || (entry->flags & FI_MULTI_RECV) != 0;
        ++received;
      }
      if (const int error = std::exchange(there->error.err, 0); error != 0) {
        ASSERT_EQ(error, FI_ECANCELED);
        static_cast<Posted*>(there->error.op_context)->over = true;
      }
      static_cast<void>(here->next());
    };
    const auto post = [&](bool many) {
      Posted& next = posts.emplace_back();
      next.many = many;
      next.in.resize(many ? 5000 + random() % 100'000 : 100'000);
      if (many)
        post_many(*there, next.in.data(), next.in.size(), &next);
      else
        demand(fi_recv(there->ep, next.in.data(), next.in.size(), nullptr, FI_ADDR_UNSPEC, &next));
    };
    post(true);
    for (int step = 0; step < 600 && !HasFatalFailure(); ++step) {
      const std::uint64_t kind = random() % 10;
      if (kind < 6) {
        auto& out = outs.emplace_back(1 + random() % least); // fits into any buffer that is not given back
        std::ranges::generate(out, [&] { return static_cast<std::byte>(random()); });
        demand(fi_senddata(here->ep, out.data(), out.size(), nullptr, outs.size() - 1, to_there, nullptr));
      } else if (kind < 9) {
        post(kind == 8);
      } else if (!posts.back().over) {
        static_cast<void>(fi_cancel(&there->ep->fid, &posts.back()));
      }
      if (random() % 3 == 0) collect();
    }
    while (received < outs.size() && !HasFatalFailure()) {
      if (std::ranges::all_of(posts, &Posted::over)) post(false);
      collect();
    }
    std::uint64_t next = 0;
    for (const Posted& each : posts) {
      std::size_t end = 0;
      for (const auto& [offset, number] : each.got) {
        ASSERT_EQ(offset, end);
        ASSERT_EQ(number, next++);
        end += outs[number].size();
      }
    }
    EXPECT_EQ(next, outs.size());
    here->close();
    there->close();
  }
}

} // namespace
} // namespace heddle::tests

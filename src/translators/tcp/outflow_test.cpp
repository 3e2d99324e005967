#include "translators/tcp/outflow.hpp"

#include "base/descriptor.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <random>
#include <vector>

namespace heddle::translators::tcp {
namespace {

// A stream that takes little at a time.
struct NarrowStream {
  NarrowStream() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    in = base::Descriptor(ends[0]);
    out = base::Descriptor(ends[1]);
    const int bytes = 4096;
    ::setsockopt(in.number(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  // All that has come out.
  void drain(std::vector<std::byte>& to) const {
    std::array<std::byte, 1000> some{};
    for (ssize_t got = 0; (got = ::recv(out.number(), some.data(), some.size(), MSG_DONTWAIT)) > 0;)
      to.insert(to.end(), some.begin(), some.begin() + got);
  }
  base::Descriptor in;
  base::Descriptor out;
};

iovec as_piece(std::vector<std::byte>& bytes) {
  return {.iov_base = bytes.data(), .iov_len = bytes.size()};
}

std::vector<std::byte> some_bytes(std::mt19937_64& random, std::size_t most) {
  std::vector<std::byte> made(1 + random() % most);
  for (std::byte& byte : made) byte = static_cast<std::byte>(random());
  return made;
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

TEST(Outflow, KeepsTheOrderOfWhatIsCopiedAndWhatIsBorrowed) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const NarrowStream stream;
    Outflow outflow;
    std::vector<std::byte> given;
    std::vector<std::byte> taken;
    std::vector<std::byte> lent;
    for (int i = 0; i < 200; ++i) {
      if (outflow.waiting() == 0 && random() % 2 == 0) {
        const auto start = some_bytes(random, 50);
        lent = some_bytes(random, 50'000);
        append(given, start);
        append(given, lent);
        outflow.lend(stream.in.number(), start, lent);
      } else if (random() % 3 == 0) {
        auto first = some_bytes(random, 40);
        auto second = some_bytes(random, random() % 2 == 0 ? 40 : 4000);
        append(given, first);
        append(given, second);
        std::array pieces{as_piece(first), as_piece(second)};
        outflow.send(random() % 5 == 0 ? -1 : stream.in.number(), pieces);
      } else {
        outflow.flush(stream.in.number());
      }
      stream.drain(taken);
      ASSERT_EQ(given.size() - taken.size(), outflow.waiting());
    }
    while (outflow.waiting() > 0) {
      outflow.flush(stream.in.number());
      stream.drain(taken);
    }
    ASSERT_EQ(taken, given);
  }
}

TEST(Outflow, GivesBackTheMemoryThatAFullPeerHasNeeded) {
  const NarrowStream stream;
  std::size_t in_all = 0;
  {
    Outflow outflow(&in_all);
    std::vector<std::byte> much(1 << 20, std::byte{7});
    std::array pieces{as_piece(much)};
    outflow.send(stream.in.number(), pieces);
    EXPECT_GT(outflow.waiting(), Outflow::kKept);
    EXPECT_EQ(in_all, outflow.waiting());
    outflow.give_back();
    EXPECT_GE(outflow.capacity(), outflow.waiting()) << "something waits";
    std::vector<std::byte> taken;
    while (outflow.waiting() > 0) {
      stream.drain(taken);
      outflow.flush(stream.in.number());
      EXPECT_EQ(in_all, outflow.waiting());
    }
    outflow.give_back();
    EXPECT_LE(outflow.capacity(), Outflow::kKept);
    outflow.lend(stream.in.number(), std::span(much).first(10), much);
    EXPECT_EQ(in_all, outflow.waiting());
  }
  EXPECT_EQ(in_all, 0U);
}

TEST(Outflow, SendsWhatItBorrowedAsItWasWhenItWasCopied) {
  std::mt19937_64 random(1);
  const NarrowStream stream;
  Outflow outflow;
  std::vector<std::byte> lent(100'000, std::byte{7});
  outflow.lend(stream.in.number(), std::vector<std::byte>(3, std::byte{7}), lent);
  ASSERT_TRUE(outflow.borrows());
  outflow.copy_borrowed();
  EXPECT_FALSE(outflow.borrows());
  lent.assign(lent.size(), std::byte{9});
  std::vector<std::byte> taken;
  while (outflow.waiting() > 0) {
    stream.drain(taken);
    outflow.flush(stream.in.number());
  }
  stream.drain(taken);
  EXPECT_EQ(taken, std::vector<std::byte>(100'003, std::byte{7}));
}

// It has been given, and taken back: what was announced cannot follow, and the other end must hear that, not wait.
TEST(Outflow, EndsTheStreamWhereMemoryCannotBeRead) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const std::size_t readable : {std::size_t{0}, page}) {
    SCOPED_TRACE(readable);
    const NarrowStream stream;
    auto* memory =
        static_cast<std::byte*>(::mmap(nullptr, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_EQ(::mprotect(memory + readable, 64 * page - readable, PROT_NONE), 0);
    Outflow outflow;
    outflow.lend(stream.in.number(), std::vector<std::byte>(3, std::byte{7}), {memory, 64 * page});
    std::vector<std::byte> taken;
    std::array<std::byte, 1000> some{};
    ssize_t got = 0;
    for (int i = 0; i < 1000 && (got = ::recv(stream.out.number(), some.data(), some.size(), MSG_DONTWAIT)) != 0; ++i) {
      if (got > 0) taken.insert(taken.end(), some.begin(), some.begin() + got);
      outflow.flush(stream.in.number());
    }
    EXPECT_EQ(got, 0) << "the stream ends";
    EXPECT_LE(taken.size(), 3 + readable);
    outflow.copy_borrowed(); // reads nothing of it
    outflow.clear();
    EXPECT_EQ(outflow.waiting(), 0U);
    ::munmap(memory, 64 * page);
  }
}

} // namespace
} // namespace heddle::translators::tcp

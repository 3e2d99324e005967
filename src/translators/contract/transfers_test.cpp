// The contract on put and get that succeed (command.hpp): what arrives where, what becomes visible when, which memory may
// be reused when.
#include "translators/contract/contract.hpp"

#include <random>

namespace heddle::translators::contract {
namespace {

// As the contract says it, not as the translators compute it.
std::size_t terminator_at(std::size_t content) {
  return (content + ir::kTerminatorAlignment - 1) / ir::kTerminatorAlignment * ir::kTerminatorAlignment;
}

constexpr std::array<std::size_t, 8> kSizes = {0, 1, 7, 8, 9, 64, 4096, std::size_t{1} << 20U};
// As far as the network takes them at once.
std::vector<std::size_t> sizes_on(Pair& pair) {
  std::vector<std::size_t> sizes;
  for (const std::size_t size : kSizes) sizes.push_back(std::min<std::size_t>(size, pair.largest_transfer()));
  return sizes;
}

// A put of `head` and `data` bytes at `offset`, and everything that the memory must then hold.
void check_put(Pair& pair, std::uint64_t offset, std::size_t head, std::size_t data, ir::Flags flags) {
  SCOPED_TRACE("offset " + std::to_string(offset) + " head " + std::to_string(head) + " data " + std::to_string(data) +
               " flags " + std::to_string(static_cast<unsigned>(flags)));
  pair.fill(kUntouched);
  std::vector<std::byte> contents = pattern(head + data, static_cast<unsigned>(offset + 1));
  ir::Command command = put(1, pair.there.at(offset), std::span(contents).subspan(head));
  std::copy_n(contents.begin(), head, command.head.begin());
  command.head_bytes = static_cast<std::uint32_t>(head);
  command.flags = flags;
  ASSERT_EQ(pair.left.status_of(command), ir::Status::ok);

  std::vector<std::byte> expected(pair.memory.size(), kUntouched);
  std::copy(contents.begin(), contents.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
  if (ir::has(flags, ir::Flags::terminated)) {
    const std::size_t end = offset + terminator_at(head + data);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(end), 8, std::byte{0});
    for (std::size_t i = offset + head + data; i < end; ++i) expected[i] = pair.memory[i]; // between: anything
  }
  ASSERT_EQ(std::memcmp(pair.memory.data(), expected.data(), expected.size()), 0);
}

TEST_P(TransfersContract, APutWritesItsDataAndNothingElse) {
  for (const std::size_t data : sizes_on(*this))
    for (const std::uint64_t offset : {8U, 9U, 64U, 1001U}) check_put(*this, offset, 0, data, ir::Flags::none);
}

TEST_P(TransfersContract, APutWritesItsHeadBeforeItsData) {
  for (const std::size_t head : {1U, 7U, 8U, 9U, 63U, 64U})
    for (const std::size_t data : sizes_on(*this))
      for (const std::uint64_t offset : {8U, 13U}) check_put(*this, offset, head, data, ir::Flags::none);
}

TEST_P(TransfersContract, ATerminatorFollowsAtTheNextMultipleOfItsAlignment) {
  for (const std::size_t head : {0U, 1U, 8U, 64U})
    for (const std::size_t data : sizes_on(*this)) check_put(*this, 16, head, data, ir::Flags::terminated);
}

TEST_P(TransfersContract, APutWithItsLeadLastIsComplete) {
  for (const std::size_t head : {8U, 9U, 16U, 64U}) {
    for (const std::size_t data : sizes_on(*this)) {
      check_put(*this, 24, head, data, ir::Flags::lead_last);
      check_put(*this, 24, head, data, ir::Flags::lead_last | ir::Flags::terminated);
    }
  }
}

TEST_P(TransfersContract, AnUnsignalledRecordIsComplete) {
  for (const std::size_t data : {0U, 1U, 7U, 8U, 9U, 31U, 32U, 33U, 64U, 200U, 4096U}) {
    fill(kUntouched);
    std::vector<std::byte> contents = pattern(data, 5);
    ir::Command command = put(1, there.at(64), contents);
    const std::vector<std::byte> head = pattern(16, 1);
    std::copy(head.begin(), head.end(), command.head.begin());
    command.head_bytes = static_cast<std::uint32_t>(head.size());
    command.flags = ir::Flags::lead_last | ir::Flags::terminated;
    left.submit(command);
    std::uint64_t lead = 0;
    std::memcpy(&lead, head.data(), sizeof lead);
    left.wait([&] { return load_word(memory.data() + 64) == lead; });
    EXPECT_EQ(std::memcmp(memory.data() + 64, head.data(), head.size()), 0);
    EXPECT_TRUE(std::equal(contents.begin(), contents.end(), memory.begin() + 80));
    EXPECT_EQ(load_word(memory.data() + 64 + terminator_at(16 + data)), 0U);
  }
  EXPECT_TRUE(left.events().empty());
}

TEST_P(TransfersContract, AGetBringsWhatIsThereAndNothingElse) {
  const std::vector<std::byte> contents = pattern(memory.size(), 8);
  std::copy(contents.begin(), contents.end(), memory.begin());
  for (const std::size_t bytes : sizes_on(*this)) {
    for (const std::size_t offset : {0U, 1U, 8U, 1001U}) {
      std::vector<std::byte> local(bytes + 16, kUntouched);
      ASSERT_EQ(left.status_of(get(1, there.at(offset), std::span(local).subspan(8, bytes))), ir::Status::ok);
      ASSERT_TRUE(
          std::equal(local.begin() + 8, local.end() - 8, contents.begin() + static_cast<std::ptrdiff_t>(offset)));
      EXPECT_TRUE(std::all_of(local.begin(), local.begin() + 8, [](std::byte b) { return b == kUntouched; }));
      EXPECT_TRUE(std::all_of(local.end() - 8, local.end(), [](std::byte b) { return b == kUntouched; }));
    }
  }
  EXPECT_TRUE(std::equal(contents.begin(), contents.end(), memory.begin()));
}

TEST_P(TransfersContract, EverySignalledCommandGetsOneEventWithItsCookieAndOthersNone) {
  constexpr std::uint64_t kCount = 300;
  std::vector<std::byte> data = pattern(100, 2);
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    ir::Command command = i % 3 == 0 ? get(1, there.at(512), data) : put(1, there, data);
    command.flags = i % 2 == 0 ? ir::Flags::signalled : ir::Flags::none;
    command.cookie = i << 40U;
    left.submit(command);
  }
  std::vector<int> seen(kCount + 1, 0);
  for (const ir::Event& event : left.events()) {
    EXPECT_EQ(event.kind, ir::EventKind::completed);
    EXPECT_EQ(event.status, ir::Status::ok);
    EXPECT_EQ(event.peer, ir::Peer{1});
    ++seen.at(event.cookie >> 40U);
  }
  for (std::uint64_t i = 1; i <= kCount; ++i) EXPECT_EQ(seen[i], i % 2 == 0 ? 1 : 0) << i;
  for (const ir::Event& event : right.events())
    EXPECT_EQ(event.kind, ir::EventKind::remote_written) << "the target is told of writes only";
}

TEST_P(TransfersContract, ABatchIsTakenInOrderAndAShortCountIsNoError) {
  constexpr std::size_t kCount = 64;
  std::vector<ir::Command> batch;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    batch.push_back(put_word(1, there.at(8 * i), i + 1));
    batch.back().flags = ir::Flags::signalled;
    batch.back().cookie = i;
  }
  EXPECT_EQ(left.translator().submit({}), 0U);
  std::size_t taken = 0;
  left.wait([&] {
    const std::size_t now = left.translator().submit(std::span(batch).subspan(taken));
    EXPECT_LE(now, kCount - taken);
    taken += now;
    return taken == kCount;
  });
  EXPECT_EQ(left.events().size(), kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_EQ(load_word(memory.data() + 8 * i), i + 1);
}

TEST_P(TransfersContract, PollGivesNoMoreThanAskedFor) {
  for (std::uint64_t i = 1; i <= 10; ++i) {
    ir::Command command = put_word(1, there, i);
    command.flags = ir::Flags::signalled;
    command.cookie = i;
    left.submit(command);
  }
  EXPECT_EQ(left.translator().poll({}), 0U);
  std::array<ir::Event, 4> events;
  events[3].cookie = 0xbad;
  std::size_t count = 0;
  for (int i = 0; i < 200; ++i) {
    const std::size_t now = left.translator().poll(std::span(events).first(3));
    EXPECT_LE(now, 3U);
    count += now;
  }
  EXPECT_EQ(events[3].cookie, 0xbadU);
  // Commands held back by a full network were polled for inside submit; all others come here.
  EXPECT_EQ(count + left.events().size(), 10U);
}

TEST_P(TransfersContract, MemoryOfASmallUnsignalledPutIsFreeOnceItIsTaken) {
  const std::size_t bytes = std::min<std::uint64_t>(4096, left.translator().capabilities().inline_bytes);
  if (bytes < 8) GTEST_SKIP() << "this network takes no payload at once";
  std::vector<std::byte> scratch(bytes);
  for (unsigned i = 1; i <= 100; ++i) {
    const std::vector<std::byte> contents = pattern(bytes, i);
    scratch = contents;
    left.submit(put(1, there.at(8192), scratch));
    std::fill(scratch.begin(), scratch.end(), std::byte{0xcc});
    left.wait([&] {
      return load_word(memory.data() + 8192 + bytes / 8 * 8 - 8) == load_word(contents.data() + bytes / 8 * 8 - 8);
    });
    ASSERT_EQ(std::memcmp(memory.data() + 8192, contents.data(), bytes), 0) << i;
  }
}

TEST_P(TransfersContract, PutsToOnePeerKeepTheirOrderWhereTheNetworkSaysSo) {
  if (!left.translator().capabilities().orders_puts) GTEST_SKIP() << "this network does not promise it";
  for (std::uint64_t i = 1; i <= 500; ++i) left.submit(put_word(1, there, i));
  std::uint64_t last = 0;
  left.wait([&] {
    const std::uint64_t now = load_word(memory.data());
    EXPECT_GE(now, last);
    last = now;
    return now == 500;
  });
}

// The reader looks at the lead only; what it then finds must be the rest of the same put.
TEST_P(TransfersContract, AReaderThatSeesTheLeadSeesAllTheRest) {
  if (!network->threads()) GTEST_SKIP() << "this network is used by one thread";
  constexpr std::uint64_t kTimes = 5000;
  constexpr std::size_t kHead = 24;
  constexpr std::size_t kData = 200;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<bool> stop{false};
  std::uint64_t torn = 0;
  std::thread reader([&] {
    for (std::uint64_t i = 1; i <= kTimes; ++i) {
      while (load_word(memory.data()) != i && !stop) std::this_thread::yield();
      const auto expected = static_cast<std::byte>(i);
      const auto rest = memory.subspan(8, kHead - 8 + kData);
      const bool whole = std::all_of(rest.begin(), rest.end(), [&](std::byte byte) { return byte == expected; });
      torn += whole && load_word(memory.data() + kHead + kData) == 0 ? 0U : 1U;
      std::fill(rest.begin(), rest.end(), std::byte{0xaa});
      std::memset(memory.data() + kHead + kData, 0xaa, 8);
      seen.store(i, std::memory_order_release);
    }
  });
  std::vector<std::byte> data(kData);
  for (std::uint64_t i = 1; i <= kTimes && !stop; ++i) {
    std::fill(data.begin(), data.end(), static_cast<std::byte>(i));
    ir::Command command = put(1, there, data);
    command.head.fill(static_cast<std::byte>(i));
    std::memcpy(command.head.data(), &i, sizeof i);
    command.head_bytes = kHead;
    command.flags = ir::Flags::lead_last | ir::Flags::terminated;
    left.submit(command);
    if (!left.wait([&] { return seen.load(std::memory_order_acquire) == i; })) stop = true;
  }
  reader.join();
  EXPECT_EQ(torn, 0U);
}

// Random puts and gets, one after another, against a plain copy of the memory.
TEST_P(TransfersContract, RandomTransfersAgreeWithAModel) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::byte> model(memory.size(), std::byte{0});
  for (int i = 0; i < 1000; ++i) {
    const std::size_t bytes = std::min<std::size_t>(random() % (std::size_t{1} << (random() % 17)), largest_transfer());
    const std::size_t offset = random() % (model.size() - bytes - ir::kHeadBytes);
    const auto at = model.begin() + static_cast<std::ptrdiff_t>(offset);
    if (random() % 3 == 0) {
      std::vector<std::byte> found(bytes);
      ASSERT_EQ(left.status_of(get(1, there.at(offset), found)), ir::Status::ok);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), at));
    } else {
      const std::size_t head = random() % (ir::kHeadBytes + 1);
      std::vector<std::byte> contents = pattern(head + bytes, static_cast<unsigned>(random()));
      ir::Command command = put(1, there.at(offset), std::span(contents).subspan(head));
      std::copy_n(contents.begin(), head, command.head.begin());
      command.head_bytes = static_cast<std::uint32_t>(head);
      ASSERT_EQ(left.status_of(command), ir::Status::ok);
      std::copy(contents.begin(), contents.end(), at);
    }
  }
  EXPECT_EQ(std::memcmp(memory.data(), model.data(), model.size()), 0);
}

} // namespace
} // namespace heddle::translators::contract

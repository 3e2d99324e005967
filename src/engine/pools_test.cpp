// The pools and queues that keep the hot path free of allocation: operations, events, buffers, unsolicited messages.
#include "engine/engine_state.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace heddle::engine {
namespace {

TEST(OperationPool, NeverAnswersAStaleNameWithAnotherOperation) {
  OperationPool pool;
  EXPECT_EQ(pool.find(0), nullptr) << "a request made of zeros";
  Operation& first = pool.take();
  first.stage = Stage::posted;
  const OperationName name = first.name;
  EXPECT_EQ(pool.find(name), &first);
  pool.give_back(first);
  EXPECT_EQ(pool.find(name), nullptr);
  Operation& second = pool.take();
  second.stage = Stage::posted;
  EXPECT_EQ(&second, &first) << "reused";
  EXPECT_EQ(pool.find(name), nullptr);
  EXPECT_EQ(pool.find(second.name), &second);
  EXPECT_EQ(pool.find((OperationName{1} << 32U) + 1'000'000), nullptr);
  EXPECT_EQ(pool.in_use(), 1U);
}

TEST(OperationPool, GivesEveryOperationOnceAndKeepsItInPlaceAsItGrows) {
  OperationPool pool;
  std::set<Operation*> taken;
  std::set<std::uint32_t> indices;
  for (int i = 0; i < 2000; ++i) {
    Operation& operation = pool.take();
    operation.stage = Stage::posted;
    EXPECT_TRUE(taken.insert(&operation).second);
    EXPECT_TRUE(indices.insert(operation.index()).second);
    EXPECT_EQ(pool.at(operation.index()), &operation);
  }
  std::size_t visited = 0;
  pool.visit_all([&](Operation& operation) {
    ++visited;
    pool.give_back(operation);
  });
  EXPECT_EQ(visited, 2000U);
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(OperationList, IsFirstInFirstOutAndLetsGoOfAny) {
  std::vector<Operation> operations(5);
  OperationList list;
  for (Operation& operation : operations) list.push_back(operation);
  list.remove(operations[2]);
  list.remove(operations[0]);
  list.remove(operations[4]);
  list.push_front(operations[4]);
  EXPECT_EQ(list.pop_front(), &operations[4]);
  EXPECT_EQ(list.pop_front(), &operations[1]);
  EXPECT_EQ(list.pop_front(), &operations[3]);
  EXPECT_EQ(list.pop_front(), nullptr);
  EXPECT_TRUE(list.empty());
}

TEST(EventQueue, KeepsOrderAsItGrowsAndGoesRound) {
  EventQueue queue(0);
  std::uint64_t pushed = 0;
  std::uint64_t popped = 0;
  std::vector<Event> events(700);
  for (const std::size_t burst : {100U, 200U, 300U, 1000U, 5U, 5000U})
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < burst; ++i)
        ASSERT_TRUE(queue.push({.cookie = pushed++, .completion = {}, .unsolicited = {}}));
      const std::size_t count = queue.pop(std::span(events).first(std::min<std::size_t>(events.size(), burst / 2 + 1)));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(events[i].cookie, popped++);
    }
  while (const std::size_t count = queue.pop(events))
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(events[i].cookie, popped++);
  EXPECT_EQ(popped, pushed);
  EXPECT_TRUE(queue.empty());
}

TEST(BufferPool, GivesBuffersLargeEnoughAndAligned) {
  BufferPool pool;
  for (const std::uint64_t bytes :
       {1ULL, 63ULL, 64ULL, 65ULL, 4096ULL, (1ULL << 20U) - 1, 1ULL << 20U, (1ULL << 20U) + 1, 3ULL << 20U}) {
    const BufferPool::Buffer buffer = pool.take(bytes);
    ASSERT_NE(buffer.data, nullptr);
    EXPECT_GE(buffer.capacity, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data) % 64, 0U);
    EXPECT_EQ(pool.bytes_in_use(), buffer.capacity);
    std::memset(buffer.data, 1, buffer.capacity);
    pool.give_back(buffer);
    EXPECT_EQ(pool.bytes_in_use(), 0U);
  }
  EXPECT_EQ(pool.take(0).data, nullptr);
  pool.give_back({});
  EXPECT_EQ(pool.bytes_in_use(), 0U);
}

TEST(BufferPool, ReusesABufferOfTheSameClass) {
  BufferPool pool;
  const BufferPool::Buffer first = pool.take(100);
  pool.give_back(first);
  EXPECT_EQ(pool.take(128).data, first.data);
  const BufferPool::Buffer other = pool.take(100);
  EXPECT_NE(other.data, first.data);
  pool.give_back(first);
  pool.give_back(other);
}

struct CoreTest : testing::Test {
  base::FlightRecorder recorder{0};
  EngineState engine{0, 2, Limits{.ring_bytes = 4096, .ring_memory = 4096}, recorder};
};

TEST_F(CoreTest, IgnoresASecondReleaseOfAnArrival) {
  ASSERT_TRUE(engine.promise_unsolicited());
  engine.deliver_unsolicited(1, 7, engine.buffers.take(100), 100);
  Event event;
  ASSERT_EQ(engine.events.pop({&event, 1}), 1U);
  engine.release(event.unsolicited.handle);
  EXPECT_EQ(engine.buffers.bytes_in_use(), 0U);
  ASSERT_TRUE(engine.promise_unsolicited());
  engine.deliver_unsolicited(1, 8, engine.buffers.take(100), 100);
  engine.release(event.unsolicited.handle); // of the first
  EXPECT_GT(engine.buffers.bytes_in_use(), 0U);
  engine.release(0xffff'ffffULL);
  ASSERT_EQ(engine.events.pop({&event, 1}), 1U);
  engine.release(event.unsolicited.handle);
  EXPECT_EQ(engine.buffers.bytes_in_use(), 0U);
}

TEST_F(CoreTest, FindsAReservedMessageOnceOnly) {
  UnexpectedMessage& message = engine.take_unexpected();
  const std::uint64_t handle = EngineState::handle_of(message);
  EXPECT_EQ(engine.find_reserved(handle), nullptr) << "not reserved";
  message.reserved = true;
  EXPECT_EQ(engine.find_reserved(handle), &message);
  EXPECT_EQ(engine.find_reserved(0), nullptr);
  EXPECT_EQ(engine.find_reserved(handle + 1), nullptr);
  engine.give_back(message);
  EXPECT_EQ(engine.find_reserved(handle), nullptr);
  UnexpectedMessage& again = engine.take_unexpected();
  EXPECT_EQ(&again, &message);
  again.reserved = true;
  EXPECT_EQ(engine.find_reserved(handle), nullptr);
}

} // namespace
} // namespace heddle::engine

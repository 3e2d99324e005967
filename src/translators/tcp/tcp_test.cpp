// What TCP does beyond the contract: what waits, what is borrowed, and whom it looks at.
#include "translators/tcp/tcp.hpp"

#include "net/sockets.hpp"
#include "translators/contract/network.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

namespace heddle::translators {
namespace {

using contract::kPatience;
using contract::load_word;
using contract::pattern;

// Processes of one job. Nobody polls but whom the test tells to.
class TcpJob {
 public:
  explicit TcpJob(std::uint32_t size, const tcp::Listening& listening = {}) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      auto made = Tcp::create({.rank = rank, .size = size, .listening = listening});
      EXPECT_TRUE(made) << made.error().message();
      all_.push_back(std::move(*made));
    }
  }
  Tcp& operator[](std::size_t rank) { return *all_[rank]; }
  // The process leaves, in a thread of its own.
  std::future<void> leave(std::uint32_t rank) {
    return std::async(std::launch::async, [gone = std::move(all_[rank])]() mutable { gone.reset(); });
  }

  void connect(std::uint32_t from, std::uint32_t to, const ir::RemotePlace& place) {
    ASSERT_TRUE(all_[from]->attach(ir::Peer{to}, all_[to]->address()));
    ir::Command first = word_put(to, place, 1);
    first.flags = ir::Flags::signalled;
    ASSERT_EQ(all_[from]->submit({&first, 1}), 1U);
    std::array<ir::Event, 1> event;
    ASSERT_TRUE(happens([&] {
      all_[to]->poll({});
      return all_[from]->poll(event) == 1;
    }));
    ASSERT_EQ(event[0].status, ir::Status::ok);
  }
  void put(std::uint32_t from, std::uint32_t to, const ir::RemotePlace& place, std::uint64_t word) {
    const ir::Command command = word_put(to, place, word);
    ASSERT_EQ(all_[from]->submit({&command, 1}), 1U);
  }
  template <typename Done>
  static bool happens(Done&& done) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!done())
      if (std::chrono::steady_clock::now() >= end) return false;
    return true;
  }

 private:
  static ir::Command word_put(std::uint32_t to, const ir::RemotePlace& place, std::uint64_t word) {
    ir::Command command = contract::make_command(ir::Operation::put, to, place);
    std::memcpy(command.head.data(), &word, sizeof word);
    command.head_bytes = sizeof word;
    return command;
  }
  std::vector<std::unique_ptr<Tcp>> all_;
};

TEST(TcpBursts, LeaveWithoutAFurtherCall) {
  constexpr std::uint64_t kBurst = 200;
  TcpJob job(2);
  const auto memory = job[1].allocate(8 * kBurst);
  ASSERT_TRUE(memory);
  job.connect(0, 1, memory->place);
  for (std::uint64_t i = 0; i < kBurst; ++i) job.put(0, 1, memory->place.at(8 * i), i + 2);
  EXPECT_TRUE(TcpJob::happens([&] {
    job[1].poll({});
    return load_word(memory->memory.data() + 8 * (kBurst - 1)) == kBurst + 1;
  }));
  for (std::uint64_t i = 0; i < kBurst; ++i) EXPECT_EQ(load_word(memory->memory.data() + 8 * i), i + 2);
}

// Of one who sends and never polls nothing waits for a timer of the system's, also where the other side answers now and then and could
// confirm with that.
TEST(TcpBursts, WaitForNothingButThatThePeerReads) {
  TcpJob job(2);
  const auto memory = job[1].allocate(8);
  const auto back = job[0].allocate(8);
  ASSERT_TRUE(memory && back);
  job.connect(0, 1, memory->place);
  job.connect(1, 0, back->place);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 2; i < 2000; ++i) {
    if (i % 2 == 0) job.put(1, 0, back->place, i);
    job.put(0, 1, memory->place, i);
    ASSERT_TRUE(TcpJob::happens([&] {
      job[1].poll({});
      return load_word(memory->memory.data()) == i;
    }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

// A process that computes makes no calls, however long: its machine answers for it.
TEST(TcpAbsence, IsNoDeath) {
  tcp::Listening listening;
  listening.silence = std::chrono::seconds(1);
  TcpJob job(2, listening);
  const auto memory = job[1].allocate(8);
  ASSERT_TRUE(memory);
  job.connect(0, 1, memory->place);
  int cut = 0;
  for (int socket = 3; socket < 64; ++socket) { // rank 1's end of the connection, or rank 0's
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0 || peer.ss_family == AF_UNIX) continue;
    ::shutdown(socket, SHUT_RDWR);
    ++cut;
  }
  ASSERT_EQ(cut, 2);
  std::vector<ir::Event> told;
  const auto poll_first = [&] {
    std::array<ir::Event, 4> events;
    const std::size_t count = job[0].poll(events);
    told.insert(told.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < until) poll_first();
  EXPECT_TRUE(told.empty()) << "it is not known yet what has become of the other";
  ASSERT_TRUE(TcpJob::happens([&] {
    job[1].poll({});
    poll_first();
    return !told.empty();
  }));
  EXPECT_EQ(told.front().kind, ir::EventKind::connection_lost);
}

// Whoever has begun to connect may compute for longer than a door waits for its proof.
TEST(TcpAbsence, OfWhoConnectsIsNoDeath) {
  TcpJob job(2);
  const auto memory = job[1].allocate(8);
  ASSERT_TRUE(memory);
  ASSERT_TRUE(job[0].attach(ir::Peer{1}, job[1].address()));
  for (int i = 0; i < 3; ++i) job[0].poll({}); // it has greeted
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(6500);
  while (std::chrono::steady_clock::now() < until) { // it is challenged, and given up
    job[1].poll({});
    ::poll(nullptr, 0, 1);
  }
  job.put(0, 1, memory->place, 7);
  EXPECT_TRUE(TcpJob::happens([&] {
    job[1].poll({});
    std::array<ir::Event, 1> event;
    EXPECT_EQ(job[0].poll(event), 0U);
    return load_word(memory->memory.data()) == 7;
  }));
}

TEST(TcpPolls, OfOneBusyPeerStillBringWhatAnotherSends) {
  TcpJob job(3);
  const auto memory = job[0].allocate(16);
  ASSERT_TRUE(memory);
  job.connect(1, 0, memory->place);
  job.connect(2, 0, memory->place.at(8));
  const auto see = [&](std::size_t at, std::uint64_t word) {
    return TcpJob::happens([&] {
      job[0].poll({});
      return load_word(memory->memory.data() + at) == word;
    });
  };
  for (std::uint64_t i = 2; i < 1000; ++i) {
    job.put(1, 0, memory->place, i);
    ASSERT_TRUE(see(0, i));
  }
  for (std::uint64_t round = 2; round < 10; ++round) {
    job.put(2, 0, memory->place.at(8), round);
    std::uint64_t further = 0;
    ASSERT_TRUE(TcpJob::happens([&] { // while the other goes on
      job.put(1, 0, memory->place, 1000 * round + ++further);
      job[0].poll({});
      return load_word(memory->memory.data() + 8) == round;
    }));
  }
}

TEST(TcpSleep, EndsForAPeerThatWasReadWithoutAsking) {
  TcpJob job(2);
  const auto memory = job[1].allocate(8);
  ASSERT_TRUE(memory);
  job.connect(0, 1, memory->place);
  for (std::uint64_t i = 2; i < 1000; ++i) {
    job.put(0, 1, memory->place, i);
    ASSERT_TRUE(TcpJob::happens([&] {
      job[1].poll({});
      return load_word(memory->memory.data()) == i;
    }));
  }
  // The descriptor also tells of a clock that runs out once a second: of many sleeps not all can end by that.
  const auto start = std::chrono::steady_clock::now();
  pollfd waits{.fd = *job[1].descriptor(), .events = POLLIN, .revents = 0};
  for (std::uint64_t i = 1000; i < 1060; ++i) {
    ASSERT_TRUE(job[1].announce_sleep(ir::Sleeping::By::descriptor));
    for (int polls = 0; polls < 10; ++polls) job[1].poll({});
    job.put(0, 1, memory->place, i);
    ASSERT_EQ(::poll(&waits, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())), 1);
    job[1].cancel_sleep();
    ASSERT_TRUE(TcpJob::happens([&] {
      job[1].poll({});
      return load_word(memory->memory.data()) == i;
    }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

TEST(TcpPort, ThatRestsHearsOfWhoConnects) {
  TcpJob job(2);
  const auto memory = job[1].allocate(8);
  ASSERT_TRUE(memory);
  for (int i = 0; i < 5000; ++i) job[1].poll({});
  job.connect(0, 1, memory->place);
  for (int i = 0; i < 5000; ++i) job[1].poll({});
  job.put(0, 1, memory->place, 2);
  EXPECT_TRUE(TcpJob::happens([&] {
    job[1].poll({});
    return load_word(memory->memory.data()) == 2;
  }));
}

// More is asked for than the system keeps on the way, so that the memory goes in the middle of an answer.
TEST(TcpGets, AreAnsweredAsThingsWereWhenTheAnswerBegan) {
  constexpr std::uint64_t kEach = tcp::kLargestTransfer;
  constexpr std::size_t kGets = 200;
  TcpJob job(2);
  const auto word = job[1].allocate(8);
  ASSERT_TRUE(word);
  job.connect(0, 1, word->place);
  const std::vector<std::byte> wanted = pattern(kEach, 5);
  std::vector<std::byte> asked_for = wanted;
  const auto place = job[1].expose(asked_for);
  ASSERT_TRUE(place);
  std::vector<std::vector<std::byte>> got(kGets, std::vector<std::byte>(kEach));
  for (std::size_t i = 0; i < kGets; ++i) {
    ir::Command get = contract::make_command(ir::Operation::get, 1, *place);
    get.flags = ir::Flags::signalled;
    get.cookie = i;
    get.local = got[i].data();
    get.bytes = kEach;
    ASSERT_EQ(job[0].submit({&get, 1}), 1U);
  }
  job[0].poll({}); // they leave
  const auto settle = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < settle) job[1].poll({});
  ASSERT_FALSE(job[1].drained()) << "the system has taken all of it";
  job[1].withdraw(*place);
  asked_for.assign(kEach, std::byte{0xee});
  std::size_t answered = 0;
  std::size_t refused = 0;
  EXPECT_TRUE(TcpJob::happens([&] {
    job[1].poll({});
    std::array<ir::Event, 16> events;
    const std::size_t count = job[0].poll(events);
    for (std::size_t i = 0; i < count; ++i, ++answered) {
      if (events[i].status == ir::Status::refused)
        ++refused;
      else
        EXPECT_EQ(got[events[i].cookie], wanted) << events[i].cookie;
    }
    return answered == kGets;
  }));
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, kGets);
}

// Its system has taken all, and the peer's has no room for it yet. Who closes a socket while the peer speaks loses that.
TEST(TcpFarewell, LosesNothingThatThePeerHasNotRead) {
  constexpr std::size_t kPieces = 4;
  constexpr std::size_t kEach = tcp::kLargestTransfer;
  TcpJob job(2);
  const auto memory = job[1].allocate(kPieces * kEach);
  const auto back = job[0].allocate(8);
  ASSERT_TRUE(memory && back);
  job.connect(0, 1, memory->place);
  job.connect(1, 0, back->place);
  const std::vector<std::byte> wanted = pattern(kEach, 3);
  for (std::size_t i = 0; i < kPieces; ++i) {
    ir::Command put = contract::make_command(ir::Operation::put, 1, memory->place.at(i * kEach));
    put.local = const_cast<std::byte*>(wanted.data());
    put.bytes = kEach;
    ASSERT_EQ(job[0].submit({&put, 1}), 1U);
  }
  const auto leaving = job.leave(0);
  leaving.wait_for(std::chrono::milliseconds(100)); // long enough for one that does not wait to be gone
  job.put(1, 0, back->place, 1);
  std::array<ir::Event, 1> told;
  ASSERT_TRUE(TcpJob::happens([&] { return job[1].poll(told) > 0; }));
  EXPECT_EQ(told[0].kind, ir::EventKind::peer_left);
  for (std::size_t i = 0; i < kPieces; ++i)
    EXPECT_TRUE(std::ranges::equal(memory->memory.subspan(i * kEach, kEach), wanted)) << i;
}

// A peer that knows the secret sends commands, and takes none of the answers: what it makes this process keep has a bound.
TEST(TcpAnswers, ThatNobodyTakesEndTheConnection) {
  const auto made = Tcp::create({.rank = 0, .size = 2});
  ASSERT_TRUE(made);
  Tcp& target = **made;
  const auto memory = target.allocate(64);
  ASSERT_TRUE(memory);
  const auto socket = net::begin_connect(tcp::Place::unpack(target.address())->endpoint);
  ASSERT_TRUE(socket);
  auth::Introduction introduction(auth::Introduction::Role::calls, auth::Secret{}, tcp::kService);
  while (introduction.advance(socket->number()) == auth::Introduction::State::goes_on) target.poll({});
  const tcp::Hello hello{.id = 2, .wanted = 1, .attempt = 1};
  iovec word{.iov_base = const_cast<tcp::Hello*>(&hello), .iov_len = sizeof hello};
  net::send_some(socket->number(), {&word, 1});
  const tcp::Frame frame{.kind = tcp::FrameKind::fetch_and_add,
                         .number = 1,
                         .key = static_cast<std::uint64_t>(memory->place.key),
                         .offset = memory->place.offset,
                         .operand = 1};
  const std::vector<tcp::Frame> frames(512, frame);
  constexpr std::size_t kFarBeyond = 200 << 20; // what the system itself keeps is a few MiB
  std::size_t said = 0;
  bool cut = false;
  while (!cut && said < kFarBeyond) {
    iovec whole{.iov_base = const_cast<tcp::Frame*>(frames.data()), .iov_len = frames.size() * sizeof frame};
    said += net::send_some(socket->number(), {&whole, 1});
    for (int i = 0; i < 4; ++i) target.poll({});
    cut = net::connect_error(socket->number()) != 0 || ::send(socket->number(), "", 0, MSG_NOSIGNAL) < 0;
    pollfd entry{.fd = socket->number(), .events = POLLIN, .revents = 0};
    cut = cut || (::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLERR)) != 0);
  }
  EXPECT_TRUE(cut) << said << " bytes of commands were taken";
}

// Many peers that take nothing: what waits for them is bounded in all, and keeps nobody else waiting.
TEST(TcpMemory, OfAllPeersTogetherIsBounded) {
  constexpr std::uint32_t kStuck = 6;
  constexpr std::uint32_t kLive = kStuck + 1; // its rank
  constexpr std::size_t kMost = 1 << 20;
  constexpr std::size_t kCommand = 64 << 10;
  const auto made = Tcp::create({.rank = 0, .size = kStuck + 2, .most_waiting = kMost});
  ASSERT_TRUE(made);
  Tcp& tcp = **made;
  std::vector<std::unique_ptr<Tcp>> peers;
  std::vector<ir::ExposedMemory> memory;
  for (std::uint32_t rank = 1; rank <= kLive; ++rank) {
    peers.push_back(std::move(*Tcp::create({.rank = rank, .size = kStuck + 2})));
    memory.push_back(*peers.back()->allocate(kCommand));
    ASSERT_TRUE(tcp.attach(ir::Peer{rank}, peers.back()->address()));
    ASSERT_TRUE(TcpJob::happens([&] {
      tcp.poll({});
      peers.back()->poll({});
      return tcp.will_tell_end(ir::Peer{rank});
    }));
  }
  std::vector<std::byte> bytes = pattern(kCommand, 5);
  const auto takes = [&](std::uint32_t rank) {
    const ir::Command command = contract::put(rank, memory[rank - 1].place, bytes);
    return tcp.submit({&command, 1}) == 1;
  };
  for (std::uint32_t rank = 1; rank <= kStuck; ++rank)
    for (int refused = 0; refused < 100;) { // the system takes some of it a little later
      refused = takes(rank) ? 0 : refused + 1;
      tcp.poll({});
    }
  EXPECT_GT(tcp.waiting(), kMost);
  EXPECT_LE(tcp.waiting(), kMost + (kStuck + 1) * (kCommand + sizeof(tcp::Frame)));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(TcpJob::happens([&] {
      peers.back()->poll({});
      tcp.poll({});
      return takes(kLive);
    })) << i;
  }
  EXPECT_TRUE(TcpJob::happens([&] {
    tcp.poll({});
    for (const auto& peer : peers) peer->poll({});
    return tcp.waiting() == 0;
  }));
  EXPECT_TRUE(takes(1));
}

// A process that is short of descriptors for a while.
TEST(TcpDescriptors, ThatAreLackingAreSaidAndAskedForAgain) {
  TcpJob job(2);
  const auto memory = job[1].allocate(8);
  ASSERT_TRUE(memory);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(base::Descriptor(::dup(STDERR_FILENO)).number()); // the lowest that is free
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::vector<Result<ir::RemotePlace>> refused;
  for (int tries = 0; tries < 3; ++tries) {
    refused.push_back(job[0].attach(ir::Peer{1}, job[1].address()));
    for (int i = 0; i < 10; ++i) job[0].poll({});
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const auto& each : refused) {
    ASSERT_FALSE(each);
    EXPECT_EQ(each.error().code, ErrorCode::out_of_descriptors);
    EXPECT_TRUE(each.error().remedy.contains("ulimit -n")) << each.error().message();
  }
  job.connect(0, 1, memory->place);
}

} // namespace
} // namespace heddle::translators

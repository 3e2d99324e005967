// An open world of processes that share no launcher and no store: the server's name goes to its clients through a pipe, and they talk,
// leave, or are killed at any instant. The server, who lives, is told of each end once, and serves the rest and those who come later.
#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Tag kQuestion{1};
constexpr Tag kAnswer{2};
constexpr Tag kLast{3};

struct Question {
  std::uint64_t process = 0;
  std::uint64_t number = 0;
};

void demand(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "child %d: %s\n", ::getpid(), what.c_str());
  ::_exit(1);
}

// Asks so many questions, of growing size, and leaves. None: asks until it is killed.
[[noreturn]] void ask(const Name& name, std::uint64_t questions) {
  {
    auto context = Context::open();
    demand(context.has_value(), "open");
    const auto server = context->add_peer(name);
    demand(server.has_value(), server ? "" : server.error().message());
    std::vector<std::byte> question(200'000);
    std::vector<std::byte> answer(question.size());
    for (std::uint64_t number = 0; questions == 0 || number < questions; ++number) {
      const std::size_t bytes = sizeof(Question) + (number * 7919) % (question.size() - sizeof(Question));
      const Question head{.process = static_cast<std::uint64_t>(::getpid()), .number = number};
      std::memcpy(question.data(), &head, sizeof head);
      question[bytes - 1] = static_cast<std::byte>(number);
      const auto received = context->receive({.source = *server, .tag = kAnswer}, answer);
      const auto sent = context->send(*server, kQuestion, std::span(question).first(bytes));
      demand(received && sent, "the server is gone");
      demand(context->wait(*sent, std::chrono::seconds(60)).code == ErrorCode::ok, "not asked");
      const Completion answered = context->wait(*received, std::chrono::seconds(60));
      demand(answered.code == ErrorCode::ok && answered.bytes == bytes, "not answered");
      demand(std::memcmp(question.data(), answer.data(), bytes) == 0, "a wrong answer");
    }
    const auto last = context->send(*server, kLast, {}, SendMode::synchronous);
    demand(last && context->wait(*last, std::chrono::seconds(60)).code == ErrorCode::ok, "not said goodbye");
  }
  ::_exit(0);
}

class Server {
 public:
  Server() : context_(std::move(*Context::open())) {
    question_.resize(200'000);
    listen();
  }
  [[nodiscard]] Name name() const { return *context_.name(); }
  [[nodiscard]] Context& context() { return context_; }

  // Answers what has come; ends are counted.
  void serve() {
    if (const auto asked = context_.test(request_)) {
      const auto rank = static_cast<std::uint32_t>(asked->peer);
      if (asked->code == ErrorCode::ok && asked->tag == kLast) {
        ++goodbyes;
      } else if (asked->code == ErrorCode::ok) {
        Question head;
        std::memcpy(&head, question_.data(), sizeof head);
        const auto [known, first] = processes_.try_emplace(rank, head.process);
        EXPECT_EQ(known->second, head.process) << "two processes under rank " << rank;
        ++answered;
        answers_.push_back(
            {.data = {question_.begin(), question_.begin() + static_cast<std::ptrdiff_t>(asked->bytes)}});
        const auto sent = context_.send(asked->peer, kAnswer, answers_.back().data);
        if (sent)
          answers_.back().request = *sent;
        else
          answers_.pop_back(); // it has just gone
      }
      listen();
    }
    std::erase_if(answers_, [this](const Answer& answer) { return context_.test(answer.request).has_value(); });
    std::array<Event, 8> events;
    const std::size_t count = context_.poll(events);
    for (const Event& event : std::span(events).first(count)) {
      const auto rank = static_cast<std::uint32_t>(event.completion.peer);
      EXPECT_TRUE(ended_.insert(rank).second) << "told twice of rank " << rank;
      if (event.kind == Event::Kind::peer_failed) ++deaths;
      if (event.kind == Event::Kind::peer_left) ++departures;
      EXPECT_TRUE(event.kind == Event::Kind::peer_failed || event.kind == Event::Kind::peer_left);
      EXPECT_TRUE(context_.remove_peer(event.completion.peer));
    }
  }
  template <typename Done>
  bool serve_until(Done done) {
    const auto end = Clock::now() + std::chrono::seconds(60);
    while (!done()) {
      if (Clock::now() > end) return false;
      serve();
    }
    return true;
  }
  [[nodiscard]] std::uint64_t figure(std::string_view name) const {
    for (const auto& figure : context_.figures())
      if (figure.name == name) return figure.value;
    return ~std::uint64_t{0};
  }

  std::uint64_t answered = 0;
  std::uint64_t goodbyes = 0;
  std::uint64_t deaths = 0;
  std::uint64_t departures = 0;

 private:
  struct Answer {
    std::vector<std::byte> data;
    Request request{};
  };
  void listen() {
    const auto posted = context_.receive({.source = kAnySource, .tag = Tag{0}, .mask = 0}, question_);
    ASSERT_TRUE(posted) << posted.error().message();
    request_ = *posted;
  }

  std::vector<std::byte> question_;
  std::list<Answer> answers_;
  std::map<std::uint32_t, std::uint64_t> processes_; // by rank
  std::set<std::uint32_t> ended_;
  Request request_{};
  Context context_;
};

pid_t start(const Name& name, std::uint64_t questions) {
  const pid_t child = ::fork();
  if (child == 0) ask(name, questions);
  return child;
}
int end_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(OpenProcesses, AreServedAndLeave) {
  Server server;
  std::vector<pid_t> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(start(server.name(), 40));
  EXPECT_TRUE(server.serve_until([&] { return server.departures == 6; })) << server.context().waiting_for();
  for (const pid_t client : clients) EXPECT_EQ(end_of(client), 0);
  EXPECT_EQ(server.answered, 240U);
  EXPECT_EQ(server.goodbyes, 6U);
  EXPECT_EQ(server.deaths, 0U);
}

TEST(OpenProcesses, DieAtAnyInstantAndTheOthersAreServed) {
  const char* chosen = std::getenv("TEST_SEED");
  const std::uint64_t seed = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("repeat with TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 dice(seed);
  const int rounds = std::getenv("LONG_TESTS") != nullptr ? 500 : 25;
  Server server;
  std::uint64_t killed = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const pid_t survivor = start(server.name(), 10);
    std::vector<pid_t> victims;
    for (std::uint64_t i = 1 + dice() % 3; i > 0; --i) victims.push_back(start(server.name(), 0));
    const auto instant = Clock::now() + std::chrono::microseconds(dice() % 20'000);
    server.serve_until([&] { return Clock::now() >= instant; });
    for (const pid_t victim : victims) ::kill(victim, SIGKILL);
    killed += victims.size();
    for (const pid_t victim : victims) end_of(victim);
    const std::uint64_t expected = static_cast<std::uint64_t>(round) + 1;
    EXPECT_TRUE(server.serve_until([&] { return server.departures == expected; })) << server.context().waiting_for();
    EXPECT_EQ(end_of(survivor), 0);
  }
  EXPECT_LE(server.deaths, killed) << "some had not come yet";
  EXPECT_GT(server.deaths, 0U);
  EXPECT_EQ(server.goodbyes, static_cast<std::uint64_t>(rounds));
  // Who died before it was seen is not told of. Those who were, soon: the rings of all are given back.
  EXPECT_TRUE(server.serve_until([&] { return server.figure("ring memory bytes") == 0; }))
      << server.figure("ring memory bytes");
}

// It is added, but nothing has been said to it when it closes its context and ends.
TEST(OpenProcesses, LeaveAndEndWithoutHavingBeenTalkedTo) {
  Server server;
  for (int round = 0; round < 20; ++round) {
    std::array<int, 2> names{};
    std::array<int, 2> leave{};
    ASSERT_EQ(::pipe(names.data()), 0);
    ASSERT_EQ(::pipe(leave.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      {
        const auto context = Context::open();
        demand(context.has_value(), "open");
        const auto bytes = context->name()->bytes();
        demand(::write(names[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "write");
        char go = 0;
        demand(::read(leave[0], &go, 1) == 1, "read");
      }
      ::_exit(0);
    }
    std::array<std::byte, Name::kBytes> bytes{};
    ASSERT_EQ(::read(names[0], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ASSERT_TRUE(server.context().add_peer(*Name::from_bytes(bytes)));
    ASSERT_EQ(::write(leave[1], "x", 1), 1);
    EXPECT_EQ(end_of(child), 0);
    const std::uint64_t expected = static_cast<std::uint64_t>(round) + 1;
    EXPECT_TRUE(server.serve_until([&] { return server.departures + server.deaths == expected; }));
    for (const int each : {names[0], names[1], leave[0], leave[1]}) ::close(each);
  }
  EXPECT_EQ(server.deaths, 0U);
}

TEST(OpenProcesses, AreTakenForTheirProcessNotForItsNumber) {
  Server server;
  const Name gone = [] {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto context = Context::open();
      demand(context.has_value(), "open");
      const auto bytes = context->name()->bytes();
      demand(::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "write");
      ::_exit(0); // without leaving
    }
    std::array<std::byte, Name::kBytes> bytes{};
    EXPECT_EQ(::read(ends[0], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return *Name::from_bytes(bytes);
  }();
  const auto added = server.context().add_peer(gone);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::unreachable) << added.error().message();
}

// An event loop hears of a death though nothing is under way.
TEST(OpenProcesses, DieAndAnEventLoopHearsOfIt) {
  auto context = Context::open();
  ASSERT_TRUE(context);
  const Name name = *context->name();
  const pid_t client = ::fork();
  if (client == 0) {
    auto own = Context::open();
    demand(own.has_value(), "open");
    const auto server = own->add_peer(name);
    demand(server.has_value(), "add");
    const auto sent = own->send_unsolicited(*server, Tag{1}, {});
    demand(sent && own->wait(*sent).code == ErrorCode::ok, "send");
    ::pause();
  }
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(::epoll_ctl(loop, EPOLL_CTL_ADD, *context->descriptor(), &wanted), 0);
  std::vector<Event::Kind> heard;
  while (heard.size() < 2) {
    std::array<Event, 4> events;
    const std::size_t count = context->poll(events);
    for (const Event& event : std::span(events).first(count)) {
      heard.push_back(event.kind);
      if (event.kind == Event::Kind::unsolicited_arrived) {
        context->release(event.unsolicited);
        ::kill(client, SIGKILL);
      }
    }
    if (count > 0 || !*context->ready_to_sleep()) continue;
    ASSERT_EQ(::epoll_wait(loop, &wanted, 1, 20'000), 1) << "slept through it";
  }
  EXPECT_EQ(heard, (std::vector{Event::Kind::unsolicited_arrived, Event::Kind::peer_failed}));
  ::waitpid(client, nullptr, 0);
  ::close(loop);
}

} // namespace
} // namespace heddle

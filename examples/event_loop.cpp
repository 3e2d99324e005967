// A server with an event loop of its own: rank 0 waits in one epoll for what clients ask it, and for a clock that ticks. It sleeps in
// between, and misses nothing. The others ask it for squares. heddle run -n 3 event_loop
#include <heddle/heddle.hpp>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <span>
#include <string>

namespace {

constexpr std::uint64_t kQuestions = 100; // of each client
constexpr heddle::Tag kAnswer{1};

int fail(const std::string& what) {
  std::cerr << "event_loop: " << what << '\n';
  return 1;
}

int watch(int loop, int descriptor) {
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = descriptor}};
  return ::epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &wanted);
}

int serve(heddle::Context& job) {
  const auto arrivals = job.descriptor();
  if (!arrivals) return fail(arrivals.error().message());
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  const int clock = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const itimerspec every_millisecond{.it_interval = {.tv_sec = 0, .tv_nsec = 1'000'000},
                                     .it_value = {.tv_sec = 0, .tv_nsec = 1'000'000}};
  ::timerfd_settime(clock, 0, &every_millisecond, nullptr);
  if (watch(loop, *arrivals) != 0 || watch(loop, clock) != 0) return fail("epoll watches nothing");

  std::uint64_t ticks = 0;
  for (std::uint64_t answered = 0; answered < kQuestions * (job.size() - 1) || ticks < 3;) {
    std::array<heddle::Event, 16> events;
    const std::size_t count = job.poll(events);
    for (const heddle::Event& event : std::span(events).first(count)) {
      if (event.kind != heddle::Event::Kind::unsolicited_arrived) continue; // a client that has left
      std::uint64_t number = 0;
      std::memcpy(&number, event.unsolicited.data, sizeof number);
      job.release(event.unsolicited);
      const std::uint64_t square = number * number;
      const auto sent = job.send(event.completion.peer, kAnswer, std::span(&square, 1));
      if (!sent || job.wait(*sent).code != heddle::ErrorCode::ok) return fail("an answer was not sent");
      ++answered;
    }
    if (count > 0) continue; // there may be more

    // Nothing is here, and what comes from now on makes the descriptor readable.
    const auto ready = job.ready_to_sleep();
    if (!ready) return fail(ready.error().message());
    if (!*ready) continue;
    std::array<epoll_event, 2> woken;
    const int many = ::epoll_wait(loop, woken.data(), static_cast<int>(woken.size()), -1);
    for (int i = 0; i < many; ++i) {
      std::uint64_t passed = 0;
      if (woken[static_cast<std::size_t>(i)].data.fd == clock && ::read(clock, &passed, sizeof passed) > 0)
        ticks += passed;
    }
  }
  std::cout << "answered " << kQuestions * (job.size() - 1) << " questions between ticks of a clock\n";
  ::close(clock);
  ::close(loop);
  return 0;
}

int ask(heddle::Context& job) {
  for (std::uint64_t number = 0; number < kQuestions; ++number) {
    std::uint64_t square = 0;
    const auto answer = job.receive({.source = heddle::Rank{0}, .tag = kAnswer}, std::span(&square, 1));
    const auto question = job.send_unsolicited(heddle::Rank{0}, {}, std::span(&number, 1));
    if (!answer || !question) return fail("the server is gone");
    if (job.wait(*question).code != heddle::ErrorCode::ok) return fail("the server is gone");
    if (job.wait(*answer).code != heddle::ErrorCode::ok || square != number * number) return fail("a wrong answer");
  }
  return 0;
}

} // namespace

int main() {
  auto job = heddle::Context::join();
  if (!job) return fail(job.error().message());
  return job->rank() == heddle::Rank{0} ? serve(*job) : ask(*job);
}

// Wrong calls, and joins that cannot work. First argument: which.
//   join [N]    joins, with at most N open files; prints "joined RANK of SIZE", or the error and ends with 2
//   arguments   calls with wrong arguments, in a job of 2
//   truncate    receives that are too small, in a job of 2
//   unmapped    a send from memory that is not all there, in a job of 2
//   rejoin      joins twice, leaves, and joins again, several times, in a job of 2
//   alone       rank 0 joins again, and rank 1 does not, in a job of 2
#include "tests/job/member.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace heddle::tests {
namespace {

int join(const char* open_files) {
  if (open_files != nullptr) { // lowered here: the program itself could not be loaded with so few
    const rlimit limit{.rlim_cur = number(open_files), .rlim_max = number(open_files)};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  const auto context = Context::join();
  if (!context) {
    say(context.error().message());
    return 2;
  }
  say("joined " + std::to_string(static_cast<std::uint32_t>(context->rank())) + " of " +
      std::to_string(context->size()));
  return 0;
}

template <typename T>
void demand_bad(const Result<T>& result, std::string_view part) {
  demand(!result, "a wrong call was taken: " + std::string(part));
  demand(result.error().code == ErrorCode::bad_argument, "another code: " + result.error().message());
  demand(result.error().message().find(part) != std::string::npos,
         "'" + result.error().message() + "' lacks '" + std::string(part) + "'");
}

// Something still works after a fault.
void exchange(Context& context) {
  const Rank other{1 - static_cast<std::uint32_t>(context.rank())};
  std::uint64_t in = 0;
  const std::uint64_t out = 77;
  const Request received = demand(context.receive({.source = other, .tag = Tag{5}}, Layout(&in, 8)), "receive");
  const Request sent = demand(context.send(other, Tag{5}, ConstLayout(&out, 8)), "send");
  demand(context.wait(received).code == ErrorCode::ok && context.wait(sent).code == ErrorCode::ok && in == out,
         "a message after a fault is wrong");
}

// Each says what is wrong with it.
void wrong_atomics(Context& context) {
  OneSided& one_sided = context.one_sided();
  constexpr AreaId kArea{1};
  constexpr AreaId kLock{2};
  demand(one_sided.allocate(kArea, 64), "allocate");
  demand(one_sided.create_lock(kLock), "create_lock");
  demand(context.barrier(), "barrier");
  const Rank other{1 - static_cast<std::uint32_t>(context.rank())};
  for (int round = 0; round < 2; ++round) { // the first asks for the key
    demand_bad(one_sided.atomic({other, kArea, 4}, Atomic::add(1)), "not a multiple of the word's 8 bytes");
    demand_bad(one_sided.atomic({other, kArea, 0}, Atomic::add(1, 3)), "4 or 8 bytes, not 3");
    demand_bad(one_sided.atomic({other, kArea, 0}, {static_cast<Atomic::Kind>(99), 1, 0, 8}), "kind 99");
    demand_bad(one_sided.atomic({other, kLock, 0}, Atomic::add(1)), "the area is a lock");
    demand_bad(one_sided.atomic({Rank{9}, kArea, 0}, Atomic::add(1)), "rank 9 is outside the job of 2 processes");
    const auto beyond = one_sided.atomic({other, kArea, 64}, Atomic::add(1));
    demand(!beyond && beyond.error().code == ErrorCode::out_of_range &&
               beyond.error().fact.find("beyond the end of the area") != std::string::npos,
           "an atomic operation behind the end");
  }
  demand(context.barrier(), "barrier");
}

void use_moved_pattern(Context& context) {
  Pattern pattern = demand(Pattern::create(context), "pattern");
  const Pattern moved = std::move(pattern);
  std::array<std::byte, 8> memory{};
  const std::string_view why = "was moved to another object";
  demand_bad(pattern.send(Rank{0}, Tag{1}, memory), why); // NOLINT(bugprone-use-after-move): that is the point
  demand_bad(pattern.receive(Rank{0}, Tag{1}, memory), why);
  demand_bad(pattern.put(Rank{0}, Tag{1}, 0, memory), why);
  demand_bad(pattern.expose(Tag{1}, memory), why);
  demand_bad(pattern.start_compile(), why);
  demand_bad(pattern.compile(), why);
  demand_bad(pattern.start(), why);
  demand_bad(pattern.wait(), why);
  demand_bad(pattern.free(), why);
  demand(pattern.error().has_value() && !pattern.running() && pattern.incomplete().empty() && pattern.plan().empty(),
         "a pattern that was moved from has something to tell");
}

int arguments() {
  Context context = demand(Context::join(), "join");
  std::array<std::byte, 8> memory{};
  demand_bad(context.send(Rank{2}, Tag{1}, memory), "rank 2 is outside the job of 2 processes");
  demand_bad(context.send(Rank{0x7fff'ffff}, Tag{1}, memory), "outside the job");
  demand_bad(context.send(kAnySource, Tag{1}, memory), "outside the job");
  demand_bad(context.send(Rank{1}, Tag{1}, memory, static_cast<SendMode>(9)), "send mode 9 does not exist");
  demand_bad(context.send_unsolicited(Rank{2}, Tag{1}, memory), "outside the job");
  demand_bad(context.receive({.source = Rank{2}}, memory), "outside the job");
  demand_bad(context.receive({.tag = Tag{0x10}, .mask = 0xf}, memory), "it can match nothing");
  demand_bad(context.probe({.source = Rank{9}}), "outside the job");
  demand_bad(context.probe({.tag = Tag{1}, .mask = 0}), "it can match nothing");
  demand_bad(context.matched_probe({.tag = Tag{1}, .mask = 0}), "it can match nothing");
  demand_bad(context.why(Rank{2}, 8), "outside the job");
  demand_bad(context.receive_matched({}, memory), "never reserved");
  demand(context.wait(Request{.name = (std::uint64_t{9} << 32U) + 12345}).code == ErrorCode::stale_request,
         "a stale request");
  demand(!context.cancel(Request{.name = (std::uint64_t{9} << 32U) + 12345}), "a stale request was cancelled");
  context.release(UnsolicitedMessage{.data = nullptr, .bytes = 0, .handle = 99});
  exchange(context);
  wrong_atomics(context);
  use_moved_pattern(context);
  demand(context.barrier(), "barrier");
  demand(figure(context, "operations under way") == 0, "something is left");
  return 0;
}

// For every way a message can travel, a receive of half its size; the message behind it is whole.
int truncate() {
  Context context = demand(Context::join(), "join");
  const bool sends = context.rank() == Rank{0};
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{5000}, std::uint64_t{1} << 20U}) {
    std::vector<std::byte> memory(bytes, sends ? std::byte{0x5a} : std::byte{0});
    if (sends) {
      for (const SendMode mode : {SendMode::standard, SendMode::synchronous})
        for (int i = 0; i < 2; ++i) {
          const Request sent = demand(context.send(Rank{1}, Tag{3}, memory, mode), "send");
          demand(context.wait(sent).code == ErrorCode::ok, "a send that was cut at the receiver failed");
        }
      continue;
    }
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t room = bytes / 2;
      std::ranges::fill(memory, std::byte{0});
      const Request cut =
          demand(context.receive({.source = Rank{0}, .tag = Tag{3}}, Layout(memory.data(), room)), "cut");
      const Completion completion = context.wait(cut);
      demand(completion.code == ErrorCode::truncated, "it was not said to be cut");
      demand(completion.bytes == room && completion.message_bytes == bytes, "the sizes of a cut message are wrong");
      demand(std::count(memory.begin(), memory.end(), std::byte{0x5a}) == static_cast<std::ptrdiff_t>(room),
             "another part was delivered");
      const Request whole = demand(context.receive({.source = Rank{0}, .tag = Tag{3}}, memory), "whole");
      demand(context.wait(whole).code == ErrorCode::ok, "the message behind a cut one is wrong");
      demand(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{0x5a}; }),
             "the message behind a cut one is not intact");
    }
  }
  demand(context.barrier(), "barrier");
  return 0;
}

// A send from memory whose last page is missing ends in an error at both ends, and nothing else does.
int unmapped() {
  Context context = demand(Context::join(), "join");
  constexpr std::size_t kBytes = 1 << 20;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const bool sends = context.rank() == Rank{0};
  exchange(context);
  // Otherwise the sender's own processor reads the memory, and the program ends.
  if (demand(context.why(Rank{sends ? 1U : 0U}, kBytes), "why").name != "rendezvous by read") return 0;
  Request request;
  std::vector<std::byte> into(sends ? 0 : kBytes);
  if (sends) {
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    demand(memory != MAP_FAILED && ::munmap(static_cast<std::byte*>(memory) + kBytes - page, page) == 0, "no memory");
    request = demand(context.send(Rank{1}, Tag{4}, ConstLayout(memory, kBytes)), "send");
  } else {
    request = demand(context.receive({.source = Rank{0}, .tag = Tag{4}}, into), "receive");
  }
  const ErrorCode code = context.wait(request).code;
  demand(code == ErrorCode::system_failed,
         (sends ? "the send ended with " : "the receive ended with ") + std::string(to_string(code)));
  exchange(context);
  demand(context.barrier(), "barrier");
  return 0;
}

int rejoin() {
  constexpr AreaId kArea{1};
  for (std::uint64_t time = 0; time < 5; ++time) {
    Context context = demand(Context::join(), "join");
    const auto again = Context::join();
    demand(!again && again.error().code == ErrorCode::already_joined, "a second join was taken");
    if (time == 0) say(again.error().message());
    exchange(context);
    const Rank other{1 - static_cast<std::uint32_t>(context.rank())};
    const auto area = demand(context.one_sided().allocate(kArea, 8), "allocate");
    demand(context.barrier(), "barrier");
    demand(context.one_sided().push({other, kArea, 0}, time) == ErrorCode::ok, "push");
    demand(context.barrier(), "barrier");
    std::uint64_t got = 99;
    std::memcpy(&got, area.data(), sizeof got);
    demand(got == time, "what was pushed belongs to another time");
    if (time % 2 == 1 && context.rank() == Rank{1}) ::sched_yield(); // who leaves first joins first, or not
  }
  return 0;
}

int alone() {
  {
    Context context = demand(Context::join(), "join");
    exchange(context);
    demand(context.barrier(), "barrier");
    if (context.rank() == Rank{1}) return 0;
  }
  const auto again = Context::join();
  demand(!again, "a process joined a job that another has left for good");
  say(again.error().message());
  return 0;
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "join") return join(argc > 2 ? argv[2] : nullptr);
  if (what == "arguments") return arguments();
  if (what == "truncate") return truncate();
  if (what == "unmapped") return unmapped();
  if (what == "rejoin") return rejoin();
  if (what == "alone") return alone();
  give_up("arguments: join, arguments, truncate, unmapped, rejoin or alone");
}

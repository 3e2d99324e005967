// What a process leaves behind that leaves with something under way; the argument says with what.
#include "tests/job/member.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace heddle::tests {
namespace {

using namespace std::chrono_literals;

constexpr std::byte kSent{0x55};
constexpr std::byte kReused{0xee};
constexpr Tag kTag{1};

bool all(const std::vector<std::byte>& memory, std::byte value) {
  return std::ranges::all_of(memory, [value](std::byte byte) { return byte == value; });
}

// Rank 1 leaves while a large message is being copied into its memory, by both of them: nothing is written there afterwards.
void receive(std::optional<Context> context) {
  std::vector<std::byte> memory((256U << 20U) / kSlowdown, kSent);
  demand(context->barrier(), "barrier");
  if (context->rank() == Rank{0}) {
    const auto request = context->send(Rank{1}, kTag, memory);
    const ErrorCode code = request ? context->wait(*request, 30s).code : request.error().code;
    demand(code == ErrorCode::ok || code == ErrorCode::peer_left,
           "the send ended with " + std::string(to_string(code)));
    return;
  }
  const Request request = demand(context->receive({.source = Rank{0}, .tag = kTag}, memory), "receive");
  static_cast<void>(context->wait(request, 5ms)); // as far as it gets
  context.reset();
  std::ranges::fill(memory, kReused);
  std::this_thread::sleep_for(200ms);
  demand(all(memory, kReused), "memory was written to after leaving");
}

// Rank 0 leaves while its message waits to be fetched, and uses its memory otherwise: rank 1 may not take that for the message.
void send(std::optional<Context> context) {
  std::vector<std::byte> memory(16U << 20U, kSent);
  demand(context->barrier(), "barrier");
  if (context->rank() == Rank{0}) {
    const Request request = demand(context->send(Rank{1}, kTag, memory), "send");
    for (int i = 0; i < 1000; ++i) static_cast<void>(context->test(request));
    context.reset();
    std::ranges::fill(memory, kReused);
    std::this_thread::sleep_for(2s);
    return;
  }
  std::this_thread::sleep_for(500ms);
  std::ranges::fill(memory, std::byte{0});
  const auto request = context->receive({.source = Rank{0}, .tag = kTag}, memory);
  const ErrorCode code = request ? context->wait(*request, 30s).code : request.error().code;
  // Whole where rank 0 was so slow that it had not left yet.
  demand(code == ErrorCode::peer_left || (code == ErrorCode::ok && all(memory, kSent)),
         "the receive ended with " + std::string(to_string(code)));
}

// Rank 1 has left; rank 0 hears of it although messages go to and fro between it and rank 2 all the time.
void busy(std::optional<Context> context) {
  demand(context->barrier(), "barrier");
  if (context->rank() == Rank{1}) return;
  const Rank other{context->rank() == Rank{0} ? 2U : 0U};
  std::uint64_t never = 0;
  auto from_it = context->rank() == Rank{0}
                     ? context->receive({.source = Rank{1}, .tag = kTag}, std::as_writable_bytes(std::span(&never, 1)))
                     : Result<Request>(Request{});
  const std::uint64_t end = machine_ns() + 20'000'000'000;
  std::uint64_t out = 0; // 1: it has ended
  while (out == 0 && machine_ns() < end) {
    std::uint64_t in = 0;
    const Request coming =
        demand(context->receive({.source = other, .tag = kTag}, std::as_writable_bytes(std::span(&in, 1))), "receive");
    if (context->rank() == Rank{0}) out = !from_it || context->test(*from_it) ? 1 : 0;
    const Request going = demand(context->send(other, kTag, out), "send");
    demand(context->wait(going).code == ErrorCode::ok, "the traffic ended");
    demand(context->wait(coming, 10s).code == ErrorCode::ok, "the traffic ended");
    if (context->rank() == Rank{2}) out = in;
  }
  demand(out == 1, "the receive from the one that left has not ended");
}

// What a child of fork calls is refused, also what it asks of operations that the parent has under way.
void call_in_child(Context& context, Request pending, const Tracker& locked) {
  std::array<std::byte, 8> word{};
  std::array<Event, 4> events;
  const auto refused = [](ErrorCode code, const std::string& what) {
    demand(code == ErrorCode::bad_argument, what + " in a child: " + std::string(to_string(code)));
  };
  const auto code_of = [](const auto& result) { return result ? ErrorCode::ok : result.error().code; };
  refused(code_of(context.send(Rank{1}, kTag, word)), "send");
  refused(code_of(context.send_unsolicited(Rank{1}, kTag, word)), "send_unsolicited");
  refused(code_of(context.receive({.tag = kTag}, word)), "receive");
  refused(code_of(context.probe({.tag = kTag})), "probe");
  refused(code_of(context.start_barrier()), "start_barrier");
  refused(code_of(context.barrier()), "barrier");
  refused(context.test(pending).value_or(Completion{}).code, "test");
  refused(context.wait(pending).code, "wait");
  refused(context.wait(pending, 1s).code, "wait with a limit");
  refused(context.wait_all(std::array{pending}), "wait_all");
  demand(!context.cancel(pending), "a child cancelled a receive");
  demand(context.poll(events) == 0 && context.wait_events(events, 60s) == 0, "events in a child");
  OneSided& one_sided = context.one_sided();
  refused(one_sided.push({Rank{1}, AreaId{1}, 0}, word), "push");
  refused(one_sided.pull({Rank{1}, AreaId{1}, 0}, word), "pull");
  refused(code_of(one_sided.atomic({Rank{1}, AreaId{1}, 0}, Atomic::add(1))), "atomic");
  refused(one_sided.unlock(Rank{1}, AreaId{2}), "unlock");
  refused(one_sided.wait(locked), "wait for a lock");
  Tracker tracker;
  one_sided.lock(Rank{1}, AreaId{3}, tracker);
  refused(tracker.code(), "lock");
  refused(code_of(one_sided.allocate(AreaId{9}, 64)), "allocate");
  refused(code_of(Pattern::create(context)), "a pattern");
  const auto error = context.barrier();
  demand(error.error().message().find("forked by rank 0") != std::string::npos, error.error().message());
}

// Children of rank 0 end by returning, with a copy of the context, and by calling all there is: rank 0 goes on as a member.
void fork(std::optional<Context> context) {
  OneSided& one_sided = context->one_sided();
  demand(one_sided.allocate(AreaId{1}, 64), "allocate");
  demand(one_sided.create_lock(AreaId{2}), "create_lock");
  demand(one_sided.create_lock(AreaId{3}), "create_lock");
  demand(context->barrier(), "barrier");
  const bool first = context->rank() == Rank{0};
  std::uint64_t word = 0;
  const Request pending = demand(context->receive({.tag = kTag}, Layout(&word, 8)), "receive");
  Tracker locked;
  if (first) {
    one_sided.lock(Rank{1}, AreaId{2}, locked);
    for (const bool calls : {false, true}) {
      const pid_t child = ::fork();
      if (child == 0) {
        if (calls) call_in_child(*context, pending, locked);
        return;
      }
      int status = 0;
      demand(::waitpid(child, &status, 0) == child && status == 0, "the child ended badly");
    }
    demand(one_sided.wait(locked) == ErrorCode::ok, "lock");
    demand(one_sided.unlock(Rank{1}, AreaId{2}) == ErrorCode::ok, "unlock");
  }
  const std::uint64_t out = 7;
  demand(context->wait(demand(context->send(first ? Rank{1} : Rank{0}, kTag, ConstLayout(&out, 8)), "send")).code ==
             ErrorCode::ok,
         "send after the fork");
  demand(context->wait(pending).code == ErrorCode::ok && word == 7, "receive after the fork");
  demand(context->barrier(), "barrier after the fork");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  demand(argc == 2, "usage: leaving_program receive|send|busy|fork");
  const std::string_view what = argv[1];
  std::optional context(demand(heddle::Context::join(), "join"));
  if (what == "receive") receive(std::move(context));
  if (what == "send") send(std::move(context));
  if (what == "busy") busy(std::move(context));
  if (what == "fork") fork(std::move(context));
}

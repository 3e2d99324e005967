// Locks between the processes of a job. Arguments: "share SECONDS" prints how often each process got the lock;
// "kill" goes on until one process has been killed and those that are left have each had the lock again many times, "kill try"
// by trying it;
// "kinds" takes the lock for memory and memory for a lock.
#include "tests/job/member.hpp"

#include <heddle/onesided.hpp>

#include <array>
#include <cstring>
#include <string>

namespace heddle::tests {
namespace {

constexpr AreaId kLock{1};
constexpr AreaId kData{2};
constexpr Rank kHome{0};

// Who is inside, and a pair of words that are equal whenever nobody is.
struct Guarded {
  std::uint64_t inside = 0; // rank + 1
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};

class Member {
 public:
  explicit Member(Context& context) : context_(context), one_sided_(context.one_sided()) {
    if (context.rank() == kHome) {
      demand(one_sided_.create_lock(kLock), "create_lock");
      demand(one_sided_.allocate(kData, sizeof(Guarded) + 8), "allocate");
    }
    demand(context.barrier(), "barrier");
  }

  // Takes the lock, checks that nobody else has it, changes what it guards. True: the holder before has died.
  bool enter_and_leave() {
    ErrorCode code = ErrorCode::lock_busy;
    while (code == ErrorCode::lock_busy)
      code = tries ? one_sided_.try_lock(kHome, kLock) : one_sided_.lock(kHome, kLock);
    demand(code == ErrorCode::ok || code == ErrorCode::holder_died, "lock: " + std::string(to_string(code)));
    Guarded guarded = read();
    const bool whole = guarded.inside == 0 && guarded.left == guarded.right;
    demand(whole || code == ErrorCode::holder_died,
           "rank " + std::to_string(guarded.inside - 1) + " is inside too, and nobody has died");
    guarded.inside = static_cast<std::uint64_t>(context_.rank()) + 1;
    guarded.right = guarded.left; // mends what the dead has left
    write(guarded);
    ++guarded.left;
    write(guarded);
    demand(read().inside == guarded.inside, "another process came in");
    guarded.inside = 0;
    guarded.right = guarded.left;
    write(guarded);
    demand(one_sided_.unlock(kHome, kLock) == ErrorCode::ok, "unlock");
    return code == ErrorCode::holder_died;
  }

  bool tries = false; // instead of waiting for it

 private:
  Guarded read() {
    Guarded guarded;
    demand(one_sided_.pull({kHome, kData, 0}, std::as_writable_bytes(std::span(&guarded, 1))) == ErrorCode::ok, "pull");
    return guarded;
  }
  void write(const Guarded& guarded) {
    demand(one_sided_.push({kHome, kData, 0}, std::as_bytes(std::span(&guarded, 1))) == ErrorCode::ok, "push");
  }

  Context& context_;
  OneSided& one_sided_;
};

// Counts from when all compete: on few cores the first may run long before the last has started.
void share(Context& context, double seconds) {
  Member member(context);
  const Place competing{kHome, kData, sizeof(Guarded)};
  demand(context.one_sided().atomic(competing, Atomic::add(1)), "atomic");
  while (demand(context.one_sided().atomic(competing, Atomic::add(0)), "atomic") < context.size())
    member.enter_and_leave();
  const std::uint64_t end = machine_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  std::uint64_t times = 0;
  for (; machine_ns() < end; ++times) member.enter_and_leave();
  demand(context.barrier(), "barrier");
  say("rank " + std::to_string(static_cast<std::uint32_t>(context.rank())) + " had it " + std::to_string(times));
}

void outlive(Context& context, bool by_trying) {
  const std::string rank = std::to_string(static_cast<std::uint32_t>(context.rank()));
  Member member(context);
  member.tries = by_trying;
  say("joined " + rank);
  bool told = false;
  for (int after = 0; after < 200;) {
    if (member.enter_and_leave()) say("rank " + rank + " was told by the lock");
    std::array<Event, 4> events;
    for (std::size_t i = context.poll(events); i-- > 0;) {
      if (events[i].kind == Event::Kind::peer_left) continue; // it was done before this one
      demand(events[i].kind == Event::Kind::peer_failed && !told, "an event of another kind, or twice");
      told = true;
      say("rank " + rank + " saw " + std::to_string(static_cast<std::uint32_t>(events[i].completion.peer)) +
          " fail at " + std::to_string(machine_ns()));
    }
    after += told ? 1 : 0;
  }
  // The home must stay until the others are done: a barrier would not wait, as one process is dead.
  const Place done{kHome, kData, sizeof(Guarded)};
  demand(context.one_sided().atomic(done, Atomic::add(1)), "atomic");
  std::array<Event, 1> none;
  while (context.rank() == kHome &&
         demand(context.one_sided().atomic(done, Atomic::add(0)), "atomic") + 1 < context.size())
    static_cast<void>(context.wait_events(none, std::chrono::milliseconds(1)));
}

// What is done to the wrong kind of area is refused, by whatever way, and changes nothing.
void mistake_kinds(Context& context) {
  Member member(context);
  OneSided& one_sided = context.one_sided();
  std::array<std::byte, 16> data{};
  data.fill(std::byte{0xff});
  const auto refused = [](ErrorCode code, const std::string& what) {
    demand(code == ErrorCode::bad_argument, what + " ended with " + std::string(to_string(code)));
  };
  for (int round = 0; round < 3; ++round) { // the first asks for the key
    refused(one_sided.push({kHome, kLock, 0}, data), "a push to a lock");
    refused(one_sided.pull({kHome, kLock, 0}, data), "a pull from a lock");
    const auto added = one_sided.atomic({kHome, kLock, 0}, Atomic::add(1));
    demand(!added, "a lock was added to");
    refused(added.error().code, "an addition to a lock");
    refused(one_sided.mcast(std::array{kHome}, kLock, 0, data), "an mcast to a lock");
    refused(one_sided.lock(kHome, kData), "taking memory as a lock");
    refused(one_sided.try_lock(kHome, kData), "trying memory as a lock");
    refused(one_sided.unlock(kHome, kData), "leaving memory as a lock");
    member.enter_and_leave();
  }
  demand(context.barrier(), "barrier");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 2) give_up("arguments: share SECONDS, kill [try], or kinds");
  const std::string what = argv[1];
  say("pid " + std::to_string(::getpid()) + " of rank " + std::getenv("HEDDLE_RANK") + " at " +
      std::getenv("HEDDLE_STORE"));
  heddle::Context context = demand(heddle::Context::join(), "join");
  if (what == "share")
    share(context, std::strtod(argv[2], nullptr));
  else if (what == "kinds")
    mistake_kinds(context);
  else
    outlive(context, argc > 2);
  return 0;
}

// All meet and all but rank 0 leave. Rank 0 stays until their processes are gone, and says how many of them it was told had died.
// With the argument "stopped" it first waits for SIGUSR1, and says when the others have ended, though nobody has collected them.
// With "badly" the others leave, but their exit status is 3.
#include "tests/job/member.hpp"

#include <csignal>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

namespace heddle::tests {
namespace {

// "R", "Z" ...; empty where no such process is.
std::string state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? "" : text.substr(name_end + 2, 1);
}

class Host {
 public:
  explicit Host(Context& context) : context_(context), processes_(context.size()) {
    for (std::uint32_t rank = 1; rank < context.size(); ++rank) {
      const auto request = context.receive({.source = Rank{rank}}, Layout(&processes_[rank], sizeof(pid_t)));
      demand(context.wait(demand(request, "receive")).code == ErrorCode::ok, "a process id did not come");
    }
  }

  void wait_while_any(const char* states) {
    while (std::any_of(processes_.begin() + 1, processes_.end(), [states](pid_t process) {
      const std::string state = state_of(process);
      return !state.empty() && std::string_view(states).find(state) != std::string_view::npos;
    }))
      look(std::chrono::milliseconds(1));
  }

  void wait_for_deaths(std::size_t count) {
    while (deaths_ < count) look(std::chrono::seconds(60));
  }
  std::size_t deaths() {
    look(std::chrono::milliseconds(200)); // a false notice would be there by now; a late one would only be missed
    return deaths_;
  }

 private:
  void look(std::chrono::nanoseconds limit) {
    std::array<Event, 16> events;
    const std::size_t count = context_.wait_events(events, limit);
    for (std::size_t i = 0; i < count; ++i) deaths_ += events[i].kind == Event::Kind::peer_failed ? 1 : 0;
  }

  Context& context_;
  std::vector<pid_t> processes_; // by rank
  std::size_t deaths_ = 0;
};

// One that ends badly may be told of as dead before all have seen the barrier's end.
void meet(Context& context, bool badly) {
  const auto met = context.barrier();
  if (!met && badly && met.error().code == ErrorCode::peer_failed) return;
  demand(met, "barrier");
}

void wait_for_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  say("ready " + std::to_string(::getpid()));
  int number = 0;
  ::sigwait(&set, &number);
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  const bool badly = argc > 1 && std::string_view(argv[1]) == "badly";
  const bool stopped = argc > 1 && std::string_view(argv[1]) == "stopped";
  heddle::Context context = demand(heddle::Context::join(), "join");
  if (context.rank() != heddle::Rank{0}) {
    const pid_t own = ::getpid();
    const heddle::Request sent = demand(context.send(heddle::Rank{0}, heddle::Tag{0}, own), "send");
    demand(context.wait(sent).code == heddle::ErrorCode::ok, "the send failed");
    meet(context, badly);
    return badly ? 3 : 0;
  }
  Host host(context);
  if (stopped) wait_for_signal();
  meet(context, badly);
  if (stopped) {
    host.wait_while_any("RSDTt");
    say("ended");
  }
  host.wait_while_any("RSDTtZ");
  if (badly) host.wait_for_deaths(context.size() - 1);
  say("told of " + std::to_string(host.deaths()) + " deaths");
}

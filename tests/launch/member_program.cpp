// A member of a job for the launcher's tests: joins the store, says so on stdout, then does what its argument says.
//   leave          fences and leaves
//   hang           waits for a signal, having joined
//   notice         waits until it is told of a failed rank, prints it, leaves
//   get KEY RANK   waits for a key that RANK should put, prints the error
//   fail-after N   leaves in good order, then exits with status N
//   abort N        ends the whole job with status N
//   quit           exits with status 0 without leaving
//   give-up        says that it gives up, and exits with status 0
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/options.hpp"
#include "job/registry.hpp"
#include "launch/meeting.hpp"

namespace {

using heddle::store::Store;

heddle::base::Deadline soon() {
  return heddle::base::deadline_in(std::chrono::seconds(60));
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

int fail(const heddle::Error& error) {
  say(error.message());
  return 3;
}

int wait_for_notice(Store& store) {
  heddle::store::Notice notice;
  while (true) {
    const auto count = store.take_notices({&notice, 1});
    if (!count) return fail(count.error());
    if (*count == 1) break;
    std::this_thread::yield();
  }
  say("told of " + std::to_string(notice.rank));
  return 0;
}

int act(Store& store, int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "leave";
  if (what == "hang") {
    while (true) ::pause();
  }
  if (what == "quit") ::_exit(0);
  if (what == "abort" && argc == 3) {
    store.abort(std::atoi(argv[2]));
    ::_exit(std::atoi(argv[2]));
  }
  if (what == "give-up") return 0; // the store is closed without a goodbye in good order
  if (what == "notice") {
    if (const int status = wait_for_notice(store); status != 0) return status;
  }
  if (what == "get" && argc == 4) {
    const auto value = store.get(argv[2], std::strtol(argv[3], nullptr, 10), soon());
    say(value ? "got it" : value.error().message());
  }
  if (what == "leave") {
    if (const auto fenced = store.fence(soon()); !fenced) return fail(fenced.error());
  }
  if (const auto left = store.leave(); !left) return fail(left.error());
  return what == "fail-after" && argc == 3 ? std::atoi(argv[2]) : 0;
}

} // namespace

int main(int argc, char** argv) {
  const auto environment = heddle::base::Environment::of_process();
  const auto resolved = heddle::base::resolve({}, environment, {}, heddle::job::sections());
  if (!resolved) return fail(resolved.error());
  const auto identity = heddle::launch::detect(environment, resolved->settings);
  if (!identity) return fail(identity.error());
  auto admission = heddle::launch::enter_store(*identity, {}, soon());
  if (!admission) return fail(admission.error());
  Store& store = *admission->store;
  say("joined " + std::to_string(store.rank()) + " of " + std::to_string(store.size()) + " pid " +
      std::to_string(::getpid()));
  return act(store, argc, argv);
}

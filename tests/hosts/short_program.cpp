// A member of a job of three whose rank 0 has no descriptor left for a while: who is connected stays so, whoever is not cannot be reached,
// which is said with the remedy.
#include "tests/job/member.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace heddle::tests {
namespace {

constexpr Rank kNew{1}; // nobody talks to it before
constexpr Rank kKnown{2};

ErrorCode send(Context& context, Rank to, std::uint64_t word, std::string& why) {
  const auto sent = context.send(to, Tag{1}, ConstLayout(&word, sizeof word));
  if (sent) return context.wait(*sent).code;
  why = sent.error().message();
  return sent.error().code;
}

std::uint64_t receive(Context& context, Rank from) {
  std::uint64_t word = 0;
  const auto request = demand(context.receive({.source = from, .tag = Tag{1}}, Layout(&word, sizeof word)), "receive");
  demand(context.wait(request).code == ErrorCode::ok, "a receive ended otherwise");
  return word;
}

void exchange(Context& context, Rank with, std::uint64_t word) {
  std::string why;
  demand(send(context, with, word, why) == ErrorCode::ok, "a send to one that is connected: " + why);
  demand(receive(context, with) == word + 1, "a wrong answer");
}

void be_short(Context& context) {
  exchange(context, kKnown, 10);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(STDERR_FILENO);
  ::close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ::setrlimit(RLIMIT_NOFILE, &none);
  for (int tries = 0; tries < 3; ++tries) {
    std::string why;
    const ErrorCode code = send(context, kNew, 1, why);
    demand(code == ErrorCode::connection_lost,
           "without a descriptor a send ended with " + std::string(to_string(code)));
    demand(tries == 0 || why.find("ulimit -n") != std::string::npos, "the remedy is not said: " + why);
    exchange(context, kKnown, 20);
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  exchange(context, kKnown, 30);
  say("went on");
}

void serve(Context& context) {
  if (context.rank() == kNew) return demand(receive(context, kKnown) == 40, "a wrong word");
  std::string why;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t word = receive(context, Rank{0});
    demand(send(context, Rank{0}, word + 1, why) == ErrorCode::ok, "an answer: " + why);
  }
  demand(send(context, kNew, 40, why) == ErrorCode::ok, "a send between two that have descriptors: " + why);
}

} // namespace
} // namespace heddle::tests

int main() {
  using namespace heddle::tests;
  auto context = demand(heddle::Context::join(), "join");
  if (context.rank() == heddle::Rank{0})
    be_short(context);
  else
    serve(context);
  return 0;
}

// Joins a job; rank 0 says how long that took, from the first to the last. Argument: when the job was started, by machine_ns().
#include "tests/job/member.hpp"

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 2) give_up("arguments: start");
  const std::uint64_t begin = machine_ns();
  auto context = demand(heddle::Context::join(), "join");
  const std::uint64_t joined = machine_ns();
  demand(context.barrier(), "barrier");
  if (context.rank() == heddle::Rank{0})
    say("started after " + std::to_string((begin - number(argv[1])) / 1000) + " us, joined in " +
        std::to_string((joined - begin) / 1000) + " us, all have passed a barrier in " +
        std::to_string((machine_ns() - joined) / 1000) + " us");
  return 0;
}

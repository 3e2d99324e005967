// All others send to rank 0 at once, as their first words to it, and everybody leaves as soon as it is done. Arguments: messages
// that each sends, bytes of each. Who waits longer than can be explained by a busy machine gives up.
#include "tests/job/member.hpp"

#include <vector>

namespace heddle::tests {
namespace {

constexpr std::chrono::seconds kPatience{20};

void gather(Context& context, std::uint64_t messages, std::uint64_t bytes) {
  std::vector<std::byte> buffer(bytes);
  for (std::uint64_t i = 0; i < (context.rank() == Rank{0} ? messages * (context.size() - 1) : messages); ++i) {
    const auto request = context.rank() == Rank{0}
                             ? context.receive({.mask = 0}, Layout(buffer.data(), bytes))
                             : context.send(Rank{0}, Tag{i}, ConstLayout(buffer.data(), bytes), SendMode::synchronous);
    const Completion completion = context.wait(demand(request, "start"), kPatience);
    demand(completion.code == ErrorCode::ok,
           std::string(to_string(completion.code)) + " at " + std::to_string(i) + "\n" + context.waiting_for());
  }
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 3) give_up("arguments: messages bytes");
  heddle::Context context = demand(heddle::Context::join(), "join");
  gather(context, number(argv[1]), number(argv[2]));
  return 0;
}

// Passes so many barriers, and checks with each that nobody has passed it before all had come: everybody adds to a counter before, and
// looks at it after. Arguments: how many, and a file for the counter, which all map; without one, as between machines, it is a word of
// rank 0's that the network's atomics reach.
#include "tests/job/member.hpp"

#include <heddle/heddle.hpp>

#include <atomic>

#include <fcntl.h>
#include <sys/mman.h>

namespace heddle::tests {
namespace {

constexpr AreaId kArea{7};

std::uint64_t& shared_word(const char* path) {
  const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  demand(file >= 0 && ::ftruncate(file, 4096) == 0, "file");
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  demand(memory != MAP_FAILED, "mapping");
  return *static_cast<std::uint64_t*>(memory);
}

// `add` tells what the counter was before.
template <typename Add>
void pass(Context& context, std::uint64_t count, Add add) {
  for (std::uint64_t i = 1; i <= count; ++i) {
    add(1);
    demand(context.barrier(), "barrier");
    demand(add(0) >= i * context.size(), "passed too soon");
  }
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle;
  using namespace heddle::tests;
  if (argc < 2) give_up("arguments: barriers [file]");
  auto context = demand(Context::join(), "join");
  if (argc > 2) {
    std::atomic_ref counter(shared_word(argv[2]));
    pass(context, number(argv[1]), [&](std::uint64_t value) { return counter.fetch_add(value); });
    return 0;
  }
  demand(context.one_sided().allocate(kArea, 64), "area");
  demand(context.barrier(), "first barrier");
  pass(context, number(argv[1]), [&](std::uint64_t value) {
    return demand(context.one_sided().atomic({.peer = Rank{0}, .area = kArea, .offset = 0}, Atomic::add(value)),
                  "atomic");
  });
  demand(context.barrier(), "last barrier");
  demand(context.one_sided().close(kArea), "close");
  return 0;
}

// Passes so many barriers, and checks with each that nobody has passed it before all had come: everybody adds to a counter before, and
// looks at it after. Arguments: how many, and a file for the counter.
#include "tests/job/member.hpp"

#include <heddle/heddle.hpp>

#include <atomic>

#include <fcntl.h>
#include <sys/mman.h>

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 3) give_up("arguments: barriers file");
  auto context = demand(heddle::Context::join(), "join");
  const int file = ::open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  demand(file >= 0 && ::ftruncate(file, 4096) == 0, "file");
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  demand(memory != MAP_FAILED, "mapping");
  std::atomic_ref counter(*static_cast<std::uint64_t*>(memory));
  for (std::uint64_t i = 1; i <= number(argv[1]); ++i) {
    counter.fetch_add(1);
    demand(context.barrier(), "barrier");
    demand(counter.load() >= i * context.size(), "passed too soon");
  }
  return 0;
}

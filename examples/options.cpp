// Options in code: how a program sets them, what it is told when one is wrong, and what they change. What the code leaves open can be
// set in a file or in the environment (docs/options.md). A job of one process, started without a launcher: options
#include <heddle/error.hpp>
#include <heddle/heddle.hpp>
#include <heddle/options.hpp>
#include <heddle/version.hpp>

#include <cstdint>
#include <iostream>

int main() {
  std::cout << "heddle " << heddle::version() << '\n';
  heddle::Options options;
  options.single = true; // no launcher: a job of this process alone
  options.ring_bytes = 64 << 10;
  options.eager_limit = 32 << 10;

  // An error says what is wrong and what to do about it; a program can act on its code.
  const auto refused = heddle::Context::join(options);
  if (refused || refused.error().code != heddle::ErrorCode::bad_option) return 1;
  std::cout << "refused: " << refused.error().fact << "\nremedy: " << refused.error().remedy << '\n';

  options.eager_limit = 16 << 10;
  const auto job = heddle::Context::join(options);
  if (!job) {
    std::cerr << "options: " << job.error().message() << '\n';
    return 1;
  }
  for (const std::uint64_t bytes : {8U << 10U, 24U << 10U}) {
    const auto protocol = job->why(job->rank(), bytes);
    if (!protocol) return 1;
    std::cout << bytes << " bytes: " << protocol->name << ", because " << protocol->reason << '\n';
  }
  return 0;
}

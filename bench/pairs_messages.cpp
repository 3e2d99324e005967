// pairs_messages BYTES COUNT: so many messages of a process to itself, alone in its job (HEDDLE_SINGLE=true). bench/pairs counts what each costs.
#include <heddle/heddle.hpp>

#include <cstddef>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::vector<std::byte> out(std::strtoul(argv[1], nullptr, 10));
  std::vector<std::byte> in(out.size());
  auto job = heddle::Context::join();
  if (!job) return 1;
  for (unsigned long left = std::strtoul(argv[2], nullptr, 10); left > 0; --left) {
    const auto received = job->receive({.source = heddle::Rank{0}, .tag = heddle::Tag{1}}, in);
    const auto sent = job->send(heddle::Rank{0}, heddle::Tag{1}, out);
    if (!received || !sent) return 1;
    if (job->wait(*sent).code != heddle::ErrorCode::ok) return 1;
    if (job->wait(*received).bytes != in.size()) return 1;
  }
}

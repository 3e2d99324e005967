// Rank 1 leaves at once, rank 2 speaks late, and rank 0 waits for both: what only rank 1 could have completed ends, the rest goes
// on. Then ranks 0 and 2 meet in a barrier that rank 1 never reaches.
#include "tests/job/member.hpp"

#include <array>

namespace heddle::tests {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr Tag kNever{1};
constexpr Tag kLate{2};

void expect(ErrorCode expected, Result<Request> request, Context& context, const std::string& what) {
  // Refused at once where it had left before, ended later where it had not.
  const ErrorCode code = request ? context.wait(*request, kPatience).code : request.error().code;
  demand(code == expected, what + " ended with " + std::string(to_string(code)));
}

void wait_for_both(Context& context) {
  std::array<std::byte, 8> never{};
  std::array<std::byte, 8> late{};
  auto from_anyone = context.receive({.tag = kLate}, late);
  auto to_it = context.send(Rank{1}, kNever, never, SendMode::synchronous);
  expect(ErrorCode::peer_left, context.receive({.source = Rank{1}, .tag = kNever}, never), context, "the receive");
  expect(ErrorCode::peer_left, std::move(to_it), context, "the synchronous send");
  expect(ErrorCode::ok, context.send(Rank{2}, kLate, late), context, "the word to rank 2");
  expect(ErrorCode::ok, std::move(from_anyone), context, "the receive from anyone");
}

void answer_late(Context& context) {
  std::array<std::byte, 8> word{};
  expect(ErrorCode::ok, context.receive({.source = Rank{0}, .tag = kLate}, word), context, "the word of rank 0");
  expect(ErrorCode::ok, context.send(Rank{0}, kLate, word), context, "the answer");
}

} // namespace
} // namespace heddle::tests

int main() {
  using namespace heddle::tests;
  heddle::Context context = demand(heddle::Context::join(), "join");
  if (context.rank() == heddle::Rank{1}) return 0;
  if (context.rank() == heddle::Rank{0})
    wait_for_both(context);
  else
    answer_late(context);
  const auto met = context.barrier();
  demand(!met && met.error().code == heddle::ErrorCode::peer_left, "a barrier without rank 1 was completed");
  return 0;
}

// A token goes round the ring of processes while everyone reports to rank 0, which takes reports in whatever order they
// come: requests, waiting for several at once, and receiving from any source. heddle run -n 4 ring
#include <heddle/heddle.hpp>

#include <array>
#include <cstdint>
#include <iostream>
#include <vector>

namespace {

constexpr heddle::Tag kToken{1};
constexpr heddle::Tag kReport{2};

int fail(const heddle::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

// Passes the token on, one larger; rank 0 starts it. Returns what came in.
heddle::Result<std::uint64_t> pass_token(heddle::Context& job) {
  const auto rank = static_cast<std::uint32_t>(job.rank());
  const heddle::Rank before{(rank + job.size() - 1) % job.size()};
  const heddle::Rank after{(rank + 1) % job.size()};
  std::uint64_t in = 0;
  std::uint64_t out = 1;

  const auto receive = job.receive({.source = before, .tag = kToken}, in);
  if (!receive) return std::unexpected(receive.error());
  if (rank != 0) {
    if (const auto came = job.wait(*receive); came.code != heddle::ErrorCode::ok)
      return std::unexpected(heddle::Error{.code = came.code, .fact = "the token was lost"});
    out = in + 1;
  }
  const auto send = job.send(after, kToken, out);
  if (!send) return std::unexpected(send.error());
  std::vector<heddle::Request> open{*send};
  if (rank == 0) open.push_back(*receive); // a request is waited for once
  if (const heddle::ErrorCode code = job.wait_all(open); code != heddle::ErrorCode::ok)
    return std::unexpected(heddle::Error{.code = code, .fact = "the token was lost"});
  return in;
}

} // namespace

int main() {
  auto job = heddle::Context::join();
  if (!job) return fail(job.error());
  const auto token = pass_token(*job);
  if (!token) return fail(token.error());

  if (job->rank() != heddle::Rank{0}) {
    const auto report = job->send(heddle::Rank{0}, kReport, *token);
    if (!report) return fail(report.error());
    return job->wait(*report).code == heddle::ErrorCode::ok ? 0 : 1;
  }
  std::cout << "the token has passed " << *token << " processes\n";
  bool right = *token == job->size();
  for (std::uint32_t i = 1; i < job->size(); ++i) {
    std::uint64_t seen = 0;
    const auto report = job->receive({.source = heddle::kAnySource, .tag = kReport}, seen);
    if (!report) return fail(report.error());
    const heddle::Completion completion = job->wait(*report);
    right = right && seen == static_cast<std::uint32_t>(completion.peer); // the token counts ranks as it goes
  }
  std::cout << (right ? "every rank saw its turn\n" : "somebody saw a wrong token\n");
  return right ? 0 : 1;
}

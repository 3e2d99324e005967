// Random traffic against a model. All ranks draw the same plan from the seed: who sends what to whom with which tag, in rounds of up to 64
// messages. Receives are posted in another order, some for any source or any tag; each message says who sent it and its number in the
// plan, so that the receiver knows whether this one was due: of messages that match alike, the first sent.
#include "expect.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace {

struct Planned {
  int from, to, tag;
  std::size_t words;
};

std::uint64_t word(std::uint64_t number, std::size_t at) {
  return number * 0x9e3779b97f4a7c15ULL ^ at * 0xc2b2ae3d27d4eb4fULL;
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 60;
  if (rank == 0) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 plan(seed);
  for (int round = 0; round < rounds; ++round) {
    const bool any_tag = plan() % 4 == 0;
    const bool any_source = plan() % 3 == 0;
    std::vector<Planned> messages(1 + plan() % 64);
    for (Planned& each : messages) {
      each = {.from = static_cast<int>(plan() % size),
              .to = static_cast<int>(plan() % size),
              .tag = static_cast<int>(plan() % 3),
              .words = 0};
      const std::uint64_t kind = plan() % 10;
      each.words = 2 + (kind == 0 ? plan() % 100'000 : kind < 4 ? plan() % 9000 : plan() % 40);
    }
    std::vector<MPI_Request> sends;
    std::deque<std::vector<std::uint64_t>> outs;
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (messages[i].to == rank) mine.push_back(i);
    struct Posted {
      std::vector<std::uint64_t> in;
      int source, tag;
    };
    std::deque<Posted> posts;
    std::vector<MPI_Request> receives;
    std::vector<std::size_t> order = mine;
    std::mt19937_64 own(seed * 1000 + static_cast<std::uint64_t>(round * 64 + rank));
    std::ranges::shuffle(order, own);
    const auto post = [&] {
      for (const std::size_t i : order) {
        Posted& next = posts.emplace_back(Posted{.in = std::vector<std::uint64_t>(100'002),
                                                 .source = any_source ? MPI_ANY_SOURCE : messages[i].from,
                                                 .tag = any_tag ? MPI_ANY_TAG : messages[i].tag});
        MPI_Irecv(next.in.data(), 100'002, MPI_UINT64_T, next.source, next.tag, MPI_COMM_WORLD,
                  &receives.emplace_back());
      }
    };
    if (own() % 2 == 0) post();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (messages[i].from != rank) continue;
      auto& out = outs.emplace_back(messages[i].words);
      out[0] = i;
      for (std::size_t k = 1; k < out.size(); ++k) out[k] = word(i + 1, k);
      const auto send = own() % 4 == 0 ? MPI_Issend : MPI_Isend;
      send(out.data(), static_cast<int>(out.size()), MPI_UINT64_T, messages[i].to, messages[i].tag, MPI_COMM_WORLD,
           &sends.emplace_back());
    }
    if (receives.empty() && !order.empty()) post();
    std::vector<MPI_Status> statuses(receives.size());
    MPI_Waitall(static_cast<int>(receives.size()), receives.data(), statuses.data());
    std::vector<bool> got(messages.size(), false);
    for (std::size_t r = 0; r < posts.size(); ++r) {
      int count = 0;
      MPI_Get_count(&statuses[r], MPI_UINT64_T, &count);
      const std::uint64_t number = posts[r].in[0];
      EXPECT(number < messages.size());
      const Planned& planned = messages[number];
      EXPECT(planned.to == rank && planned.from == statuses[r].MPI_SOURCE && planned.tag == statuses[r].MPI_TAG);
      EXPECT(static_cast<std::size_t>(count) == planned.words && !got[number]);
      EXPECT(posts[r].source == MPI_ANY_SOURCE || posts[r].source == planned.from);
      EXPECT(posts[r].tag == MPI_ANY_TAG || posts[r].tag == planned.tag);
      for (std::size_t k = 1; k < planned.words; ++k) EXPECT(posts[r].in[k] == word(number + 1, k));
      // Nothing of the same sender that this receive accepts, and that was sent earlier, may come to a later one.
      for (std::size_t i = 0; i < number; ++i)
        EXPECT(messages[i].to != rank || messages[i].from != planned.from || got[i] ||
               (posts[r].tag != MPI_ANY_TAG && messages[i].tag != planned.tag));
      got[number] = true;
    }
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) std::puts("fine");
  MPI_Finalize();
}

// A member of a job that any launcher has started.
//   work SEED     random messages, all-to-alls and barriers with everybody; says "done RANK of SIZE on HOST"
//   die RANK      that rank kills itself; the others say "told of RANK" when they are, and leave
//   wait RANK     the same, but they wait for a message of that rank, with whom they have never talked
//   quit RANK     as die, but that rank ends with status 0, and does not leave
//   linger RANK   that rank kills itself; the others would not mind for an hour
//   orphan        says "ready RANK", and when it is told of the deaths of all others "alone RANK"
//   abort RANK N  that rank ends the job with status N; the others would wait for an hour
//   again-abort RANK N   the same in the second context of each, where the others never call Heddle again
//   early RANK    that rank kills itself before it joins; the others say how their join fails
//   hold FILE     says "ready RANK", and waits for FILE, which has the ranks that are to have failed by then, one after the other: waits until
//                 it is told of each, talks with all others and says so in FILE.RANK, too, since the launcher may lose its output
//   again         leaves and joins again, twice
//   words         joins, meets all, leaves; says by how many requests to the launcher
//   board         what every board must do (src/store/pinboard.hpp), on the launcher's own
//   time          joins and leaves; rank 0 says how long that took, in microseconds
#include "launch/meeting.hpp"
#include "store/memcached.hpp"
#include "store/pmix.hpp"
#include "tests/job/member.hpp"
#include "tests/launchers/tap.hpp"

#include "job/registry.hpp"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

// What libpmix, and what it loads, never gives back is not ours.
extern "C" {
const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
  return "leak:libpmix\nleak:libevent\nleak:libhwloc\nleak:pmix_mca";
}
}

namespace {

using heddle::Context;
using heddle::Event;
using heddle::Rank;
using heddle::Tag;
using heddle::tests::demand;
using heddle::tests::give_up;
using heddle::tests::number;
using heddle::tests::say;

std::uint32_t own_rank(const Context& context) {
  return static_cast<std::uint32_t>(context.rank());
}

Context join() {
  return demand(Context::join(), "join");
}

// What rank `from` sends to `to` in a round: its size and bytes are the same at both.
std::vector<std::uint32_t> message(std::uint64_t seed, std::uint32_t from, std::uint32_t to, std::uint32_t round) {
  std::mt19937_64 dice(seed ^ (std::uint64_t{from} << 40) ^ (std::uint64_t{to} << 20) ^ round);
  const std::size_t most = dice() % 16 == 0 ? 50'000 : 200;
  std::vector<std::uint32_t> words(dice() % most + 1);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(dice());
  return words;
}

void work(std::uint64_t seed) {
  Context job = join();
  const std::uint32_t self = own_rank(job);
  const std::uint32_t size = job.size();
  const std::uint32_t rounds = size > 16 ? 1 : 3;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::vector<std::vector<std::uint32_t>> out;
    std::vector<std::vector<std::uint32_t>> in;
    std::vector<heddle::Request> requests;
    for (std::uint32_t peer = 0; peer < size; ++peer) {
      in.emplace_back(message(seed, peer, self, round).size());
      out.push_back(message(seed, self, peer, round));
    }
    for (std::uint32_t peer = 0; peer < size; ++peer) {
      requests.push_back(demand(job.receive({.source = Rank{peer}, .tag = Tag{round}}, in[peer]), "receive"));
      requests.push_back(demand(job.send(Rank{peer}, Tag{round}, out[peer]), "send"));
    }
    demand(job.wait_all(requests) == heddle::ErrorCode::ok, "a message is lost");
    for (std::uint32_t peer = 0; peer < size; ++peer)
      demand(in[peer] == message(seed, peer, self, round), "a message of rank " + std::to_string(peer) + " is wrong");
    std::vector<std::uint32_t> to_all(size);
    std::iota(to_all.begin(), to_all.end(), self * size);
    std::vector<std::uint32_t> from_all(size);
    demand(job.alltoall(to_all, from_all), "alltoall");
    for (std::uint32_t peer = 0; peer < size; ++peer)
      demand(from_all[peer] == peer * size + self, "a block of rank " + std::to_string(peer) + " is wrong");
    demand(job.barrier(), "barrier");
  }
  say("done " + std::to_string(self) + " of " + std::to_string(size) + " on " +
      std::string(demand(job.host_name(job.rank()), "host")));
}

enum class Way : std::uint8_t { killed, quits };

void die(std::uint32_t victim, bool met, Way way) {
  Context job = join();
  if (met) static_cast<void>(job.barrier()); // whose end may come after the death of one that has passed it
  if (own_rank(job) == victim && way == Way::quits) ::_exit(0);
  if (own_rank(job) == victim) ::raise(SIGKILL);
  std::uint32_t word = 0;
  if (!met) {
    const auto request = job.receive({.source = Rank{victim}}, word);
    if (request) demand(job.wait(*request).code == heddle::ErrorCode::peer_failed, "a receive from the dead");
  }
  for (bool told = false; !told;) {
    std::vector<Event> events(8);
    events.resize(job.wait_events(events));
    for (const Event& event : events)
      told = told || (event.kind == Event::Kind::peer_failed && event.completion.peer == Rank{victim});
  }
  say("told of " + std::to_string(victim));
}

void do_not_mind(std::uint32_t victim) {
  Context job = join();
  demand(job.barrier(), "barrier");
  if (own_rank(job) == victim) ::raise(SIGKILL);
  std::this_thread::sleep_for(std::chrono::hours(1));
}

void orphan() {
  Context job = join();
  demand(job.barrier(), "barrier");
  say("ready " + std::to_string(own_rank(job)));
  std::set<std::uint32_t> failed;
  while (failed.size() + 1 < job.size()) {
    std::vector<Event> events(8);
    events.resize(job.wait_events(events));
    for (const Event& event : events)
      if (event.kind == Event::Kind::peer_failed) failed.insert(static_cast<std::uint32_t>(event.completion.peer));
  }
  say("alone " + std::to_string(own_rank(job)));
}

// The ranks in a file; nothing as long as there is none.
std::optional<std::set<std::uint32_t>> ranks_in(const std::string& file) {
  std::ifstream text(file);
  if (!text) return std::nullopt;
  std::set<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; text >> rank;) ranks.insert(rank);
  return ranks;
}

void hold(const std::string& file) {
  ::signal(SIGPIPE, SIG_IGN); // a launcher that ends takes nobody's output any more
  Context job = join();
  demand(job.barrier(), "barrier");
  const std::uint32_t self = own_rank(job);
  say("ready " + std::to_string(self));
  std::set<std::uint32_t> failed;
  std::optional<std::set<std::uint32_t>> expected;
  while (!expected || failed.size() < expected->size()) {
    std::vector<Event> events(8);
    events.resize(job.wait_events(events, std::chrono::milliseconds(20)));
    for (const Event& event : events)
      if (event.kind == Event::Kind::peer_failed) failed.insert(static_cast<std::uint32_t>(event.completion.peer));
    if (!expected) expected = ranks_in(file);
  }
  demand(failed == *expected, "told of the deaths of others");
  std::vector<std::uint32_t> in(job.size());
  std::vector<heddle::Request> requests;
  for (std::uint32_t peer = 0; peer < job.size(); ++peer) {
    if (failed.contains(peer)) continue;
    requests.push_back(demand(job.receive({.source = Rank{peer}, .tag = Tag{1}}, in[peer]), "receive"));
    requests.push_back(demand(job.send(Rank{peer}, Tag{1}, self), "send"));
  }
  demand(job.wait_all(requests) == heddle::ErrorCode::ok, "a message between those who live is lost");
  for (std::uint32_t peer = 0; peer < job.size(); ++peer)
    demand(failed.contains(peer) || in[peer] == peer, "a message is wrong");
  const std::string text = "held " + std::to_string(self) + " without " + std::to_string(failed.size());
  std::ofstream(file + "." + std::to_string(self)) << text << std::endl;
  say(text);
}

void abort_job(std::uint32_t who, int status) {
  Context job = join();
  demand(job.barrier(), "barrier");
  if (own_rank(job) == who) job.abort(status);
  std::vector<Event> events(8);
  const auto end = std::chrono::steady_clock::now() + std::chrono::hours(1);
  while (std::chrono::steady_clock::now() < end) static_cast<void>(job.wait_events(events, std::chrono::seconds(1)));
}

void abort_again(std::uint32_t who, int status) {
  demand(join().barrier(), "barrier");
  Context job = join();
  demand(job.barrier(), "barrier");
  if (own_rank(job) == who) job.abort(status);
  std::this_thread::sleep_for(std::chrono::hours(1));
}

// As the launcher says it: there is no context yet.
void early(std::uint32_t victim) {
  const auto environment = heddle::base::Environment::of_process();
  const auto options = demand(heddle::base::resolve({}, environment, {}, heddle::job::sections()), "options");
  if (demand(heddle::launch::detect(environment, options.settings), "launcher").rank == victim) ::raise(SIGKILL);
  const auto job = Context::join();
  demand(!job.has_value(), "a join without one of the ranks");
  say("not joined: " + job.error().message());
}

void again() {
  for (int i = 0; i < 3; ++i) {
    Context job = join();
    demand(job.barrier(), "barrier");
    say("time " + std::to_string(i) + " as " + std::to_string(own_rank(job)));
  }
}

void words() {
  heddle::tests::Tap tap;
  demand(join().barrier(), "barrier");
  say("words " + std::to_string(tap.requests()));
}

void time_join() {
  const std::uint64_t begin = heddle::tests::machine_ns();
  std::uint32_t rank = 0;
  {
    Context job = join();
    rank = own_rank(job);
  }
  if (rank == 0) say(std::to_string((heddle::tests::machine_ns() - begin) / 1000));
}

// --- the contract of boards ---

heddle::base::Deadline in_time() {
  return heddle::base::deadline_in(std::chrono::seconds(60));
}

std::unique_ptr<heddle::store::Pinboard> open_board() {
  const auto environment = heddle::base::Environment::of_process();
  const auto options = demand(heddle::base::resolve({}, environment, {}, heddle::job::sections()), "options");
  const auto identity = demand(heddle::launch::detect(environment, options.settings), "launcher");
  using heddle::launch::Meeting;
  if (identity.meeting == Meeting::pmi) return demand(heddle::store::Pmi::open(identity.pmi, in_time()), "PMI");
  if (identity.meeting == Meeting::pmix) return demand(heddle::store::Pmix::open(in_time()), "PMIx");
  demand(identity.meeting == Meeting::memcached, "a board was expected");
  return demand(heddle::store::Memcached::open({.address = identity.store.substr(heddle::store::kByMemcached.size()),
                                                .job = identity.job,
                                                .rank = identity.rank,
                                                .size = identity.size,
                                                .secret = identity.secret.value()},
                                               in_time()),
                "memcached");
}

heddle::store::Bytes note(std::uint32_t rank, std::size_t bytes, std::uint32_t edition) {
  heddle::store::Bytes value(bytes);
  for (std::size_t i = 0; i < bytes; ++i) value[i] = static_cast<std::byte>(i * 7 + rank + edition * 31);
  return value;
}

void board() {
  const auto board = open_board();
  const std::uint32_t self = board->rank();
  demand(self < board->size(), "a rank inside the job");
  const auto key = [](std::uint32_t rank, std::size_t bytes, std::uint32_t edition) {
    return "k-" + std::to_string(rank) + "." + std::to_string(bytes) + "-" + std::to_string(edition);
  };
  // Every byte there is, nothing at all, and more than any launcher takes at once; twice.
  const std::vector<std::size_t> sizes{0, 1, 447, 448, 900, heddle::store::kLargestNote};
  for (std::uint32_t edition = 0; edition < 2; ++edition) {
    for (const std::size_t bytes : sizes)
      demand(board->put(key(self, bytes, edition), note(self, bytes, edition), in_time()), "put");
    demand(board->fence(in_time()), "fence");
    for (const std::uint32_t peer : {self, (self + 1) % board->size(), board->size() - 1})
      for (const std::size_t bytes : sizes)
        demand(demand(board->get(key(peer, bytes, edition), in_time()), "get") == note(peer, bytes, edition),
               "the note " + key(peer, bytes, edition) + " is another");
    demand(board->fence(in_time()), "fence");
  }
  const auto absent = board->get("nobody", in_time());
  demand(!absent && absent.error().code == heddle::ErrorCode::bad_argument, "a note of nobody");
  demand(!board->put("a key", {}, in_time()) && !board->put("", {}, in_time()), "a wrong key");
  demand(!board->put("k", heddle::store::Bytes(heddle::store::kLargestNote + 1), in_time()), "a note too long");
  const auto placement = board->placement(in_time());
  board->leave(in_time());
  say("board " + std::to_string(self) + " of " + std::to_string(board->size()) + ", node '" + placement.node + "' of " +
      std::to_string(placement.nodes));
}

} // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto argument = [&](int i) { return argc > i ? number(argv[i]) : 0; };
  if (what == "work")
    work(argument(2));
  else if (what == "die" || what == "wait")
    die(static_cast<std::uint32_t>(argument(2)), what == "die", Way::killed);
  else if (what == "quit")
    die(static_cast<std::uint32_t>(argument(2)), true, Way::quits);
  else if (what == "linger")
    do_not_mind(static_cast<std::uint32_t>(argument(2)));
  else if (what == "orphan")
    orphan();
  else if (what == "abort")
    abort_job(static_cast<std::uint32_t>(argument(2)), static_cast<int>(argument(3)));
  else if (what == "hold")
    hold(argc > 2 ? argv[2] : "");
  else if (what == "again-abort")
    abort_again(static_cast<std::uint32_t>(argument(2)), static_cast<int>(argument(3)));
  else if (what == "early")
    early(static_cast<std::uint32_t>(argument(2)));
  else if (what == "again")
    again();
  else if (what == "words")
    words();
  else if (what == "board")
    board();
  else if (what == "time")
    time_join();
  else
    give_up("unknown argument '" + what + "'");
}

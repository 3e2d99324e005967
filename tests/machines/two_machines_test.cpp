// A job on two machines, as far as its processes can tell: those of one reach each other by shared memory, those of different ones by
// sockets, or by TCP, alone. Both networks serve one context at once.
#include "api/access.hpp"
#include "options_file/options_file.hpp"
#include "store/client.hpp"
#include "store/server.hpp"
#include "translators/contract/socket_network.hpp"
#include "translators/shm/shm.hpp"
#include "translators/tcp/tcp.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <numeric>

namespace heddle {
namespace {

using translators::contract::SocketNetwork;

constexpr std::uint32_t kProcesses = 4;
std::uint64_t machine_of(std::uint32_t rank) {
  return 1 + rank / 2;
}

// In a child: the reason on stderr, where the test's own output is.
void demand(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "child %d: %s\n", ::getpid(), what.c_str());
  ::_exit(1);
}
template <typename T>
T demand(Result<T> result, const std::string& what) {
  if (!result) demand(false, what + ": " + result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Place {
  std::uint32_t rank = 0;
  pid_t first = 0; // the process of rank 0; 0 there
  std::string store;
  std::string job;
  std::vector<base::Descriptor> sockets;
  std::string between; // the network between the machines
};

Context join(Place place) {
  ContextAccess::State::Entrance entrance;
  entrance.options = demand(base::resolve({}, {}), "options");
  entrance.store =
      demand(store::Client::connect({.address = place.store, .job = place.job, .rank = place.rank, .size = kProcesses},
                                    base::deadline_in(std::chrono::seconds(30))),
             "store");
  entrance.node = machine_of(place.rank);
  for (const std::string& name : {std::string("shm"), place.between}) {
    if (name == "tcp")
      entrance.owned_networks.push_back(
          demand(translators::Tcp::create({.rank = place.rank, .size = kProcesses}), "tcp"));
    else if (name == "sockets")
      entrance.owned_networks.push_back(std::make_unique<SocketNetwork>(place.rank, std::move(place.sockets)));
    else
      entrance.owned_networks.push_back(
          demand(translators::Shm::create(
                     {.rank = place.rank, .size = kProcesses, .node = entrance.node, .ring_memory = 4 << 20}),
                 "shared memory"));
    entrance.networks.push_back(entrance.owned_networks.back().get());
  }
  auto state = demand(ContextAccess::State::enter(std::move(entrance)), "enter");
  demand(state->meet(), "meet");
  return ContextAccess::make(std::move(state));
}

// Returns when the process sleeps in the kernel: whoever writes to it from now on must wake it.
void await_sleep(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  for (;;) {
    std::ifstream file(path);
    std::string text;
    demand(static_cast<bool>(std::getline(file, text)), "rank 0 has gone");
    if (text.substr(text.rfind(')') + 1, 2) == " S") return;
    ::sched_yield();
  }
}

// Runs the program in so many children and serves them; what each ended with.
std::vector<int> run(const std::string& between, const std::function<void(Place)>& program) {
  const std::string job = "machines-" + std::to_string(::getpid()); // so that runs side by side do not meet
  auto server = store::Server::start({.size = kProcesses, .job = job});
  if (!server) {
    ADD_FAILURE() << server.error().message();
    return {};
  }
  auto sockets = translators::contract::connect_all(kProcesses);
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<base::Descriptor> own = std::move(sockets[rank]);
      sockets.clear(); // the ends of the others, which only they may hold open
      program({.rank = rank,
               .first = rank == 0 ? 0 : children.front(),
               .store = (*server)->address(),
               .job = job,
               .sockets = std::move(own),
               .between = between});
      ::_exit(0);
    }
    children.push_back(child);
  }
  sockets.clear();
  std::vector<int> ends(kProcesses, -1);
  const auto over = [&] { return std::ranges::find(ends, -1) == ends.end(); };
  const auto deadline = base::deadline_in(std::chrono::seconds(60));
  while (!over() && base::Clock::now() < deadline) {
    (*server)->wait(base::deadline_in(std::chrono::milliseconds(5)));
    for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
      int status = 0;
      if (ends[rank] != -1 || ::waitpid(children[rank], &status, WNOHANG) != children[rank]) continue;
      ends[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      (*server)->hear_out(rank);
      if (ends[rank] != 0) (*server)->declare_failed(rank);
    }
  }
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank)
    if (ends[rank] == -1) {
      ::kill(children[rank], SIGKILL);
      ::waitpid(children[rank], nullptr, 0);
    }
  return ends;
}
const std::vector<int> kAllWell(kProcesses, 0);

std::vector<std::byte> content(std::uint32_t from, std::uint32_t to, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 + from * 31 + to);
  return made;
}

void exchange_with_all(Context& context, std::size_t bytes) {
  const auto own = static_cast<std::uint32_t>(context.rank());
  std::vector<std::vector<std::byte>> out;
  std::vector<std::vector<std::byte>> in(kProcesses, std::vector<std::byte>(bytes));
  std::vector<Request> requests;
  for (std::uint32_t peer = 0; peer < kProcesses; ++peer) {
    out.push_back(content(own, peer, bytes));
    requests.push_back(demand(context.receive({.source = Rank{peer}, .tag = Tag{bytes}}, in[peer]), "receive"));
  }
  for (std::uint32_t peer = 0; peer < kProcesses; ++peer)
    requests.push_back(demand(context.send(Rank{peer}, Tag{bytes}, out[peer]), "send"));
  for (const Request request : requests) demand(context.wait(request).code == ErrorCode::ok, "a message is lost");
  for (std::uint32_t peer = 0; peer < kProcesses; ++peer)
    demand(in[peer] == content(peer, own, bytes), "a message is not what was sent");
}

// By the network between the machines.
class TwoMachines : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Network, TwoMachines, testing::Values("sockets", "tcp"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(TwoMachines, ServeEachPairByTheFirstNetworkThatLeadsThere) {
  EXPECT_EQ(run(GetParam(),
                [](Place place) {
                  const std::uint32_t rank = place.rank;
                  const std::string between = place.between;
                  const Context context = join(std::move(place));
                  for (std::uint32_t peer = 0; peer < kProcesses; ++peer) {
                    const std::string by = demand(context.why(Rank{peer}, 8), "why").translator;
                    const std::string wanted =
                        peer == rank ? "loopback" : (machine_of(peer) == machine_of(rank) ? "shm" : between);
                    demand(by == wanted, "rank " + std::to_string(peer) + " is served by " + by);
                  }
                }),
            kAllWell);
}

TEST_P(TwoMachines, ExchangeMessagesOfAllSizesAndCollectives) {
  EXPECT_EQ(
      run(GetParam(),
          [](Place place) {
            Context context = join(std::move(place));
            for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{3000}, std::size_t{500'000}})
              exchange_with_all(context, bytes);
            demand(context.barrier(), "barrier");
            std::vector<std::byte> out(kProcesses * 1000);
            std::vector<std::byte> in(out.size());
            for (std::uint32_t peer = 0; peer < kProcesses; ++peer)
              std::ranges::copy(content(static_cast<std::uint32_t>(context.rank()), peer, 1000),
                                out.begin() + peer * 1000);
            demand(context.alltoall(out, in), "alltoall");
            for (std::uint32_t peer = 0; peer < kProcesses; ++peer)
              demand(std::ranges::equal(std::span(in).subspan(peer * 1000, 1000),
                                        content(peer, static_cast<std::uint32_t>(context.rank()), 1000)),
                     "a block is not what was sent");
            demand(context.barrier(), "barrier");
          }),
      kAllWell);
}

// Rank 0 sleeps on both networks; the others send one after the other, each only when rank 0 is asleep.
TEST_P(TwoMachines, WakeASleeperByEitherNetwork) {
  EXPECT_EQ(
      run(GetParam(),
          [](Place place) {
            const std::uint32_t rank = place.rank;
            const pid_t first = place.first;
            Context context = join(std::move(place));
            constexpr int kRounds = 20;
            std::uint64_t word = 0;
            for (int round = 0; round < kRounds; ++round) {
              for (std::uint32_t sender = 1; sender < kProcesses; ++sender) {
                if (rank == 0) {
                  const Request request =
                      demand(context.receive({.source = Rank{sender}, .tag = Tag{1}}, std::span(&word, 1)), "receive");
                  demand(context.wait(request, std::chrono::seconds(20)).code == ErrorCode::ok, "slept through it");
                } else if (rank == sender) {
                  await_sleep(first);
                  demand(context.wait(demand(context.send(Rank{0}, Tag{1}, std::span(&word, 1)), "send")).code ==
                             ErrorCode::ok,
                         "not sent");
                }
              }
            }
            demand(context.barrier(), "barrier");
          }),
      kAllWell);
}

// Rank 0 has an event loop of its own; the others send when it is asleep, at once after each other, or in between.
TEST_P(TwoMachines, AreHeardByAnEventLoop) {
  EXPECT_EQ(run(GetParam(),
                [](Place place) {
                  const std::uint32_t rank = place.rank;
                  const pid_t first = place.first;
                  Context context = join(std::move(place));
                  constexpr std::uint32_t kMessages = 300;
                  if (rank != 0) {
                    for (std::uint32_t i = 0; i < kMessages; ++i) {
                      if ((i + rank) % 8 == 0) await_sleep(first);
                      const std::uint64_t word = i;
                      const auto sent = demand(context.send_unsolicited(Rank{0}, Tag{i}, std::span(&word, 1)), "send");
                      demand(context.wait(sent).code == ErrorCode::ok, "not sent");
                    }
                    demand(context.barrier(), "barrier");
                    return;
                  }
                  const int loop = ::epoll_create1(0);
                  epoll_event wanted{.events = EPOLLIN, .data = {}};
                  demand(::epoll_ctl(loop, EPOLL_CTL_ADD, demand(context.descriptor(), "descriptor"), &wanted) == 0,
                         "epoll");
                  std::vector<std::uint32_t> heard(kProcesses);
                  std::array<Event, 8> events;
                  while (std::accumulate(heard.begin(), heard.end(), 0U) < kMessages * (kProcesses - 1)) {
                    const std::size_t count = context.poll(events);
                    for (const Event& event : std::span(events).first(count)) {
                      if (event.kind != Event::Kind::unsolicited_arrived) continue;
                      const auto from = static_cast<std::uint32_t>(event.completion.peer);
                      demand(static_cast<std::uint64_t>(event.completion.tag) == heard[from]++, "one is missing");
                      context.release(event.unsolicited);
                    }
                    if (count > 0 || !demand(context.ready_to_sleep(), "ready_to_sleep")) continue;
                    demand(::epoll_wait(loop, &wanted, 1, 20'000) == 1, "slept through a message");
                  }
                  demand(context.barrier(), "barrier");
                }),
            kAllWell);
}

TEST(Machines, SayWhyTheyCannotMeet) {
  const std::vector<int> ends = run("sockets", [](Place place) {
    const std::uint32_t rank = place.rank;
    auto refused = [&]() -> Result<void> {
      ContextAccess::State::Entrance entrance;
      entrance.options = demand(base::resolve({}, {}), "options");
      entrance.store =
          demand(store::Client::connect({.address = place.store, .job = place.job, .rank = rank, .size = kProcesses},
                                        base::deadline_in(std::chrono::seconds(30))),
                 "store");
      entrance.node = machine_of(rank);
      entrance.owned_networks.push_back(demand(
          translators::Shm::create({.rank = rank, .size = kProcesses, .node = entrance.node, .ring_memory = 4 << 20}),
          "shared memory"));
      entrance.networks.push_back(entrance.owned_networks.back().get());
      auto state = demand(ContextAccess::State::enter(std::move(entrance)), "enter");
      return state->meet();
    }();
    demand(!refused && refused.error().code == ErrorCode::unreachable, "they have met");
    const std::string message = refused.error().message();
    demand(message.find("no network leads to rank " + std::string(rank < 2 ? "2" : "0")) != std::string::npos &&
               message.find("shm: it is on another machine") != std::string::npos,
           message);
  });
  EXPECT_EQ(ends, kAllWell);
}

} // namespace
} // namespace heddle

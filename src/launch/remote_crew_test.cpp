// The launcher's side of agents that are played here: what they take, and when, is the test's to say.
#include "launch/remote_crew.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "auth/call.hpp"
#include "heddle/version.hpp"
#include "launch/agent.hpp"

namespace heddle::launch {
namespace {

namespace fs = std::filesystem;

// Standard output as a pipe that nobody reads, for as long as it lives: tests say nothing meanwhile.
class StuckOutput {
 public:
  StuckOutput() : before_(::dup(STDOUT_FILENO)), pipe_signal_(std::signal(SIGPIPE, SIG_IGN)) {
    std::fflush(stdout);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    far_ = base::Descriptor(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[1]);
  }
  StuckOutput(const StuckOutput&) = delete;
  StuckOutput& operator=(const StuckOutput&) = delete;
  ~StuckOutput() {
    ::dup2(before_.number(), STDOUT_FILENO);
    std::signal(SIGPIPE, pipe_signal_);
  }
  // Who still writes there is told that nobody reads it.
  void close() { far_.reset(); }

 private:
  base::Descriptor before_;
  void (*pipe_signal_)(int);
  base::Descriptor far_;
};

// A remote shell that leaves its ticket in a file, and stays for as long as the object.
class Shell {
 public:
  Shell() {
    std::string name = (fs::temp_directory_path() / "heddle-shell-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    std::ofstream(path()) << "#!/bin/sh\ncat >\"$0.new.$1\"\nmv \"$0.new.$1\" \"$0.$1\"\nexec cat <\"$0.hold\"\n";
    const std::string hold = path() + ".hold";
    if (::mkfifo(hold.c_str(), 0600) != 0) std::abort();
    hold_ = base::Descriptor(::open(hold.c_str(), O_RDWR | O_CLOEXEC));
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  ~Shell() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::string path() const { return folder_ / "shell"; }
  [[nodiscard]] std::optional<AgentTicket> ticket_of(const std::string& host) const {
    std::ifstream file(path() + "." + host);
    std::string line;
    std::getline(file, line);
    return AgentTicket::read(line + "\n");
  }
  void let_go() { hold_.reset(); }

 private:
  fs::path folder_;
  base::Descriptor hold_;
};

class RemoteCrewTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kHosts = 2;

  RemoteCrewTest() {
    job_.command = {"program"};
    job_.processes = kHosts;
    for (std::uint32_t i = 0; i < kHosts; ++i) job_.hosts.push_back({.name = name_of(i)});
    job_.shell = {"/bin/sh", shell_.path()};
    job_.agent = "heddle";
    ::sigemptyset(&mask_);
  }
  static std::string name_of(std::uint32_t host) { return "played-" + std::to_string(host); }
  // Serves the crew until it is so. False: that took too long.
  template <typename Question>
  static bool serve_until(RemoteCrew& crew, const Question& question) {
    const base::Deadline limit = base::deadline_in(std::chrono::seconds(30));
    while (!question()) {
      if (base::Clock::now() > limit) return false;
      pollfd entry{.fd = crew.descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, 1);
      crew.serve();
    }
    return true;
  }
  // All agents connect, and say who they are.
  bool connect_agents(RemoteCrew& crew) {
    for (std::uint32_t i = 0; i < kHosts; ++i) {
      std::optional<AgentTicket> ticket;
      if (!serve_until(crew, [&] { return (ticket = shell_.ticket_of(name_of(i))).has_value(); })) return false;
      std::atomic<bool> over = false;
      Result<base::Descriptor> socket;
      std::thread caller([&] {
        socket =
            auth::call(ticket->launcher, ticket->secret, kAgentService, base::deadline_in(std::chrono::seconds(30)));
        over = true;
      });
      const bool served = serve_until(crew, [&] { return over.load(); });
      caller.join();
      if (!served || !socket) return false;
      agents_.emplace_back(std::move(*socket)).send(AgentHello{.host = ticket->host, .version = version()}.encode());
    }
    return true;
  }

  Shell shell_;
  JobDescription job_;
  const auth::Secret secret_ = auth::Secret::draw();
  sigset_t mask_{};
  const base::Log log_{LogLevel::silent};
  std::list<Link> agents_;
};

TEST_F(RemoteCrewTest, OrdersLeaveAlsoWhileNobodyTakesWhatTheProcessesSay) {
  StuckOutput stuck;
  bool ordered = false;
  bool is_full = false;
  bool taken = false;
  {
    Output output(false);
    Variables variables; // more than the sockets hold
    for (int i = 0; i < 50; ++i) variables.emplace_back("VARIABLE_" + std::to_string(i), std::string(100'000, 'v'));
    RemoteCrew crew(job_, variables, secret_, mask_, output, log_);
    ordered = crew.start() && connect_agents(crew) &&
              serve_until(crew, [&] { return crew.runs(0) && crew.runs(kHosts - 1); });
    const std::string text(3 << 20, '\n');
    output.add(0, 1, std::as_bytes(std::span(text)));
    crew.serve();
    is_full = output.waiting() > (2 << 20);
    std::size_t orders = 0;
    taken = ordered && serve_until(crew, [&] {
              for (Link& agent : agents_) {
                agent.read();
                if (const auto frame = agent.next()) orders += StartOrder::decode(frame->body).has_value() ? 1 : 0;
              }
              return orders == kHosts;
            });
    agents_.clear();
    shell_.let_go();
    stuck.close();
  }
  EXPECT_TRUE(ordered);
  EXPECT_TRUE(is_full);
  EXPECT_TRUE(taken);
}

} // namespace
} // namespace heddle::launch

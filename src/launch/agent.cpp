#include "launch/agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <sstream>

#include "auth/call.hpp"
#include "base/number_text.hpp"
#include "heddle/version.hpp"
#include "launch/link.hpp"
#include "launch/local_crew.hpp"
#include "launch/pipes.hpp"
#include "launch/signals.hpp"

namespace heddle::launch {

namespace {

constexpr std::string_view kMark = "heddle-agent-1";
constexpr std::size_t kLongestTicket = 512;
constexpr std::chrono::seconds kPatience{30};            // for the ticket, and for the launcher to answer
constexpr std::chrono::milliseconds kBetweenLooks{1000}; // at whether the launcher's machine still answers
constexpr std::size_t kMostWaiting = 1 << 20;            // on its way to the launcher: then no output is read

Result<AgentTicket> read_ticket() {
  std::string line;
  const base::Deadline deadline = base::deadline_in(kPatience);
  while (line.size() < kLongestTicket && !line.ends_with('\n')) {
    pollfd entry{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&entry, 1, base::milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    char character = 0;
    if (ready <= 0 || ::read(STDIN_FILENO, &character, 1) != 1) break;
    line += character;
  }
  const auto ticket = AgentTicket::read(line);
  if (ticket) return *ticket;
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "standard input has no ticket of a launcher",
                               .remedy = "heddle run --hosts starts agents; people do not"});
}

class Agent {
 public:
  Agent(Link link, const AgentTicket& ticket, const Signals& signals)
      : link_(std::move(link)), ticket_(ticket), signals_(signals) {}

  void serve();

 private:
  // False: there is nothing more to do.
  bool take_orders();
  bool obey(const net::Frame& frame);
  void start(const StartOrder& order);
  void pass_on_output();
  void pass_on_input();
  void report_ended(bool children);
  bool heed_signals(bool& children);
  void refuse(const Error& error);

  Link link_;
  const AgentTicket& ticket_;
  const Signals& signals_;
  std::unique_ptr<Pipes> pipes_; // before the crew: whose processes write to it until they are ended
  std::unique_ptr<LocalCrew> crew_;
};

void Agent::refuse(const Error& error) {
  link_.send(AgentRefusal{.code = error.system_code, .fact = error.fact}.encode());
}

void Agent::start(const StartOrder& order) {
  if (crew_ != nullptr) return;
  if (::chdir(order.directory.c_str()) != 0)
    return refuse({.fact = "the working directory " + order.directory + " cannot be entered", .system_code = errno});
  auto pipes = Pipes::make(order.first, order.count, order.gets_input);
  if (!pipes) return refuse(pipes.error());
  pipes_ = std::make_unique<Pipes>(std::move(*pipes));
  Variables variables = order.variables;
  std::erase_if(variables, [](const auto& each) { return each.first == auth::kSecretVariable; });
  variables.emplace_back(auth::kSecretVariable, ticket_.secret.text());
  crew_ = std::make_unique<LocalCrew>(Share{.command = order.command,
                                            .environment = with_variables(variables),
                                            .first = order.first,
                                            .count = order.count,
                                            .bind = order.bind,
                                            .signal_mask = signals_.before()},
                                      [this](std::uint32_t rank) { return pipes_->streams_of(rank); });
  if (auto started = crew_->start(); !started) {
    refuse(started.error());
    crew_.reset();
    return;
  }
  pipes_->close_far_ends();
  link_.send(agent_frame(AgentKind::started).finish());
}

bool Agent::obey(const net::Frame& frame) {
  switch (static_cast<AgentKind>(frame.kind)) {
    case AgentKind::start:
      if (const auto order = StartOrder::decode(frame.body)) start(*order);
      return true;
    case AgentKind::signal:
      if (const auto order = SignalOrder::decode(frame.body); order && crew_ != nullptr)
        crew_->signal_all(order->number);
      return true;
    case AgentKind::input:
      if (const auto order = InputOrder::decode(frame.body); order && pipes_ != nullptr)
        pipes_->add_input(order->bytes);
      return true;
    case AgentKind::hush:
      if (const auto order = HushOrder::decode(frame.body); order && pipes_ != nullptr)
        pipes_->close_stream(order->stream);
      return true;
    case AgentKind::finish: return false;
    case AgentKind::hello:
    case AgentKind::started:
    case AgentKind::refused:
    case AgentKind::output:
    case AgentKind::ended:
    case AgentKind::taken: break;
  }
  return false; // these are the agent's to say
}

bool Agent::take_orders() {
  const bool open = link_.read();
  while (const auto frame = link_.next())
    if (!obey(*frame)) return false;
  return open;
}

void Agent::pass_on_output() {
  if (pipes_ == nullptr) return;
  pipes_->read([this](std::uint32_t rank, std::uint8_t stream, std::span<const std::byte> bytes) {
    link_.send(AgentOutput{.rank = rank, .stream = stream, .bytes = bytes}.encode());
    return link_.waiting() < kMostWaiting;
  });
}

void Agent::pass_on_input() {
  if (pipes_ == nullptr) return;
  if (const std::size_t taken = pipes_->write_input(); taken > 0)
    link_.send(AgentTaken{.bytes = static_cast<std::uint32_t>(taken)}.encode());
}

void Agent::report_ended(bool children) {
  if (crew_ == nullptr) return;
  for (const Ended& each : crew_->take_ended(children)) {
    // What it wrote last stands in its pipes.
    pipes_->read_all_of(each.rank, [this](std::uint32_t rank, std::uint8_t stream, std::span<const std::byte> bytes) {
      link_.send(AgentOutput{.rank = rank, .stream = stream, .bytes = bytes}.encode());
      return true;
    });
    link_.send(AgentEnded{.rank = each.rank, .ending = each.ending}.encode());
  }
}

// Those that end a program end the agent, and with it what it started. An interrupt from a terminal is the launcher's to forward.
bool Agent::heed_signals(bool& children) {
  while (const auto number = signals_.next()) {
    children = children || *number == SIGCHLD;
    if (*number == SIGTERM || *number == SIGHUP) return false;
  }
  return true;
}

void Agent::serve() {
  link_.send(AgentHello{.host = ticket_.host, .version = version()}.encode());
  bool goes_on = true;
  while (goes_on) {
    std::vector<pollfd> entries{{.fd = link_.descriptor(),
                                 .events = static_cast<short>(link_.waiting() > 0 ? POLLIN | POLLOUT : POLLIN),
                                 .revents = 0},
                                {.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    if (pipes_ != nullptr) pipes_->add_to(entries, link_.waiting() < kMostWaiting);
    ::poll(entries.data(), entries.size(), static_cast<int>(kBetweenLooks.count()));
    link_.flush();
    bool children = false;
    goes_on = heed_signals(children) && take_orders() && !link_.is_silent();
    pass_on_input();
    if (link_.waiting() < kMostWaiting) pass_on_output();
    report_ended(children);
  }
  crew_.reset();
}

} // namespace

std::string AgentTicket::line() const {
  return std::string(kMark) + " " + secret.text() + " " + launcher.text() + " " + std::to_string(host) + "\n";
}

std::optional<AgentTicket> AgentTicket::read(std::string_view line) {
  if (!line.ends_with('\n')) return std::nullopt;
  std::istringstream words{std::string(line)};
  std::string mark;
  std::string secret_text;
  std::string place;
  std::string number;
  std::string more;
  words >> mark >> secret_text >> place >> number;
  if (mark != kMark || (words >> more)) return std::nullopt;
  const auto secret = auth::Secret::parse(secret_text);
  const auto launcher = net::resolve(place);
  const auto host = base::number_in<std::uint32_t>(number);
  if (!secret || !launcher || !host) return std::nullopt;
  return AgentTicket{.secret = *secret, .launcher = *launcher, .host = *host};
}

Result<void> run_agent() {
  const Signals signals;
  if (signals.descriptor() < 0) return std::unexpected(system_error("cannot receive signals", errno));
  const auto ticket = read_ticket();
  if (!ticket) return std::unexpected(ticket.error());
  auto socket = auth::call(ticket->launcher, ticket->secret, kAgentService, base::deadline_in(kPatience));
  if (!socket) {
    socket.error().fact = "the launcher is not reached from here: " + socket.error().fact;
    return std::unexpected(std::move(socket.error()));
  }
  Agent(Link(std::move(*socket)), *ticket, signals).serve();
  return {};
}

} // namespace heddle::launch

#include "tests/launchers/launchers.hpp"

#include "base/rank_list.hpp"
#include "net/sockets.hpp"
#include "store/address.hpp"

#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <thread>

namespace heddle::tests {

namespace {

std::string content_of(const std::filesystem::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf(); // a process that has just ended has nothing to read; an iterator would throw
  return text.str();
}

std::string own_user() {
  const passwd* user = ::getpwuid(::geteuid());
  return user == nullptr ? "nobody" : user->pw_name;
}

bool is_free(int port) {
  net::Endpoint place{.host = net::loopback()};
  const auto number = static_cast<std::uint16_t>(port);
  return net::listen_at(place, {.first = number, .last = number}).has_value();
}

// Whether a connection can be made to a path or HOST:PORT.
bool listens(const std::string& address) {
  if (!address.starts_with('/')) {
    const auto socket = net::begin_connect(net::resolve(address).value());
    return socket && net::wait_for(socket->number(), POLLOUT, base::deadline_in(std::chrono::seconds(1))) &&
           net::connect_error(socket->number()) == 0;
  }
  const auto parsed = store::parse_address("unix:" + address).value();
  const base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&parsed.address), parsed.length) == 0;
}

} // namespace

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string program = folder + "/" + name; ::access(program.c_str(), X_OK) == 0) return program;
  return "";
}

std::string missing(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names)
    if (find_program(name).empty()) list += (list.empty() ? "" : ", ") + name;
  return list;
}

MemcachedServer::MemcachedServer(By by, const std::vector<std::string>& options) : by_(by), options_(options) {
  address_ = by == By::socket ? (folder_.path() / "sock").string() : "127.0.0.1:" + std::to_string(free_ports(1));
  start();
}

void MemcachedServer::start() {
  std::vector<std::string> command{find_program("memcached"), "-u", own_user()};
  command.insert(command.end(), options_.begin(), options_.end());
  std::error_code ignored;
  if (by_ == By::socket) {
    std::filesystem::remove(address_, ignored);
    command.insert(command.end(), {"-s", address_});
  } else {
    command.insert(command.end(), {"-l", "127.0.0.1", "-U", "0", "-p", address_.substr(address_.find(':') + 1)});
  }
  server_ = std::make_unique<Command>(command);
  const base::Deadline limit = base::deadline_in(std::chrono::seconds(30));
  while (!listens(address_) && base::Clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // it tells nobody
}

SlurmCluster::SlurmCluster(const Machines* machines) {
  const std::string script = std::string(HEDDLE_TEST_SOURCES) + "/slurm_cluster";
  // Another test may take the ports first.
  for (int i = 0; i < 5 && said_ != "ready"; ++i) {
    std::vector<std::string> command{find_program("setpriv"),
                                     "--pdeathsig",
                                     "TERM",
                                     "/bin/bash",
                                     script,
                                     folder_.path(),
                                     std::to_string(free_ports(4)),
                                     "3"};
    if (machines != nullptr) command.push_back(machines->enter_program());
    cluster_ = std::make_unique<Command>(command);
    said_ = cluster_->line();
  }
}

// TERM, so that it ends its daemons.
SlurmCluster::~SlurmCluster() {
  cluster_->signal(SIGTERM);
  cluster_->rest();
}

Command::Variables SlurmCluster::variables() const {
  return {{"SLURM_CONF", (folder_.path() / "slurm.conf").string()}};
}

bool SlurmCluster::ready(std::string& why) const {
  why = said_;
  return said_ == "ready";
}

std::string wrong_networks(const std::string& output, const std::vector<std::string>& node_of) {
  for (std::uint32_t rank = 0; rank < node_of.size(); ++rank) {
    std::vector<std::uint32_t> near;
    std::vector<std::uint32_t> far;
    for (std::uint32_t other = 0; other < node_of.size(); ++other)
      if (other != rank) (node_of[other] == node_of[rank] ? near : far).push_back(other);
    const auto said = [&](const char* network, const std::vector<std::uint32_t>& peers) {
      if (peers.empty()) return std::string();
      std::string line = "heddle[" + std::to_string(rank) + "]: info: " + network + " serves rank" +
                         (peers.size() == 1 ? " " : "s ") + base::print_ranks(peers) + " (";
      return output.find(line) == std::string::npos ? "nobody says '" + line + "'" : "";
    };
    if (std::string wrong = said("shm", near) + said("tcp", far); !wrong.empty()) return wrong;
  }
  return "";
}

int free_ports(int count) {
  std::random_device dice;
  while (true) {
    const int first = 10000 + static_cast<int>(dice() % 2000) * 8; // below those that the system gives away
    bool all = true;
    for (int i = 0; i < count; ++i) all = all && is_free(first + i);
    if (all) return first;
  }
}

pid_t process_with(const std::string& mark, const std::string& name) {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone))
    if (content_of(entry.path() / "comm") == name + "\n" &&
        content_of(entry.path() / "environ").find("TEST_MARK=" + mark) != std::string::npos)
      return std::atoi(entry.path().filename().c_str());
  return 0;
}

std::vector<std::string> left_of(const std::string& mark, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::vector<std::string> left;
  do {
    left.clear();
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone))
      if (content_of(entry.path() / "environ").find("TEST_MARK=" + mark) != std::string::npos)
        left.push_back(content_of(entry.path() / "comm"));
    if (!left.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (!left.empty() && std::chrono::steady_clock::now() < end);
  return left;
}

} // namespace heddle::tests

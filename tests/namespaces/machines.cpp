#include "tests/namespaces/machines.hpp"

#include "base/clock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace heddle::tests {

namespace {

constexpr std::uint32_t kNetworks = 2;
constexpr std::array<const char*, kNetworks> kIPv6Prefixes{"fd77::", "fd78::"};

namespace fs = std::filesystem;

// As a remote shell does: the variables of one machine are not those of another.
const std::string kForgets = "env -i PATH=\"$PATH\" TEST_MARK=\"$TEST_MARK\" ";

std::string text_of(const fs::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf(); // a process that has just ended has nothing to read; an iterator would throw
  return text.str();
}

void write_script(const fs::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  fs::permissions(path, fs::perms::owner_all);
}

// As a child that dies with this process; what it writes comes by `output`.
pid_t start(const std::vector<std::string>& command, base::Descriptor& output) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  output = base::Descriptor(ends[0]);
  const base::Descriptor far(ends[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(far.number(), STDOUT_FILENO);
  ::dup2(far.number(), STDERR_FILENO);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

std::string line_from(const base::Descriptor& output) {
  std::string line;
  for (char next = 0; ::read(output.number(), &next, 1) == 1 && next != '\n';) line += next;
  return line;
}

// Waits for it; what it wrote where it failed, empty otherwise.
std::string outcome_of(const std::string& script) {
  base::Descriptor output;
  const pid_t child = start({"/bin/sh", "-ec", script}, output);
  std::string text;
  std::array<char, 512> part{};
  for (ssize_t got = 0; (got = ::read(output.number(), part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return "";
  return text.empty() ? "a command has failed" : text.substr(0, text.find('\n'));
}

// Of a switch: where the cable of a machine is plugged in.
std::string port_of(std::uint32_t machine, std::uint32_t network) {
  return (network == 0 ? "p" : "q") + std::to_string(machine);
}

} // namespace

std::unique_ptr<Machines> Machines::make(Form form, std::uint32_t count, std::string& why) {
  std::unique_ptr<Machines> made(new Machines(form, count));
  if (form == Form::pretended) return made;
  if (::geteuid() != 0) {
    why = "only root can make machines of namespaces";
    return nullptr;
  }
  for (std::uint32_t number = 0; number <= count + 1; ++number)
    if (!made->boot(number, why)) return nullptr;
  if (!made->plug_in(why)) return nullptr;
  return made;
}

Machines::Machines(Form form, std::uint32_t count) : form_(form), count_(count) {
  std::string folder = (fs::temp_directory_path() / "heddle-machines-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  folder_ = folder;
  if (form == Form::pretended) {
    write_script(folder_ / "shell", "shift; exec " + kForgets + "\"$@\"");
    return;
  }
  std::ofstream hosts(folder_ / "hosts");
  hosts << "127.0.0.1 localhost\n";
  for (std::uint32_t i = 1; i <= count; ++i) hosts << "10.77.0." << i << " m" << i << "\n";
  hosts << "10.77.0." << count + 1 << " launcher\n";
}

Machines::~Machines() {
  for (const Machine& machine : machines_) {
    if (machine.first > 0) ::kill(machine.first, SIGKILL);
    ::kill(machine.keeper, SIGKILL);
    while (::waitpid(machine.keeper, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool Machines::boot(std::uint32_t number, std::string& why) {
  const bool is_launcher = number == 0; // sees all processes, as it is to enter the other machines
  const std::string name = is_launcher ? "launcher" : "m" + std::to_string(number);
  // The system kills the processes of a machine with its first.
  std::vector<std::string> command{"unshare", "--net", "--uts", "--ipc", "--mount"};
  if (!is_launcher) command.insert(command.end(), {"--pid", "--fork", "--kill-child", "--mount-proc"});
  const std::string folder = folder_.string();
  std::string script = "hostname " + name + "; ip link set lo up; mount -t tmpfs tmpfs /dev/shm; mount --bind " +
                       folder + "/hosts /etc/hosts; cat /proc/sys/kernel/random/uuid >" + folder + "/boot_id_" + name +
                       "; ";
  if (!is_launcher) script += "mount --bind " + folder + "/boot_id_" + name + " /proc/sys/kernel/random/boot_id; ";
  command.insert(command.end(), {"/bin/sh", "-ec", script + "echo ready; exec sleep infinity"});
  base::Descriptor output;
  Machine machine{.keeper = start(command, output)};
  const std::string line = line_from(output);
  if (line == "ready") {
    const std::string keeper = std::to_string(machine.keeper);
    machine.first =
        is_launcher ? machine.keeper : std::atoi(text_of("/proc/" + keeper + "/task/" + keeper + "/children").c_str());
  }
  machines_.push_back(machine);
  if (machine.first > 0) return true;
  why = "the system makes no machine of namespaces: " + line;
  return false;
}

bool Machines::plug_in(std::string& why) const {
  const std::string hub = "nsenter -t " + std::to_string(machines_.back().first) + " -n ";
  std::string script;
  for (std::uint32_t network = 0; network < kNetworks; ++network) {
    const std::string bridge = "br" + std::to_string(network);
    const std::string end = "e" + std::to_string(network);
    script += hub + "ip link add " + bridge + " type bridge\n" + hub + "ip link set " + bridge + " up\n";
    for (std::uint32_t i = network; i <= count_; ++i) { // the launcher has the first alone
      const std::string machine = std::to_string(machines_[i].first);
      const std::string port = port_of(i, network);
      const std::string inside = "nsenter -t " + machine + " -n ";
      script += "ip link add " + end + " netns " + machine + " type veth peer name " + port + " netns " +
                std::to_string(machines_.back().first) + "\n";
      script += hub + "ip link set " + port + " master " + bridge + " up\n";
      script += inside + "ip addr add 10." + std::to_string(77 + network) + ".0." +
                std::to_string(i == 0 ? count_ + 1 : i) + "/24 dev " + end + "\n";
      script += inside + "ip -6 addr add " + kIPv6Prefixes[network] + std::to_string(i == 0 ? count_ + 1 : i) +
                "/64 dev " + end + " nodad || true\n"; // there may be no IPv6
      script += inside + "ip link set " + end + " up\n";
    }
  }
  const std::string said = outcome_of(script);
  if (said.empty())
    write_shells();
  else
    why = "the system connects no machines of namespaces: " + said;
  return said.empty();
}

// "shell" is ours: it keeps the words apart, and the folder is the agent's to choose.
void Machines::write_shells() const {
  const std::string nobody = "*) echo \"no host is called $host\" >&2; exit 255;;\nesac";
  std::string words = "host=$1; shift; case $host in\n";
  std::string line = "while [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1; shift; case $host in\n";
  std::string plain = "host=$1; shift; case $host in\n";
  for (std::uint32_t i = 0; i <= count_; ++i) {
    const std::string number = std::to_string(i);
    plain += number + ") exec " + enter(i) + "\"$@\";;\n";
    if (i == 0) continue;
    words += "m" + number + ") exec " + kForgets + enter(i) + "\"$@\";;\n";
    line += "m" + number + ") exec " + kForgets + enter(i) + "/bin/sh -c \"$*\" </dev/null;;\n";
  }
  write_script(folder_ / "shell", words + nobody);
  write_script(remote_shell(), line + nobody);
  write_script(enter_program(), plain + nobody);
}

std::string Machines::enter(std::uint32_t machine) const {
  return "nsenter -t " + std::to_string(machines_[machine].first) +
         (machine == 0 ? " -m -u -i -n " : " -m -u -i -n -p ");
}

std::string Machines::hosts(std::uint32_t on_each) const {
  std::string text;
  for (std::uint32_t i = 1; i <= count_; ++i)
    text += (i > 1 ? ",m" : "m") + std::to_string(i) + ":" + std::to_string(on_each);
  return text;
}

std::string Machines::mark() const {
  return folder_.filename().string();
}

std::vector<std::string> Machines::at_launcher(const fs::path& folder, const std::vector<std::string>& command) const {
  const std::string start = separate() ? "exec " + enter(0) + "/bin/sh -c 'cd \"$0\" && exec \"$@\"' \"$0\" \"$@\""
                                       : "cd \"$0\" && exec \"$@\"";
  std::vector<std::string> words{"/bin/sh", "-c", start, folder.string()};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> Machines::at(std::uint32_t machine, const std::vector<std::string>& command) const {
  std::vector<std::string> words{"/bin/sh", "-c", "exec " + enter(machine) + "\"$0\" \"$@\""};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> Machines::run_in(const fs::path& folder, const std::string& hosts,
                                          const std::vector<std::string>& rest) const {
  std::vector<std::string> command{HEDDLE_PROGRAM, "run", "--hosts", hosts, "--env", "TEST_MARK"};
  if (std::ranges::find(rest, "--shell") == rest.end())
    command.insert(command.end(), {"--shell", (folder_ / "shell").string()});
  command.insert(command.end(), rest.begin(), rest.end());
  return at_launcher(folder, command);
}

std::vector<std::string> Machines::run(const std::string& hosts, const std::vector<std::string>& rest) const {
  return run_in(folder_, hosts, rest);
}

Command::Variables Machines::variables(const Command::Variables& more) const {
  Command::Variables all{{"TEST_MARK", mark()}};
  // Pretended machines have no network of their own, and this one may have none but loopback.
  if (!separate()) all.emplace_back("HEDDLE_TCP_NETWORK", "lo");
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool Machines::in(std::uint32_t machine, const std::string& script) const {
  return outcome_of("exec " + enter(machine) + "/bin/sh -ec '" + script + "'").empty();
}

std::vector<pid_t> Machines::processes(std::uint32_t machine, const std::string& name) const {
  const auto space_of = [](const std::string& process) {
    std::error_code gone;
    return fs::read_symlink("/proc/" + process + "/ns/pid", gone);
  };
  const fs::path space = space_of(std::to_string(machines_[machine].first));
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string process = entry.path().filename().string();
    if (process.find_first_not_of("0123456789") == std::string::npos && space_of(process) == space &&
        text_of(entry.path() / "comm") == name.substr(0, 15) + "\n")
      found.push_back(std::atoi(process.c_str()));
  }
  return found;
}

void Machines::kill(std::uint32_t machine) const {
  ::kill(machines_[machine].first, SIGKILL);
}

void Machines::set_cable(std::uint32_t machine, std::uint32_t network, const std::string& state) const {
  const std::string said = outcome_of("nsenter -t " + std::to_string(machines_.back().first) + " -n ip link set " +
                                      port_of(machine, network) + " " + state);
  if (!said.empty()) std::abort();
}

std::vector<std::string> Machines::living() const {
  std::vector<std::string> found;
  const std::string wanted = "TEST_MARK=" + mark();
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (text_of(entry.path() / "environ").find(wanted) == std::string::npos) continue;
    std::string words = text_of(entry.path() / "cmdline"); // empty where it has just ended
    std::ranges::replace(words, '\0', ' ');
    if (!words.empty()) found.push_back(name + ": " + words);
  }
  return found;
}

pid_t Machines::process_of(int rank) const {
  const std::string wanted = '\0' + ("HEDDLE_RANK=" + std::to_string(rank)) + '\0';
  for (const std::string& each : living())
    if (('\0' + text_of("/proc/" + each.substr(0, each.find(':')) + "/environ")).find(wanted) != std::string::npos)
      return std::atoi(each.c_str());
  return 0;
}

std::vector<std::string> Machines::left_after(std::chrono::seconds limit) const {
  const base::Deadline deadline = base::deadline_in(limit);
  std::vector<std::string> left = living();
  while (!left.empty() && base::Clock::now() < deadline) {
    ::poll(nullptr, 0, 10);
    left = living();
  }
  return left;
}

} // namespace heddle::tests

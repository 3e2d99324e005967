#include "tests/opensm/simulated_subnet.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <sstream>

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSimulator = "/usr/bin/ibsim";
constexpr const char* kManager = "/usr/sbin/opensm";

// The library that makes a program talk to ibsim, wherever the system keeps its libraries.
std::string client_library() {
  for (const char* base : {"/usr/lib", "/usr/lib64"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(base, error)) {
      const fs::path found = entry.path() / "umad2sim/libumad2sim.so";
      if (fs::exists(found, error)) return found;
    }
    if (const fs::path found = fs::path(base) / "umad2sim/libumad2sim.so"; fs::exists(found, error)) return found;
  }
  return "";
}

std::string tool(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/"})
    if (fs::exists(folder + name)) return folder + name;
  return "";
}

std::string unique_name() {
  static std::atomic<int> count = 0;
  return "heddle_" + std::to_string(::getpid()) + "_" + std::to_string(count++);
}

// Sorted, so that two files which say the same compare equal whatever their order.
std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

std::vector<std::string> compare(const std::vector<routing::LftEntry>& wanted,
                                 const std::vector<routing::LftEntry>& found) {
  using Key = std::pair<std::uint64_t, routing::Lid>;
  std::map<Key, routing::Port> there;
  for (const auto& entry : found) there[{entry.guid, entry.lid}] = entry.port;
  std::vector<std::string> troubles;
  for (const auto& entry : wanted) {
    const auto at = there.find({entry.guid, entry.lid});
    if (at == there.end() || at->second != entry.port)
      troubles.push_back("LID " + std::to_string(entry.lid) + ": port " + std::to_string(entry.port) + " planned, " +
                         (at == there.end() ? "none" : std::to_string(at->second)) + " set");
    if (at != there.end()) there.erase(at);
  }
  for (const auto& [key, port] : there)
    troubles.push_back("LID " + std::to_string(key.second) + ": port " + std::to_string(port) + " set, none planned");
  return troubles;
}

} // namespace

std::string SimulatedSubnet::missing() {
  if (!fs::exists(kSimulator) || client_library().empty()) return "ibsim-utils is not installed";
  if (!fs::exists(kManager)) return "opensm is not installed";
  for (const char* name : {"dump_fts", "ibtracert", "ibnetdiscover"})
    if (tool(name).empty()) return "infiniband-diags is not installed";
  return "";
}

SimulatedSubnet::SimulatedSubnet() : folder_(fs::temp_directory_path() / unique_name()), socket_(folder_.filename()) {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
}

SimulatedSubnet::~SimulatedSubnet() {
  simulator_.reset();
  std::error_code error;
  fs::remove_all(folder_, error);
}

void SimulatedSubnet::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

std::string SimulatedSubnet::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
  return text.str();
}

bool SimulatedSubnet::start(std::string& trouble) {
  // Its warnings go to a file, lest they fill the pipe; the limits are past what any test needs.
  const std::string command =
      "exec stdbuf -oL " + std::string(kSimulator) + " -s -n -L 49152 -N 8192 -S 2048 -P 131072 fabric.net 2>ibsim.log";
  simulator_ =
      std::make_unique<Command>(std::vector<std::string>{"/bin/sh", "-c", "cd " + folder_.string() + " && " + command},
                                Command::Variables{{"IBSIM_SOCKNAME", socket_}});
  for (std::string line = simulator_->line(); !line.empty(); line = simulator_->line())
    if (line.find("Network simulator ready") != std::string::npos) return true;
  trouble = "ibsim did not come up: " + read("ibsim.log");
  return false;
}

std::string SimulatedSubnet::run(std::vector<std::string> arguments, bool keep_errors) {
  std::string line = "exec";
  for (const std::string& argument : arguments) line += " " + argument;
  if (!keep_errors) line += " 2>/dev/null";
  Command command({"/bin/sh", "-c", line}, {{"IBSIM_SOCKNAME", socket_},
                                            {"LD_PRELOAD", client_library()},
                                            {"OSM_TMP_DIR", folder_.string()},
                                            {"OSM_CACHE_DIR", folder_.string()}});
  std::string output = command.rest();
  command.status();
  return output;
}

void SimulatedSubnet::sweep(const std::vector<std::string>& options, int seconds) {
  std::vector<std::string> arguments{"timeout", "-k",   "5",  std::to_string(seconds),       kManager, "-o", "-e",
                                     "-D",      "0x43", "-f", (folder_ / "osm.log").string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  run(arguments);
}

std::vector<std::string> SimulatedSubnet::troubles_in_log() const {
  std::vector<std::string> troubles;
  const std::string log = read("osm.log");
  if (log.find("SUBNET UP") == std::string::npos) troubles.push_back("the subnet did not come up");
  for (const std::string& line : lines_of(log))
    for (const char* word : {" ERR ", "PARSE ERROR", "ERRORS DURING"})
      if (line.find(word) != std::string::npos) troubles.push_back("OpenSM: " + line);
  return troubles;
}

std::vector<std::string> SimulatedSubnet::load_tables(std::uint32_t lmc, int seconds) {
  const std::string guid2lid = read("guid2lid");
  sweep({"-l", std::to_string(lmc), "-R", "file,no_fallback", "-U", (folder_ / "lfts").string()}, seconds);
  std::vector<std::string> troubles = troubles_in_log();
  if (read("osm.log").find("file tables configured on all switches") == std::string::npos)
    troubles.push_back("OpenSM did not route from the file");
  if (lines_of(read("guid2lid")) != lines_of(guid2lid)) troubles.push_back("OpenSM gave out other LIDs than planned");
  const auto wanted = routing::parse_lfts(read("lfts"));
  const auto found = tables();
  if (!wanted || !found) {
    troubles.push_back("tables cannot be read: " + (wanted ? found.error() : wanted.error()).message());
    return troubles;
  }
  const auto differences = compare(*wanted, *found);
  troubles.insert(troubles.end(), differences.begin(), differences.end());
  return troubles;
}

std::vector<std::string> SimulatedSubnet::route_by_ftree(int seconds) {
  sweep({"-R", "ftree,no_fallback"}, seconds);
  std::vector<std::string> troubles = troubles_in_log();
  if (read("osm.log").find("ftree tables configured on all switches") == std::string::npos)
    troubles.push_back("OpenSM did not route by ftree");
  return troubles;
}

Result<std::vector<routing::LftEntry>> SimulatedSubnet::tables() {
  return routing::parse_lfts(run({tool("dump_fts")}));
}

std::string SimulatedSubnet::discover() {
  return run({tool("ibnetdiscover")});
}

std::vector<std::string> SimulatedSubnet::trace(routing::Lid from, routing::Lid to) {
  std::istringstream output(run({tool("ibtracert"), std::to_string(from), std::to_string(to)}));
  std::vector<std::string> names;
  for (std::string line; std::getline(output, line);) {
    if (line.find("-> switch port") == std::string::npos) continue;
    const std::size_t close = line.rfind('"');
    const std::size_t open = line.rfind('"', close - 1);
    names.push_back(line.substr(open + 1, close - open - 1));
  }
  return names;
}

} // namespace heddle::tests

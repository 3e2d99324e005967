#include "host_options.hpp"

#include "job/registry.hpp"
#include "net/interfaces.hpp"
#include "options_file/options_file.hpp"
#include "translators/tcp/options.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

namespace heddle::tool {
namespace {

Result<std::vector<launch::Host>> hosts_of(const HostArguments& arguments, std::uint32_t processes) {
  if (arguments.hosts && !arguments.file.empty())
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "--hosts and --hostfile exclude each other"});
  if (arguments.hosts) return launch::parse_hosts(*arguments.hosts);
  if (!arguments.file.empty()) return launch::read_host_file(arguments.file);
  return std::vector{launch::Host{.name = "localhost", .processes = std::max(processes, 1U)}};
}

bool is_variable(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, fits);
}

// What was asked for, of what the hosts take.
Result<void> fit(std::vector<launch::Host>& hosts, std::uint32_t processes) {
  if (processes == 0) return {};
  const std::uint32_t room = launch::processes_of(hosts);
  if (processes > room)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "-n " + std::to_string(processes) + " is more than the " +
                                         std::to_string(room) + " processes that the hosts take",
                                 .remedy = "give them more, as in --hosts a:8,b:8"});
  std::uint32_t left = processes;
  for (launch::Host& host : hosts) {
    host.processes = std::min(host.processes, left);
    left -= host.processes;
  }
  std::erase_if(hosts, [](const launch::Host& host) { return host.processes == 0; });
  return {};
}

// By which address the hosts reach this machine: of the network that the processes use, where this machine has it; otherwise the one
// from which the way to the first of them leads.
Result<in6_addr> own_address(const std::vector<launch::Host>& hosts, const std::string& network) {
  const bool all_here = std::ranges::all_of(hosts, &launch::Host::is_here);
  if (network != translators::tcp::kNetwork.initial) {
    auto chosen = net::choose(network, net::interfaces());
    if (chosen) return chosen->front().host;
    if (all_here) {
      chosen.error().fact = "option tcp.network: " + chosen.error().fact;
      return std::unexpected(std::move(chosen.error()));
    }
  }
  for (const launch::Host& host : hosts) {
    if (host.is_here()) continue;
    const auto there = net::resolve_host(host.name.substr(host.name.find('@') + 1));
    if (!there) continue; // perhaps a name that only the remote shell knows
    const auto source = net::source_towards(*there);
    if (source && !net::Endpoint{.host = *source}.is_loopback()) return *source;
  }
  if (all_here) return net::loopback();
  return net::outward_address();
}

} // namespace

void add_host_options(CLI::App& command, HostArguments& arguments) {
  command.add_option("--hosts", arguments.hosts, "Machines to run on, with how many processes each: a:2,b:2")
      ->type_name("LIST");
  command.add_option("--hostfile", arguments.file, "The same from a file, a host to a line")->type_name("FILE");
  command.add_option("--shell", arguments.shell, "How a command is run on a host: SHELL HOST COMMAND...")
      ->capture_default_str()
      ->type_name("COMMAND");
  command.add_option("--agent", arguments.agent, "The heddle program on the hosts (default: where this one is)")
      ->type_name("PATH");
  command
      .add_option("--env", arguments.environment, "A variable that processes on other machines get as well; repeatable")
      ->type_name("NAME");
  command.add_flag("--label", arguments.label, "Put the rank before every line that a process writes");
}

Result<void> apply_hosts(const HostArguments& arguments, std::uint32_t processes, launch::JobDescription& job) {
  auto hosts = hosts_of(arguments, processes);
  if (!hosts) return std::unexpected(std::move(hosts.error()));
  if (auto fits = fit(*hosts, processes); !fits) return fits;
  const auto options = options_file::resolve_with_file({}, base::Environment::of_process(), job::sections());
  if (!options) return std::unexpected(options.error());
  const base::Values& tcp = options->section("tcp");
  const auto range = net::PortRange::parse(tcp.text(translators::tcp::kPorts));
  if (!range) {
    Error error = range.error();
    error.fact = "option tcp.ports: " + error.fact;
    return std::unexpected(std::move(error));
  }
  for (const std::string& name : arguments.environment)
    if (!is_variable(name))
      return std::unexpected(
          Error{.code = ErrorCode::bad_argument,
                .fact = "--env '" + name.substr(0, 80) + "' is no name of a variable",
                .remedy = "give names alone, one --env each: their values are those they have here"});
  const auto address = own_address(*hosts, tcp.text(translators::tcp::kNetwork));
  if (!address) return std::unexpected(address.error());
  std::istringstream words(arguments.shell);
  job.shell.clear();
  for (std::string word; words >> word;) job.shell.push_back(word);
  if (job.shell.empty())
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument, .fact = "--shell is empty: expected a command such as ssh"});
  std::error_code ignored;
  job.agent =
      arguments.agent.empty() ? std::filesystem::read_symlink("/proc/self/exe", ignored).string() : arguments.agent;
  job.processes = launch::processes_of(*hosts);
  job.hosts = std::move(*hosts);
  job.passed_environment = arguments.environment;
  job.label = arguments.label;
  job.address = *address;
  job.ports = *range;
  return {};
}

} // namespace heddle::tool

// The program `heddle`: finds the subcommand, reports bad usage in one line.
#include <fcntl.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/nearest.hpp"
#include "subcommands.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// What libpmix, and what it loads, never gives back is not ours.
extern "C" {
const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
  return "leak:libpmix\nleak:libevent\nleak:libhwloc\nleak:pmix_mca";
}
}
#endif
#endif

namespace heddle::tool {
namespace {

// Where one is closed, the next file that is opened would take its place, and be written to.
void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) [[maybe_unused]]
      const int opened = ::open("/dev/null", O_RDWR); // the lowest that is free: this one
}

// A new subcommand: a file of its own, a declaration in subcommands.hpp, a line here.
constexpr std::array kSubcommands{
    add_run, add_agent, add_info, add_perf, add_route, add_schedule, add_sim, add_reproduce, add_mpi, add_paths,
};

// Which command's help lists the options in question: the innermost that was named, such as "route load".
std::string command_of(const CLI::App& program) {
  std::string name;
  for (auto chosen = program.get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands())
    name += (name.empty() ? "" : " ") + chosen.front()->get_name();
  return name;
}

// Cuts PROGRAM ARGS... off the arguments of `run`, `mpi` and `paths`: all after `--`, or from the first that is neither an option nor
// the value of one.
std::vector<std::string> cut_program(const CLI::App& run, std::vector<std::string>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool separator = argument == "--";
    if (argument.starts_with("-") && !separator) {
      const CLI::Option* option = run.get_option_no_throw(argument);
      if (option != nullptr && option->get_items_expected_max() > 0) ++i;
      continue;
    }
    const auto cut = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    std::vector<std::string> program(cut + (separator ? 1 : 0), arguments.end());
    arguments.erase(cut, arguments.end());
    return program;
  }
  return {};
}

// Whether a program follows, which is not ours to parse. `paths plan` starts none.
bool starts_program(std::span<const std::string> arguments) {
  const std::string& command = arguments.front();
  return command == "run" || command == "mpi" ||
         (command == "paths" && (arguments.size() == 1 || arguments[1] != "plan"));
}

// The command among those of `parent`, or null where none has that name.
CLI::App* find_command(CLI::App& parent, const std::string& name) {
  const auto commands = parent.get_subcommands({});
  const auto found = std::ranges::find(commands, name, [](CLI::App* command) { return command->get_name(); });
  return found == commands.end() ? nullptr : *found;
}

// `below` is the command that has no such subcommand; empty for the program itself.
int unknown_command(CLI::App& parent, const std::string& below, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : parent.get_subcommands({})) names.push_back(command->get_name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  return bad_usage(below, fmt::format("no command is called '{}', did you mean {}?", name, base::nearest(name, views)));
}

// The long options of a command, those of its groups included.
std::vector<std::string> option_names(CLI::App& command) {
  std::vector<std::string> names;
  std::vector<CLI::App*> apps =
      command.get_subcommands([](const CLI::App* group) { return group->get_name().empty(); });
  apps.push_back(&command);
  for (CLI::App* app : apps)
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The first of the arguments that looks like a long option and is none of the command's; empty where all are. CLI11 would
// first complain of whatever else is missing.
std::string unknown_option(CLI::App& command, std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (!arguments[i].starts_with("--")) continue;
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option == nullptr) return name;
    if (name == arguments[i] && option->get_items_expected_max() > 0) ++i; // its value, whatever that looks like
  }
  return "";
}

// Refuses options that the command which the arguments name does not have; 0 where there are none.
int check_options(CLI::App& program, std::span<const std::string> arguments) {
  CLI::App* command = &program;
  std::string name;
  while (!arguments.empty() && !arguments.front().starts_with("-")) {
    CLI::App* inner = find_command(*command, arguments.front());
    if (inner == nullptr) break;
    command = inner;
    name += (name.empty() ? "" : " ") + inner->get_name();
    arguments = arguments.subspan(1);
  }
  const std::string unknown = unknown_option(*command, arguments);
  if (unknown.empty()) return 0;
  const std::vector<std::string> names = option_names(*command);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return bad_usage(name,
                   fmt::format("no option is called '{}', did you mean {}?", unknown, base::nearest(unknown, views)));
}

int run_program(std::vector<std::string> arguments) {
  CLI::App program("Communication for parallel programs, with planned paths.", "heddle");
  program.set_version_flag("--version", HEDDLE_VERSION);
  program.require_subcommand(1);
  program.footer("Example: heddle run -n 2 ./my_program");
  Invocation invocation;
  for (const AddSubcommand add : kSubcommands) add(program, invocation);
  if (arguments.empty()) { // who knows nothing of it yet; still nothing was done, as a script must see
    fmt::print(stderr, "{}", program.help());
    return kBadUsage;
  }
  if (!arguments.front().starts_with("-")) {
    CLI::App* chosen = find_command(program, arguments.front());
    if (chosen == nullptr) return unknown_command(program, "", arguments.front());
    const bool starts = starts_program(arguments);
    const bool names_another =
        !starts && !chosen->get_subcommands({}).empty() && arguments.size() > 1 && !arguments[1].starts_with("-");
    if (names_another && find_command(*chosen, arguments[1]) == nullptr)
      return unknown_command(*chosen, chosen->get_name(), arguments[1]);
    if (starts) invocation.program = cut_program(*chosen, arguments);
  }
  if (const int refused = check_options(program, arguments); refused != 0) return refused;
  try {
    std::ranges::reverse(arguments); // as CLI11 wants them
    program.parse(std::move(arguments));
  } catch (const CLI::Success& asked) { // --help, --version
    return program.exit(asked);
  } catch (const CLI::Error& error) {
    return bad_usage(command_of(program), error.what());
  } catch (const std::bad_alloc&) {
    return failed(command_of(program), {.code = ErrorCode::out_of_memory,
                                        .fact = "this needs more memory than there is",
                                        .remedy = "ask for less at a time"});
  } catch (const std::exception& error) {
    return failed(command_of(program), {.code = ErrorCode::system_failed, .fact = error.what()});
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return failed(command_of(program), {.code = ErrorCode::system_failed,
                                        .fact = "the output cannot be written",
                                        .remedy = {},
                                        .peer = kNoPeer,
                                        .system_code = errno});
  return invocation.exit_status;
}

} // namespace

int bad_usage(std::string_view command, std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  const std::string name = command.empty() ? "heddle" : fmt::format("heddle {}", command);
  fmt::print(stderr, "{}: {} (see {} --help)\n", name, line, name);
  return kBadUsage;
}

int failed(std::string_view command, const Error& error) {
  fmt::print(stderr, "heddle {}: {}\n", command, error.message());
  const bool is_for_the_user = error.code == ErrorCode::bad_option || error.code == ErrorCode::bad_argument ||
                               error.code == ErrorCode::no_launcher || error.code == ErrorCode::out_of_memory ||
                               error.code == ErrorCode::out_of_descriptors;
  return is_for_the_user ? kBadUsage : 1;
}

} // namespace heddle::tool

int main(int argc, char** argv) {
  heddle::tool::open_standard_streams();
  return heddle::tool::run_program({argv + 1, argv + argc});
}

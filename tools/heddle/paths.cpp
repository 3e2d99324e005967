// heddle paths: runs a command with libheddle-paths.so, so that its connections on InfiniBand take the paths of a plan, whatever MPI it
// uses. It becomes the command: nothing of it stays.
#include "paths.hpp"

#include "base/refusal.hpp"
#include "mpi_run.hpp"
#include "paths/plan_file.hpp"
#include "route.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

namespace heddle::tool {
namespace {

constexpr const char* kPlanVariable = "HEDDLE_PATHS_PLAN";

struct PathsArguments {
  std::string plan;
  bool print_env = false;
};

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// What the command needs to run with the plan. UCX connects past libibverbs where it may, unless the user wants that.
Result<Variables> variables_of(const PathsArguments& arguments) {
  const std::string name = arguments.plan.empty() ? value_of(kPlanVariable) : arguments.plan;
  if (name.empty())
    return refuse("no plan is named", "give --plan PLAN, which `heddle paths plan` writes, or set HEDDLE_PATHS_PLAN");
  const auto library = find_library("libheddle-paths.so");
  if (!library)
    return refuse("libheddle-paths.so is not beside this program", "install libibverbs-dev and build again");
  const auto file = read_whole_file(name);
  if (!file) return std::unexpected(file.error());
  if (const auto plan = paths::parse_plan(*file); !plan) return refuse("plan " + name + ": " + plan.error().fact);
  std::error_code error;
  const std::string others = value_of("LD_PRELOAD");
  Variables variables{{"LD_PRELOAD", *library + (others.empty() ? "" : ":" + others)},
                      {kPlanVariable, std::filesystem::absolute(name, error).string()}};
  if (value_of("UCX_IB_MLX5_DEVX").empty()) variables.emplace_back("UCX_IB_MLX5_DEVX", "n");
  return variables;
}

[[noreturn]] void become(const std::vector<std::string>& command, const Variables& variables) {
  std::fflush(nullptr);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fmt::print(stderr, "heddle paths: {} cannot be started: {}\n", command[0], std::strerror(errno));
  std::fflush(stderr);
  ::_exit(127);
}

int run_paths(const PathsArguments& arguments, const std::vector<std::string>& command) {
  auto variables = variables_of(arguments);
  if (!variables) return failed("paths", variables.error());
  if (arguments.print_env) {
    for (const auto& [name, value] : *variables) fmt::print("export {}={}\n", name, quoted_for_shell(value));
    return 0;
  }
  if (command.empty()) return bad_usage("paths", "a command is required: -- mpiexec -n N PROGRAM");
  pass_on(*variables, command);
  become(command, *variables);
}

} // namespace

void add_paths(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<PathsArguments>();
  CLI::App* paths = program.add_subcommand(
      "paths", "Run a program of any MPI on InfiniBand with planned paths: heddle paths [--plan PLAN] -- COMMAND...");
  add_paths_plan(*paths, invocation);
  paths->add_option("--plan", arguments->plan, "What `heddle paths plan` has written (else HEDDLE_PATHS_PLAN)")
      ->type_name("PLAN");
  paths->add_flag("--print-env", arguments->print_env, "Print what is set, for a script to eval; start nothing");
  paths->footer(
      "Each process says at its end how many connections were planned: rank 0 alone, all with HEDDLE_PATHS_REPORT=all, "
      "none with none.\n"
      "Example: heddle paths plan --topology fabric.topo --nodes slurm --out plan\n"
      "         heddle paths --plan plan -- mpiexec -n 64 ./my_mpi_program\n"
      "         eval \"$(heddle paths --plan plan --print-env)\"");
  paths->callback([arguments, paths, &invocation] {
    if (paths->get_subcommands().empty()) invocation.exit_status = run_paths(*arguments, invocation.program);
  });
}

} // namespace heddle::tool

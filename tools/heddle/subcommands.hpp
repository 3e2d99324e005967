// The subcommands of the program: each adds itself to the command line and leaves its exit status behind.
// Exit status: 0 success, 1 the thing checked does not hold, 2 bad usage or bad input with one line on stderr.
#pragma once

#include "heddle/error.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tool {

using Json = nlohmann::ordered_json; // keys in the order they were given

inline constexpr int kBadUsage = 2;

// One call of the program; outlives the parsing.
struct Invocation {
  std::vector<std::string> program; // for `run`, `mpi` and `paths`: PROGRAM ARGS..., which are not ours to parse
  int exit_status = 0;              // set by the subcommand's callback
};

// Adds the subcommand with its options, a description, and an example as footer; its callback does the work.
using AddSubcommand = void (*)(CLI::App& program, Invocation& invocation);

void add_run(CLI::App& program, Invocation& invocation);       // run.cpp
void add_agent(CLI::App& program, Invocation& invocation);     // run.cpp
void add_info(CLI::App& program, Invocation& invocation);      // info.cpp
void add_perf(CLI::App& program, Invocation& invocation);      // perf.cpp
void add_route(CLI::App& program, Invocation& invocation);     // route.cpp
void add_schedule(CLI::App& program, Invocation& invocation);  // schedule.cpp
void add_sim(CLI::App& program, Invocation& invocation);       // sim.cpp
void add_reproduce(CLI::App& program, Invocation& invocation); // reproduce.cpp
void add_mpi(CLI::App& program, Invocation& invocation);       // mpi.cpp
void add_paths(CLI::App& program, Invocation& invocation);     // paths.cpp

// One line on stderr: "heddle COMMAND: TEXT"; returns kBadUsage.
int bad_usage(std::string_view command, std::string_view text);

// The error as one line on stderr; returns kBadUsage where the user can put it right (usage, options, limits of the system), else 1.
int failed(std::string_view command, const Error& error);

} // namespace heddle::tool

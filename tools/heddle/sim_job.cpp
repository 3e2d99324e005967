// heddle sim --trace-in: a recorded job once more, by the library on a simulated fabric.
#include "sim.hpp"

#include "route.hpp"
#include "workloads.hpp"

#include <fmt/core.h>

namespace heddle::tool {
namespace {

// Everybody talks to everybody in an all-to-all.
bool all_talk(const traffic::Job& job) {
  for (const auto& steps : job.ranks)
    for (const traffic::JobStep& step : steps)
      if (step.kind == traffic::JobStep::Kind::alltoall) return true;
  return false;
}

Result<traffic::Job> open_job_file(const std::string& path) {
  const auto text = read_whole_file(path);
  if (!text) return std::unexpected(text.error());
  auto job = traffic::parse_job(*text);
  if (!job) {
    Error error = job.error();
    error.fact = fmt::format("{}: {}", path, error.fact);
    return std::unexpected(error);
  }
  return job;
}

} // namespace

int run_recorded_job(const SimArguments& arguments) {
  const auto job = open_job_file(arguments.trace_in);
  if (!job) return failed("sim", job.error());
  auto world = world_for(arguments, static_cast<std::uint32_t>(job->ranks.size()), all_talk(*job));
  if (!world) return failed("sim", world.error());
  const auto measured = replay_job(*world, *job);
  if (!measured) return failed("sim", measured.error());
  const double us = static_cast<double>(measured->time.count()) / 1e6;
  const double mb_s = us > 0 ? static_cast<double>(measured->bytes) / us : 0;
  if (arguments.json) {
    fmt::print("{}\n", Json{{"job", arguments.trace_in},
                            {"fabric", arguments.fabric},
                            {"model", arguments.model},
                            {"processes", job->ranks.size()},
                            {"job_us", us},
                            {"bytes", measured->bytes},
                            {"mb_s", mb_s},
                            {"packet_hops", measured->outcome.packet_hops},
                            {"resent", measured->outcome.resent}}
                           .dump());
    return 0;
  }
  fmt::print("{} on {}, {} processes, virtual time{}\n", arguments.trace_in, arguments.fabric, job->ranks.size(),
             arguments.model == "fluid" ? ", fluid" : "");
  fmt::print("{:>14} {:>14} {:>12} {:>14}\n", "us", "bytes", "MB/s",
             arguments.model == "fluid" ? "flow-hops" : "packet-hops");
  fmt::print("{:>14.3f} {:>14} {:>12.1f} {:>14}\n", us, measured->bytes, mb_s, measured->outcome.packet_hops);
  return 0;
}

} // namespace heddle::tool

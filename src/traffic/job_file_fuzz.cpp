// Any text as a file of steps: an error with its place in one line, or steps that are whole and that are written as they are read.
#include "traffic/job_file.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void job_file(Input& input) {
  const auto job = traffic::parse_job(input.text());
  if (!job) {
    demand_message(job.error());
    demand(job.error().message().find('\n') == std::string::npos, "a message is one line");
    return;
  }
  std::string text(traffic::job_names());
  for (const auto& steps : job->ranks)
    for (const traffic::JobStep& step : steps) text += traffic::to_text(step);
  const auto again = traffic::parse_job(text);
  demand(again.has_value(), "what is written can be read");
  demand(again->ranks.size() == job->ranks.size(), "by as many ranks");
}

} // namespace heddle::fuzz

#include "traffic/job_file.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace heddle::traffic {
namespace {

constexpr std::array<std::string_view, 6> kStepNames{"rank", "does", "with", "bytes", "tag", "us"};
constexpr std::string_view kLineOfNames = "rank,does,with,bytes,tag,us\n";

// What a kind of step is called, and which values it has: '+' needed, '?' if it likes, '-' not.
struct Form {
  std::string_view name;
  char with, bytes, tag, us;
};
constexpr std::array<Form, 6> kForms{{{"send", '+', '+', '?', '-'},
                                      {"receive", '?', '+', '?', '-'},
                                      {"wait", '-', '-', '-', '-'},
                                      {"compute", '-', '-', '-', '+'},
                                      {"barrier", '-', '-', '-', '-'},
                                      {"alltoall", '-', '+', '-', '-'}}};

struct Row {
  std::optional<Given<std::uint32_t>> rank;
  std::optional<Given<JobStep::Kind>> does;
  std::optional<Given<std::uint32_t>> with;
  std::optional<Given<std::uint64_t>> bytes;
  std::optional<Given<std::uint64_t>> tag;
  std::optional<Given<double>> us;
};

Result<JobStep::Kind> kind_of(const Cell& cell) {
  std::vector<std::string_view> names;
  for (const Form& form : kForms) names.push_back(form.name);
  const auto found = std::ranges::find(names, cell.text);
  if (found != names.end()) return static_cast<JobStep::Kind>(found - names.begin());
  return std::unexpected(wrong_at(cell.place, "does is " + quoted(cell.text) + ", did you mean " +
                                                  std::string(base::nearest(cell.text, names)) +
                                                  "? Expected send, receive, wait, compute, barrier or alltoall"));
}

template <typename Number>
Result<Number> parsed(const Cell& cell, std::string_view expected) {
  Number number{};
  const char* const end = cell.text.data() + cell.text.size();
  const auto [read, status] = std::from_chars(cell.text.data(), end, number);
  if (status == std::errc{} && read == end) return number;
  return std::unexpected(
      wrong_at(cell.place, cell.name + " is " + quoted(cell.text) + ": expected " + std::string(expected)));
}

Result<double> microseconds_of(const Cell& cell) {
  constexpr double kMost = 1e12; // eleven days
  constexpr std::string_view kExpected = "microseconds, such as 12.5";
  const auto us = parsed<double>(cell, kExpected);
  if (us && (!std::isfinite(*us) || *us < 0 || *us > kMost))
    return std::unexpected(wrong_at(cell.place, "us is " + quoted(cell.text) + ": expected " + std::string(kExpected)));
  return us;
}

Result<void> add_cell(Row& row, const Cell& cell) {
  if (cell.name == "rank") return set(row.rank, cell, number_of(cell));
  if (cell.name == "does") return set(row.does, cell, kind_of(cell));
  if (cell.name == "with") return set(row.with, cell, number_of(cell));
  if (cell.name == "bytes") return set(row.bytes, cell, bytes_of(cell));
  if (cell.name == "tag") return set(row.tag, cell, parsed<std::uint64_t>(cell, "a number from 0"));
  return set(row.us, cell, microseconds_of(cell));
}

template <typename Value>
Result<void> check(char form, const std::optional<Given<Value>>& value, std::string_view name, const Form& step,
                   const Place& place) {
  if (form == '+' && !value)
    return std::unexpected(wrong_at(place, std::string(step.name) + " needs " + std::string(name)));
  if (form == '-' && value)
    return std::unexpected(wrong_at(value->place, std::string(step.name) + " has no " + std::string(name)));
  return {};
}

Result<JobStep> step_of(const Row& row, const Place& place) {
  if (!row.rank) return std::unexpected(wrong_at(place, "a step needs rank"));
  if (!row.does) return std::unexpected(wrong_at(place, "a step needs does"));
  if (row.rank->value >= kMostRanks)
    return std::unexpected(wrong_at(row.rank->place, "rank is larger than " + std::to_string(kMostRanks - 1)));
  const Form& form = kForms[static_cast<std::size_t>(row.does->value)];
  if (auto good = check(form.with, row.with, "with", form, place); !good) return std::unexpected(good.error());
  if (auto good = check(form.bytes, row.bytes, "bytes", form, place); !good) return std::unexpected(good.error());
  if (auto good = check(form.tag, row.tag, "tag", form, place); !good) return std::unexpected(good.error());
  if (auto good = check(form.us, row.us, "us", form, place); !good) return std::unexpected(good.error());
  JobStep step{.kind = row.does->value, .rank = row.rank->value, .with = {}, .place = place};
  if (row.with) {
    step.with = row.with->value;
    step.place = row.with->place;
  }
  if (row.bytes) step.bytes = row.bytes->value;
  if (row.tag) step.tag = row.tag->value;
  if (row.us) step.us = row.us->value;
  return step;
}

Result<void> check_partners(const Job& job) {
  for (const auto& steps : job.ranks)
    for (const JobStep& step : steps)
      if (step.with && (*step.with >= job.ranks.size() || job.ranks[*step.with].empty()))
        return std::unexpected(
            wrong_at(step.place, "rank " + std::to_string(*step.with) + " does nothing in this file"));
  return {};
}

} // namespace

Result<Job> parse_job(std::string_view text) {
  Job job;
  std::size_t count = 0;
  const auto add = [&](const Place& place, std::vector<Cell>& cells) -> Result<void> {
    Row row;
    for (const Cell& cell : cells)
      if (auto added = add_cell(row, cell); !added) return added;
    auto step = step_of(row, place);
    if (!step) return std::unexpected(std::move(step.error()));
    if (++count > kMostSteps)
      return std::unexpected(wrong_at(place, "more than " + std::to_string(kMostSteps) + " steps"));
    if (job.ranks.size() <= step->rank) job.ranks.resize(step->rank + 1);
    job.ranks[step->rank].push_back(*step);
    return {};
  };
  if (auto read = read_table(
          text, {.thing = "step", .names = kStepNames, .expected = "rank, does, with, bytes, tag, us", .row = add});
      !read)
    return std::unexpected(std::move(read.error()));
  if (count == 0) return refuse("there is no step in it");
  if (auto good = check_partners(job); !good) return std::unexpected(std::move(good.error()));
  return job;
}

std::string_view job_names() {
  return kLineOfNames;
}

std::string to_text(const JobStep& step) {
  const Form& form = kForms[static_cast<std::size_t>(step.kind)];
  std::array<char, 32> us{};
  const auto end = std::to_chars(us.data(), us.data() + us.size(), step.us).ptr;
  const auto if_of = [](char of, const std::string& value) { return of == '-' ? std::string() : value; };
  return std::to_string(step.rank) + "," + std::string(form.name) + "," +
         if_of(form.with, step.with ? std::to_string(*step.with) : "") + "," +
         if_of(form.bytes, std::to_string(step.bytes)) + "," + if_of(form.tag, std::to_string(step.tag)) + "," +
         if_of(form.us, std::string(us.data(), end)) + "\n";
}

} // namespace heddle::traffic

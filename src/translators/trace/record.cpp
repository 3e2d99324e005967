#include "translators/trace/record.hpp"

#include "ir/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace heddle::translators {

namespace {

constexpr std::string_view kCommandMark = " > ";
constexpr std::string_view kEventMark = " < ";

bool take_text(std::string_view& line, std::string_view text) {
  if (!line.starts_with(text)) return false;
  line.remove_prefix(text.size());
  return true;
}

bool take_number(std::string_view& line, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{}) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return true;
}

Result<TraceRecord> parse_record(std::string_view line) {
  TraceRecord record;
  std::string_view rest = line;
  const bool numbered = take_number(rest, record.sequence) && take_text(rest, " @") && take_number(rest, record.poll);
  const bool is_command = numbered && take_text(rest, kCommandMark);
  if (!is_command && !(numbered && take_text(rest, kEventMark)))
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "'" + std::string(line) + "' does not begin with 'NUMBER @POLL > ' or '< '"});
  record.text = rest;
  if (is_command) {
    record.kind = TraceRecord::Kind::command;
    auto command = ir::parse_command(rest);
    if (!command) return std::unexpected(std::move(command).error());
    record.peer = command->peer;
  } else {
    record.kind = TraceRecord::Kind::event;
    auto event = ir::parse_event(rest);
    if (!event) return std::unexpected(std::move(event).error());
    record.peer = event->peer;
  }
  return record;
}

} // namespace

std::string to_text(const TraceRecord& record) {
  const bool is_command = record.kind == TraceRecord::Kind::command;
  return std::to_string(record.sequence) + " @" + std::to_string(record.poll) +
         std::string(is_command ? kCommandMark : kEventMark) + record.text;
}

Result<std::vector<TraceRecord>> parse_trace(std::string_view text) {
  std::vector<TraceRecord> records;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto wrong = [&](Error error) {
      error.fact = "line " + std::to_string(number) + " of the trace: " + error.fact;
      return std::unexpected(std::move(error));
    };
    auto record = parse_record(line);
    if (!record) return wrong(std::move(record).error());
    if (record->sequence != records.size())
      return wrong({.code = ErrorCode::bad_argument,
                    .fact = "number " + std::to_string(record->sequence) + " stands where " +
                            std::to_string(records.size()) + " belongs"});
    if (!records.empty() && record->poll < records.back().poll)
      return wrong({.code = ErrorCode::bad_argument,
                    .fact = "poll " + std::to_string(record->poll) + " comes after poll " +
                            std::to_string(records.back().poll)});
    records.push_back(std::move(*record));
  }
  return records;
}

} // namespace heddle::translators

#include "world/trace.hpp"

#include <cerrno>
#include <filesystem>
#include <utility>

namespace heddle::simulation {

namespace {

// Written here, and moved to its place when it is whole.
std::string part_of(const std::string& path) {
  return path + ".part";
}

// For the inside of a JSON string.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

Error failed(const std::string& path, const char* what) {
  return {.code = ErrorCode::bad_argument,
          .fact = std::string("the trace ") + path + " cannot be " + what,
          .remedy = "name a file in a folder that exists, on a file system with room",
          .system_code = errno};
}

// Microseconds with all six digits of a picosecond, whatever the locale.
std::string microseconds(sim::Picoseconds time) {
  constexpr std::int64_t kPerMicrosecond = 1'000'000;
  std::string digits = std::to_string(time.count() % kPerMicrosecond);
  digits.insert(0, 6 - digits.size(), '0');
  return std::to_string(time.count() / kPerMicrosecond) + "." + digits;
}

} // namespace

Trace::Trace(std::FILE* file, std::string path, const sim::NetworkModel& network)
    : file_(file), path_(std::move(path)), network_(network) {}

// A run that ended with an error leaves what it came to; one that never began leaves nothing.
Trace::~Trace() {
  if (file_ == nullptr) return;
  if (!named_.empty()) {
    static_cast<void>(finish());
    return;
  }
  std::fclose(file_);
  std::remove(part_of(path_).c_str());
}

Result<std::unique_ptr<Trace>> Trace::create(const std::string& path, const sim::NetworkModel& network) {
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    errno = std::filesystem::is_directory(there) ? EISDIR : EINVAL;
    return std::unexpected(failed(path, "written"));
  }
  std::FILE* file = std::fopen(part_of(path).c_str(), "w");
  if (file == nullptr) return std::unexpected(failed(path, "written"));
  std::unique_ptr<Trace> trace(new Trace(file, path, network));
  std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
  constexpr std::pair<Group, const char*> kGroups[] = {{Group::peers, "peers"},
                                                       {Group::send_engines, "send engines"},
                                                       {Group::links, "links"},
                                                       {Group::receive_engines, "receive engines"}};
  for (const auto& [group, name] : kGroups) {
    std::fprintf(file, "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s\"}}",
                 trace->first_ ? "" : ",\n", static_cast<int>(group), name);
    trace->first_ = false;
  }
  return trace;
}

void Trace::write(Group group, std::uint32_t track, const std::string& track_name, const std::string& what,
                  sim::Picoseconds start, sim::Picoseconds end) {
  if (std::exchange(named_[{group, track}], true) == false)
    std::fprintf(file_, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"%s\"}}",
                 static_cast<int>(group), track, escaped(track_name).c_str());
  std::fprintf(file_, ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%s,\"dur\":%s}", what.c_str(),
               static_cast<int>(group), track, microseconds(start).c_str(), microseconds(end - start).c_str());
}

void Trace::span(const sim::Span& span) {
  const Group group = span.part == sim::Span::Part::send_engine ? Group::send_engines
                      : span.part == sim::Span::Part::link      ? Group::links
                                                                : Group::receive_engines;
  write(group, span.index, network_.name_of(span.part, span.index),
        std::to_string(span.flow.source) + " to " + std::to_string(span.flow.target) + ", " +
            std::to_string(span.bytes) + " bytes",
        span.start, span.end);
}

void Trace::peer_span(std::uint32_t rank, const char* what, sim::Picoseconds start, sim::Picoseconds end) {
  write(Group::peers, rank, "rank " + std::to_string(rank), what, start, end);
}

Result<void> Trace::finish() {
  std::fputs("\n]}\n", file_);
  const bool whole = std::ferror(file_) == 0;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!whole || !closed || std::rename(part_of(path_).c_str(), path_.c_str()) != 0)
    return std::unexpected(failed(path_, "finished"));
  return {};
}

} // namespace heddle::simulation

// A trace of what peers, engines and links did, in the format of Chrome's tracing and of Perfetto.
#pragma once

#include "sim/network_model.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

namespace heddle::simulation {

class Trace final : public sim::Recorder {
 public:
  // Error bad_argument: no such file can be made. One that is there stays as it is until the end.
  static Result<std::unique_ptr<Trace>> create(const std::string& path, const sim::NetworkModel& network);
  ~Trace() override;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void span(const sim::Span& span) override;
  // A stretch of a process's program.
  void peer_span(std::uint32_t rank, const char* what, sim::Picoseconds start, sim::Picoseconds end);
  // Everything is in the file. Error bad_argument.
  Result<void> finish();

 private:
  enum class Group : std::uint8_t { peers = 1, send_engines, links, receive_engines };

  Trace(std::FILE* file, std::string path, const sim::NetworkModel& network);
  void write(Group group, std::uint32_t track, const std::string& track_name, const std::string& what,
             sim::Picoseconds start, sim::Picoseconds end);

  std::FILE* file_;
  std::string path_;
  const sim::NetworkModel& network_;
  std::map<std::pair<Group, std::uint32_t>, bool> named_;
  bool first_ = true;
};

} // namespace heddle::simulation

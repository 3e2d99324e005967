// The processes of a job as the launcher sees them, wherever they run: on this machine (local_crew.hpp) or on several (remote_crew.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "heddle/error.hpp"
#include "launch/process.hpp"

namespace heddle::launch {

struct Ended {
  std::uint32_t rank = 0;
  Ending ending;
  std::string how{};               // for people, where it is not what the ending says
  std::chrono::milliseconds ago{}; // that it has most likely happened
};

class Crew {
 public:
  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  virtual ~Crew() = default; // no process is left after

  // Begins to start all; an error, now or by failure() later, means that the job has not started.
  virtual Result<void> start() = 0;
  [[nodiscard]] virtual std::optional<Error> failure() const { return std::nullopt; }

  virtual void signal_all(int number) = 0;
  // Those that have ended since the last call. `children`: a child of this process has, which is not looked for otherwise. Never
  // blocks.
  virtual std::vector<Ended> take_ended(bool children) = 0;
  [[nodiscard]] virtual bool runs(std::uint32_t rank) const = 0;

  // Readable when serve() has something to do; -1: nothing ever.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  virtual void serve() {}
  // When serve() is to be called at the latest.
  [[nodiscard]] virtual std::optional<base::Deadline> due() const { return std::nullopt; }
};

} // namespace heddle::launch

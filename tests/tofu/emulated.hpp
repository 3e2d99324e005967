// Jobs on the machine that tests/tofu_emulation emulates.
#pragma once

#include "tests/job/job.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace heddle::tests {

// Files of one machine: gone with it.
class EmulatedTofu {
 public:
  explicit EmulatedTofu(std::string switches = "") : switches_(std::move(switches)) {
    static int count = 0;
    const auto name = "tofu-emulation-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    fabric_ = std::filesystem::path("/dev/shm") / name;
    log_ = std::filesystem::path("/dev/shm") / (name + ".log");
  }
  ~EmulatedTofu() {
    std::filesystem::remove(fabric_);
    std::filesystem::remove(log_);
    std::filesystem::remove(beside());
  }
  EmulatedTofu(const EmulatedTofu&) = delete;
  EmulatedTofu& operator=(const EmulatedTofu&) = delete;

  [[nodiscard]] Command::Variables variables(Command::Variables more = {}) const {
    more.emplace_back("HEDDLE_TRANSLATORS", "utofu");
    more.emplace_back("HEDDLE_UTOFU_LIBRARY", HEDDLE_TOFU_EMULATION);
    more.emplace_back("TOFU_EMULATION", "fabric=" + fabric_.string() + ",log=" + log_.string() +
                                            (switches_.empty() ? "" : "," + switches_));
    return more;
  }
  // A file for what a test wants to share beside the machine.
  [[nodiscard]] std::string beside() const { return fabric_.string() + ".beside"; }
  // A line for each command that was carried out.
  [[nodiscard]] std::string log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::string switches_;
  std::filesystem::path fabric_, log_;
};

} // namespace heddle::tests

// A job of client programs on nodes that are not there: a plan, the recorder's file, and what each client says.
#pragma once

#include "paths/plan_file.hpp"
#include "tests/tools/program.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace heddle::tests {

using Words = std::vector<std::string>;

inline std::string client(const std::string& name) {
  return std::string(HEDDLE_TEST_PROGRAMS) + "/" + name + "_program";
}

class PlannedJob {
 public:
  PlannedJob() {
    static std::atomic<int> count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("heddle_paths_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
  }
  PlannedJob(const PlannedJob&) = delete;
  PlannedJob& operator=(const PlannedJob&) = delete;
  ~PlannedJob() {
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name), std::ios::binary).rdbuf();
    return text.str();
  }
  // What the recorder's adapters were told since the last time.
  [[nodiscard]] std::string recorded() const {
    const std::string text = read("record");
    std::filesystem::remove(file("record"));
    return text;
  }

  // A process on the node whose adapter has this LID.
  [[nodiscard]] Variables on(std::uint32_t lid, std::uint32_t lmc) const {
    return {{"LD_LIBRARY_PATH", HEDDLE_STAND_INS},
            {"RECORDER_LID", std::to_string(lid)},
            {"RECORDER_LMC", std::to_string(lmc)},
            {"RECORDER_FILE", file("record")},
            {"CLIENT_FILE", file("replaced")}};
  }

  // `heddle paths --plan plan -- COMMAND`.
  [[nodiscard]] Outcome run(const Words& command, std::uint32_t lid, const Variables& more = {},
                            std::uint32_t lmc = 3) const {
    Words arguments{"paths", "--plan", file("plan"), "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    Variables variables = on(lid, lmc);
    variables.insert(variables.end(), more.begin(), more.end());
    return heddle(arguments, variables);
  }

 private:
  std::filesystem::path folder_;
};

// Three nodes with LIDs 8 to 15, 16 to 23 and 40 to 47. What source s uses for destination d: 3 s + d + 1, kept below 8.
inline paths::Plan three_nodes() {
  paths::Plan plan{.lmc = 3, .lids = {8, 16, 40}};
  for (std::uint8_t i = 0; i < 9; ++i) plan.offsets.push_back(i < 7 ? i + 1 : i - 7);
  return plan;
}

} // namespace heddle::tests

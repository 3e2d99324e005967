// A simulated subnet with a real OpenSM on it: ibsim, and the commands of infiniband-diags as its clients. Each subnet has a
// socket name and a folder of its own, so any number can run side by side; both go with the object.
#pragma once

#include "routing/opensm_files.hpp"
#include "tests/command/command.hpp"

#include <filesystem>
#include <memory>
#include <optional>

namespace heddle::tests {

class SimulatedSubnet {
 public:
  // Which package is missing, in words; empty where all are there.
  static std::string missing();

  SimulatedSubnet();
  SimulatedSubnet(const SimulatedSubnet&) = delete;
  SimulatedSubnet& operator=(const SimulatedSubnet&) = delete;
  ~SimulatedSubnet();

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;

  // Starts ibsim on fabric.net; false with a reason in `trouble` where it does not come up.
  bool start(std::string& trouble);

  // Sweeps once with the tables in `lfts` and the LIDs in `guid2lid`, both in the folder. What went wrong, one line each:
  // OpenSM's exit status says nothing, so its log, its LIDs and the tables of the switches are looked at.
  std::vector<std::string> load_tables(std::uint32_t lmc, int seconds);

  // As load_tables, with OpenSM's own fat-tree routing and one LID per host; for its time.
  std::vector<std::string> route_by_ftree(int seconds);

  // The tables as the switches have them.
  Result<std::vector<routing::LftEntry>> tables();

  // The names of the switches that a packet passes.
  std::vector<std::string> trace(routing::Lid from, routing::Lid to);

  // What ibnetdiscover prints.
  std::string discover();

 private:
  [[nodiscard]] std::vector<std::string> troubles_in_log() const;
  void sweep(const std::vector<std::string>& options, int seconds);
  std::string run(std::vector<std::string> arguments, bool keep_errors = false);

  std::filesystem::path folder_;
  std::string socket_;
  std::unique_ptr<Command> simulator_;
};

} // namespace heddle::tests

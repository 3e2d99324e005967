// The board of launchers that speak PMI, version 1 or 2 (Hydra's mpiexec; Slurm with --mpi=pmi2), by their own lines on the socket that
// they give to each process: no library is needed.
// Messages of a process: 4 to begin, 1 for each piece that it puts or gets, 1 for a fence, 1 to leave.
#pragma once

#include "store/pinboard.hpp"
#include "store/pmi_text.hpp"
#include "store/text_line.hpp"

#include "base/descriptor.hpp"

#include <memory>

namespace heddle::store {

class Pmi final : public Pinboard {
 public:
  struct Place {
    int descriptor = -1;    // PMI_FD; stays open, and is the launcher's
    std::string port{};     // PMI_PORT, where there is none: HOST:PORT
    std::string id{};       // PMI_ID, said there
    std::string job{};      // PMI_JOBID
    std::uint32_t rank = 0; // PMI_RANK and PMI_SIZE, with PMI_FD
    std::uint32_t size = 0;
    std::uint32_t version = 0; // 0: 1, or 2 where the launcher does not speak 1
  };
  static Result<std::unique_ptr<Pmi>> open(const Place& place, Deadline deadline);

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] Placement placement(Deadline deadline) override;
  Result<void> fence(Deadline deadline) override;
  void abort(int status) override;
  void leave(Deadline deadline) override;

 private:
  Pmi(const Place& place, base::Descriptor own);
  Result<void> introduce(const std::string& id, Deadline deadline);
  Result<bool> begin(std::uint32_t version, Deadline deadline);
  Result<void> begin_2(const Place& place, Deadline deadline);
  // One request and its answer, which must be of that kind and without a failure.
  Result<PmiFields> ask(const std::string& request, std::string_view answer, Deadline deadline);
  [[nodiscard]] static std::string in_frame(const std::string& request);
  Result<PmiFields> line(Deadline deadline);
  Result<PmiFields> answer(Deadline deadline);

  [[nodiscard]] std::size_t longest() const override;
  Result<void> put_text(const std::string& key, const std::string& text, Deadline deadline) override;
  Result<std::optional<std::string>> get_text(const std::string& key, Deadline deadline) override;
  Result<std::optional<std::string>> look_up(const std::string& request, std::string_view answer, Deadline deadline);

  base::Descriptor own_;
  TextLine talk_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint32_t version_ = 1;
  std::string space_; // of keys: the job's
};

} // namespace heddle::store

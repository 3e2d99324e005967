// The board of launchers that speak PMIx (Open MPI's mpirun; Slurm with --mpi=pmix), by libpmix.
// Calls of a process to its node's server: 1 to begin, 1 for a put, 1 for a fence, which brings all that was put, so that gets ask nobody,
// and 1 to leave. Launchers' events of deaths are not used: mpirun sends none, and Slurm kills the step for it.
#pragma once

#include "store/pinboard.hpp"
#include "store/pmix_library.hpp"

#include <functional>
#include <memory>

namespace heddle::store {

class Pmix final : public Pinboard {
 public:
  static Result<std::unique_ptr<Pmix>> open(Deadline deadline);

  [[nodiscard]] std::uint32_t rank() const override { return self_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  [[nodiscard]] Placement placement(Deadline deadline) override;
  // The names of the nodes that the job's processes are on, with commas between.
  [[nodiscard]] Result<std::string> nodes() const;
  Result<void> fence(Deadline deadline) override;
  void abort(int status) override;
  void leave(Deadline deadline) override;

 private:
  explicit Pmix(const pmix::Library& library) : library_(library) {}

  struct Wait;
  static Result<pmix::Status> in_time(std::function<pmix::Status()> call, Deadline deadline);
  [[nodiscard]] static std::unexpected<Error> late();
  // A value of a process, or of the whole job; nothing where there is none.
  Result<std::optional<pmix::Value>> fetch(std::uint32_t rank, const std::string& key, Deadline deadline);
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::uint32_t rank, const char* key, Deadline deadline);
  [[nodiscard]] std::unexpected<Error> failed(const std::string& what, pmix::Status status) const;

  [[nodiscard]] std::size_t longest() const override;
  Result<void> put_text(const std::string& key, const std::string& text, Deadline deadline) override;
  Result<std::optional<std::string>> get_text(const std::string& key, Deadline deadline) override;

  pmix::Library library_;
  pmix::Process self_;
  std::uint32_t size_ = 0;
};

} // namespace heddle::store

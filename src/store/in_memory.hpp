// The store of processes that share a memory: a job of one process, and the processes of a simulated job. Nothing waits in it: what
// is not there when it is asked for will not come.
#pragma once

#include "store/store.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace heddle::store {

// What all members of such a job see.
class Board {
 public:
  explicit Board(std::uint32_t size) : blobs_(size) {}

 private:
  friend class InMemoryStore;
  std::map<std::string, Bytes, std::less<>> values_;
  std::vector<std::optional<Bytes>> blobs_; // by rank
};

class InMemoryStore final : public Store {
 public:
  InMemoryStore(std::shared_ptr<Board> board, std::uint32_t rank) : board_(std::move(board)), rank_(rank) {}

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(board_->blobs_.size()); }
  Result<void> put(std::string_view key, std::span<const std::byte> value, Deadline deadline) override;
  Result<Bytes> get(std::string_view key, std::int64_t from, Deadline deadline) override;
  Result<void> fence(Deadline) override { return {}; }
  // Once.
  Result<void> contribute(std::span<const std::byte> blob, Deadline deadline) override;
  Result<std::vector<Bytes>> gather(Deadline deadline) override;
  Result<std::size_t> take_notices(std::span<Notice>) override { return 0; }
  Result<void> watch_departures() override { return {}; }
  Result<void> report_stall(std::uint32_t, std::string_view) override {
    return std::unexpected(Error{.code = ErrorCode::unsupported, .fact = "there is no launcher to report to"});
  }
  Result<void> leave() override { return {}; }

 private:
  std::shared_ptr<Board> board_;
  std::uint32_t rank_;
};

} // namespace heddle::store

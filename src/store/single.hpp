// The store of a job of one process: nothing to connect to, nobody to wait for.
#pragma once

#include <map>
#include <string>

#include "store/store.hpp"

namespace heddle::store {

class SingleStore final : public Store {
 public:
  [[nodiscard]] std::uint32_t rank() const override { return 0; }
  [[nodiscard]] std::uint32_t size() const override { return 1; }
  Result<void> put(std::string_view key, std::span<const std::byte> value, Deadline deadline) override;
  // A key that is not there is timed_out at once, as nobody can put it during the wait.
  Result<Bytes> get(std::string_view key, std::int64_t from, Deadline deadline) override;
  Result<void> fence(Deadline deadline) override;
  Result<std::vector<Bytes>> allgather(std::span<const std::byte> blob, Deadline deadline) override;
  Result<std::size_t> take_notices(std::span<Notice> notices) override;
  Result<void> watch_departures() override { return {}; }
  Result<void> report_stall(std::uint32_t, std::string_view) override {
    return std::unexpected(Error{.code = ErrorCode::unsupported, .fact = "no launcher is there to report to"});
  }
  Result<void> leave() override { return {}; }

 private:
  std::map<std::string, Bytes, std::less<>> values_;
};

} // namespace heddle::store

#include "store/single.hpp"

namespace heddle::store {

Result<void> SingleStore::put(std::string_view key, std::span<const std::byte> value, Deadline) {
  if (key.empty() || key.size() > kLargestKey || value.size() > kLargestValue) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "a key or value is empty or too long"});
  }
  values_[std::string(key)] = Bytes(value.begin(), value.end());
  return {};
}

Result<Bytes> SingleStore::get(std::string_view key, std::int64_t, Deadline) {
  if (const auto found = values_.find(key); found != values_.end()) return found->second;
  return std::unexpected(Error{.code = ErrorCode::timed_out,
                               .fact = "nobody else is in the job to put '" + std::string(key) + "' into the store"});
}

Result<void> SingleStore::fence(Deadline) {
  return {};
}

Result<std::vector<Bytes>> SingleStore::allgather(std::span<const std::byte> blob, Deadline) {
  if (blob.size() > kLargestBlob) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "a blob is longer than 4KiB"});
  }
  return std::vector<Bytes>{Bytes(blob.begin(), blob.end())};
}

Result<std::size_t> SingleStore::take_notices(std::span<Notice>) {
  return 0;
}

} // namespace heddle::store

#include "store/in_memory.hpp"

namespace heddle::store {

namespace {

std::unexpected<Error> absent(const std::string& fact) {
  return std::unexpected(Error{.code = ErrorCode::timed_out, .fact = fact});
}

} // namespace

Result<void> InMemoryStore::put(std::string_view key, std::span<const std::byte> value, Deadline) {
  if (key.empty() || key.size() > kLargestKey || value.size() > kLargestValue)
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "a key or value is empty or too long"});
  board_->values_[std::string(key)] = Bytes(value.begin(), value.end());
  return {};
}

Result<Bytes> InMemoryStore::get(std::string_view key, std::int64_t, Deadline) {
  if (const auto found = board_->values_.find(key); found != board_->values_.end()) return found->second;
  return absent("nobody has put '" + std::string(key) + "' into the store, and nobody will");
}

Result<void> InMemoryStore::contribute(std::span<const std::byte> blob, Deadline) {
  if (blob.size() > kLargestBlob)
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "a blob is longer than 4KiB"});
  board_->blobs_[rank_] = Bytes(blob.begin(), blob.end());
  return {};
}

Result<std::vector<Bytes>> InMemoryStore::gather(Deadline) {
  std::vector<Bytes> blobs;
  for (const auto& blob : board_->blobs_) {
    if (!blob) return absent("rank " + std::to_string(blobs.size()) + " has not contributed");
    blobs.push_back(*blob);
  }
  return blobs;
}

} // namespace heddle::store

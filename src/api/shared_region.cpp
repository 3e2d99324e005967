#include <heddle/shared_region.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle {

SharedRegion::SharedRegion(Context& context, AreaId id, std::size_t bytes)
    : context_(&context), id_(id), copy_(bytes), twin_(bytes) {}

SharedRegion::SharedRegion(SharedRegion&& other) noexcept
    : context_(other.context_),
      id_(other.id_),
      open_(std::exchange(other.open_, false)),
      copy_(std::move(other.copy_)),
      twin_(std::move(other.twin_)),
      traffic_(other.traffic_) {}

SharedRegion& SharedRegion::operator=(SharedRegion&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(id_, other.id_);
  std::swap(open_, other.open_);
  std::swap(copy_, other.copy_);
  std::swap(twin_, other.twin_);
  std::swap(traffic_, other.traffic_);
  return *this;
}

SharedRegion::~SharedRegion() {
  if (open_) static_cast<void>(context_->one_sided().close(id_));
}

Result<SharedRegion> SharedRegion::create(Context& context, AreaId id, std::size_t bytes) {
  if (context.size() == 0) // moved from: the call says so
    return std::unexpected(context.one_sided().allocate(id, bytes).error());
  SharedRegion region(context, id, bytes);
  const std::size_t own_pages = (region.pages() + context.size() - 1) / context.size();
  auto home = context.one_sided().allocate(id, std::max(own_pages, std::size_t{1}) * kPage);
  if (!home) return std::unexpected(std::move(home.error()));
  region.open_ = true;
  if (auto together = context.barrier(); !together) return std::unexpected(std::move(together.error()));
  return region;
}

Place SharedRegion::home_of(std::size_t page) const {
  const std::size_t size = context_->size();
  return {.peer = Rank{static_cast<std::uint32_t>(page % size)}, .area = id_, .offset = page / size * kPage};
}

std::span<std::byte> SharedRegion::part(std::vector<std::byte>& of, std::size_t page) const {
  return std::span(of).subspan(page * kPage, std::min(kPage, of.size() - page * kPage));
}

ErrorCode SharedRegion::release() {
  Tracker tracker;
  for (std::size_t page = 0; page < pages(); ++page) {
    const auto now = part(copy_, page);
    const auto before = part(twin_, page);
    if (std::memcmp(now.data(), before.data(), now.size()) == 0) continue;
    context_->one_sided().push(home_of(page), now, tracker, Selection::changed(before));
  }
  if (const ErrorCode code = context_->one_sided().wait(tracker); code != ErrorCode::ok) return code;
  constexpr std::size_t kWord = 4; // of Selection::changed
  for (std::size_t at = 0; at < copy_.size(); at += kWord) {
    const std::size_t bytes = std::min(kWord, copy_.size() - at);
    if (std::memcmp(&copy_[at], &twin_[at], bytes) == 0) continue;
    std::memcpy(&twin_[at], &copy_[at], bytes);
    traffic_.pushed += bytes;
  }
  return ErrorCode::ok;
}

ErrorCode SharedRegion::acquire() {
  if (const ErrorCode code = release(); code != ErrorCode::ok) return code;
  Tracker tracker;
  for (std::size_t page = 0; page < pages(); ++page)
    context_->one_sided().pull(home_of(page), part(copy_, page), tracker, {}, part(twin_, page));
  const ErrorCode code = context_->one_sided().wait(tracker);
  if (code == ErrorCode::ok) traffic_.pulled += copy_.size();
  return code;
}

ErrorCode SharedRegion::barrier() {
  if (const ErrorCode code = release(); code != ErrorCode::ok) return code;
  if (const auto together = context_->barrier(); !together) return together.error().code;
  if (const ErrorCode code = acquire(); code != ErrorCode::ok) return code;
  // Nobody writes again before all have read.
  const auto again = context_->barrier();
  return again ? ErrorCode::ok : again.error().code;
}

} // namespace heddle

#include "progress/peer_news.hpp"

#include <unistd.h>

#include <array>
#include <new>
#include <span>
#include <string>

namespace heddle::progress {

namespace {

constexpr std::uint64_t kPatience = 200'000'000;        // ns without progress, before asking who has left
constexpr std::uint64_t kNewsPatience = 10'000'000'000; // ns, for what has become of a process that is not there

} // namespace

void PeerNews::look(std::uint64_t now_ns) {
  if (lost_) return;
  if (work_.awaits_news()) {
    watch_departures();
    if (awaited_ns_ == 0) awaited_ns_ = now_ns;
    if (now_ns - awaited_ns_ > kNewsPatience) work_.give_up_news();
  } else {
    awaited_ns_ = 0;
  }
  // What has waited long may wait for one that has left in good order, of which nobody tells unasked.
  if (!watches_departures_ && now_ns - last_count_ns_ >= kPatience) {
    if (work_.waits_since(last_count_)) watch_departures();
    last_count_ns_ = now_ns;
    last_count_ = work_.count();
  }
  std::erase_if(departing_, [this](std::uint32_t rank) { return work_.peer_left(rank); });
  take();
}

void PeerNews::watch_departures() {
  if (!watches_departures_ && !lost_) watches_departures_ = store_.watch_departures().has_value();
}

void PeerNews::take() {
  std::array<store::Notice, 16> notices{};
  while (!lost_) {
    const auto count = store_.take_notices(notices);
    if (!count) return lose(count.error());
    for (const store::Notice& notice : std::span(notices).first(*count)) {
      if (notice.ends_job_with) {
        log_.error("rank " + std::to_string(notice.rank) + " has ended the job with status " +
                   std::to_string(*notice.ends_job_with));
        ::_exit(*notice.ends_job_with);
      }
      if (notice.failed)
        work_.peer_failed(notice.rank);
      else if (!work_.peer_left(notice.rank))
        tell_later(notice.rank);
    }
    if (*count < notices.size()) return;
  }
}

void PeerNews::tell_later(std::uint32_t rank) {
  try {
    departing_.push_back(rank);
  } catch (const std::bad_alloc&) { // then its network alone tells of its end
  }
}

// The launcher is gone, and with it the job: nobody would tell whoever waits for a peer that it has ended, too.
void PeerNews::lose(const Error& error) {
  lost_ = true;
  log_.error("no more news of failed peers: " + error.message());
  for (std::uint32_t rank = 0; rank < store_.size(); ++rank)
    if (rank != store_.rank()) work_.peer_failed(rank);
}

} // namespace heddle::progress

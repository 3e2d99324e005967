#include "sim/event_queue.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace heddle::sim {
namespace {

constexpr std::size_t kFew = 24; // up to here, sorting by insertion is quickest

bool later(const Event& a, const Event& b) {
  return b.before(a);
}

// Most days are in order already: their events came from like causes in the order of time.
void sort_day(std::vector<Event>& day) {
  const auto earlier = [](const Event& a, const Event& b) { return a.before(b); };
  if (day.size() > kFew) {
    if (!std::is_sorted(day.begin(), day.end(), earlier)) std::sort(day.begin(), day.end(), earlier);
    return;
  }
  for (std::size_t i = 1; i < day.size(); ++i) {
    const Event event = day[i];
    std::size_t hole = i;
    for (; hole > 0 && event.before(day[hole - 1]); --hole) day[hole] = day[hole - 1];
    day[hole] = event;
  }
}

} // namespace

void EventQueue::expect(Picoseconds ahead) {
  const auto day = static_cast<std::uint64_t>(ahead.count()) / kDays + 1;
  day_bits_ = static_cast<unsigned>(std::bit_width(day - 1));
  const Picoseconds now = today_.empty() ? Picoseconds{0} : today_.back().time;
  day_ = now.count() >> day_bits_;
}

// The newest event goes behind all others of its time.
void EventQueue::put_today(const Event& event) {
  std::size_t hole = today_.size();
  today_.push_back(event);
  for (; hole > next_ && event.time < today_[hole - 1].time; --hole) today_[hole] = today_[hole - 1];
  today_[hole] = event;
}

void EventQueue::put_far(const Event& event) {
  far_.push_back(event);
  std::push_heap(far_.begin(), far_.end(), later);
}

std::int64_t EventQueue::next_day() const {
  const auto now = static_cast<std::size_t>(day_ % kDays);
  const std::size_t word = now / 64;
  const std::uint64_t rest = now % 64 == 63 ? 0 : words_[word] & ~0ULL << (now % 64 + 1);
  std::size_t slot = 0;
  if (rest != 0) {
    slot = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
  } else {
    if (used_words_ == 0) return std::numeric_limits<std::int64_t>::max();
    // The words after this one, and at last the part of this one that lies in the next round.
    const auto turned = std::rotr(used_words_, static_cast<int>((word + 1) % 64));
    const std::size_t found = (word + 1 + static_cast<std::size_t>(std::countr_zero(turned))) % 64;
    slot = found * 64 + static_cast<std::size_t>(std::countr_zero(words_[found]));
  }
  return day_ + static_cast<std::int64_t>((slot + kDays - now) % kDays);
}

void EventQueue::turn_to_next_day() {
  std::int64_t day = next_day();
  if (!far_.empty()) day = std::min(day, far_.front().time.count() >> day_bits_);
  day_ = day;
  today_.clear();
  next_ = 0;
  bring_near();
  open(day);
}

// The list is youngest first; reversed it is in the order of pushing.
void EventQueue::open(std::int64_t day) {
  const auto slot = static_cast<std::size_t>(day % kDays);
  std::uint32_t index = lists_[slot];
  lists_[slot] = kEnd;
  words_[slot / 64] &= ~(1ULL << slot % 64);
  if (words_[slot / 64] == 0) used_words_ &= ~(1ULL << slot / 64);
  while (index != kEnd) {
    Entry& entry = entries_[index];
    today_.push_back(entry.event);
    const std::uint32_t next = entry.next;
    entry.next = free_;
    free_ = index;
    index = next;
  }
  std::reverse(today_.begin(), today_.end());
  sort_day(today_);
}

void EventQueue::bring_near() {
  while (!far_.empty()) {
    const Event event = far_.front();
    const std::int64_t day = event.time.count() >> day_bits_;
    if (day - day_ >= kDays) return;
    std::pop_heap(far_.begin(), far_.end(), later);
    far_.pop_back();
    put_on(static_cast<std::size_t>(day % kDays), event);
  }
}

} // namespace heddle::sim

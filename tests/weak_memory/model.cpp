#include "tests/weak_memory/model.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::memory_order {

namespace {

constexpr std::uint64_t kGap = std::uint64_t{1} << 32U; // between two messages, so that others find room

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
bool agrees(std::memory_order order) {
  return order == std::memory_order_seq_cst;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ (value + 1)) * 0x9e37'79b9'7f4a'7c15ULL; // so that 0 into 0 is not 0
  hash = (hash ^ (hash >> 29U)) * 0xbf58'476d'1ce4'e5b9ULL;
  return hash ^ (hash >> 32U);
}

} // namespace

void Model::Knowledge::join(const Knowledge& other, std::size_t locations) {
  for (std::size_t i = 0; i < locations; ++i) view[i] = std::max(view[i], other.view[i]);
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
}

void Model::join_view(View& view, const View& other) const {
  for (std::size_t i = 0; i < locations_.size(); ++i) view[i] = std::max(view[i], other[i]);
}

void Model::begin(std::size_t threads) {
  for (Location& location : locations_) location.used = false;
  threads_.assign(threads, {});
  agreed_ = {};
}

std::size_t Model::find(const void* at, std::size_t bytes) {
  const auto [place, is_new] = places_.try_emplace(at, locations_.size());
  if (is_new) {
    if (locations_.size() == kMostLocations) chooser_.violated("the test has too many locations");
    locations_.push_back({.at = at, .messages = {}});
  }
  Location& location = locations_[place->second];
  if (!location.used) {
    Message initial;
    std::memcpy(&initial.value, at, bytes);
    location.messages.assign(1, initial);
    location.loaded = location.stored = location.plainly_loaded = location.plainly_stored = {};
    location.used = true;
  }
  return place->second;
}

void Model::tick(std::size_t thread, std::uint64_t what) {
  Thread& mine = threads_[thread];
  ++mine.steps;
  ++mine.current.clock[thread];
  mine.history = mix(mine.history, what);
}

void Model::remember(std::size_t thread, std::uint64_t what) {
  threads_[thread].history = mix(threads_[thread].history, what);
}

void Model::no_race(std::size_t thread, const Clock& others, const Location& location, const char* what) {
  const Clock& known = threads_[thread].current.clock;
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    if (other == thread || others[other] <= known[other]) continue;
    chooser_.violated("data race of threads " + std::to_string(thread) + " and " + std::to_string(other) + ": " + what +
                      ", location " + std::to_string(&location - locations_.data()));
  }
}

std::uint64_t Model::oldest(std::size_t thread, std::size_t location, std::memory_order order) const {
  const std::uint64_t own = threads_[thread].current.view[location];
  return agrees(order) ? std::max(own, agreed_[location]) : own;
}

void Model::read(std::size_t thread, std::size_t location, std::size_t message, std::memory_order order) {
  Location& place = locations_[location];
  Thread& mine = threads_[thread];
  const Message& seen = place.messages[message];
  tick(thread, mix(location, seen.name));
  no_race(thread, place.plainly_stored, place, "an atomic load meets a plain store");
  place.loaded[thread] = mine.current.clock[thread];
  mine.current.view[location] = std::max(mine.current.view[location], seen.time);
  (acquires(order) ? mine.current : mine.to_acquire).join(seen.released, locations_.size());
  if (agrees(order)) agreed_[location] = std::max(agreed_[location], seen.time);
}

void Model::insert(std::size_t thread, std::size_t location, std::size_t after, Message message) {
  Location& place = locations_[location];
  Thread& mine = threads_[thread];
  surprised_ = surprised_ || !place.ever_stored;
  place.ever_stored = true;
  message.name = (std::uint64_t{thread} + 1) << 32U | mine.steps;
  mine.current.view[location] = message.time;
  message.released.view[location] = std::max(message.released.view[location], message.time);
  place.messages.insert(place.messages.begin() + static_cast<std::ptrdiff_t>(after) + 1, message);
}

void Model::write_after(std::size_t thread, std::size_t location, std::size_t message, std::uint64_t value,
                        std::memory_order order) {
  Location& place = locations_[location];
  Thread& mine = threads_[thread];
  no_race(thread, place.plainly_loaded, place, "an atomic store meets a plain load");
  no_race(thread, place.plainly_stored, place, "an atomic store meets a plain store");
  place.stored[thread] = mine.current.clock[thread];
  Message next{.value = value, .time = place.messages[message].time + 1, .released = place.messages[message].released};
  place.messages[message].followed = true;
  mine.current.view[location] = next.time;
  next.released.join(releases(order) ? mine.current : mine.to_release, locations_.size());
  insert(thread, location, message, next);
  if (agrees(order)) agreed_[location] = std::max(agreed_[location], next.time);
}

std::uint64_t Model::load(std::size_t thread, const void* at, std::size_t bytes, std::memory_order order) {
  const std::size_t location = find(at, bytes);
  const std::vector<Message>& messages = locations_[location].messages;
  const std::uint64_t bound = oldest(thread, location, order);
  std::size_t first = messages.size() - 1;
  while (first > 0 && messages[first - 1].time >= bound) --first;
  const std::size_t chosen = messages.size() - 1 - chooser_.choose(messages.size() - first);
  const std::uint64_t value = messages[chosen].value;
  read(thread, location, chosen, order);
  return value;
}

void Model::store(std::size_t thread, const void* at, std::size_t bytes, std::uint64_t value, std::memory_order order) {
  const std::size_t location = find(at, bytes);
  Location& place = locations_[location];
  Thread& mine = threads_[thread];
  const std::uint64_t bound = oldest(thread, location, order);
  std::array<std::size_t, 64> ways{};
  std::size_t count = 0;
  for (std::size_t i = place.messages.size(); i-- > 0 && place.messages[i].time >= bound;)
    if (!place.messages[i].followed) ways.at(count++) = i;
  const std::size_t after = ways.at(chooser_.choose(count));
  tick(thread, mix(location, value));
  no_race(thread, place.plainly_loaded, place, "an atomic store meets a plain load");
  no_race(thread, place.plainly_stored, place, "an atomic store meets a plain store");
  place.stored[thread] = mine.current.clock[thread];
  const bool last = after + 1 == place.messages.size();
  const std::uint64_t before = place.messages[after].time;
  Message message{.value = value,
                  .time = last ? before + kGap : before + (place.messages[after + 1].time - before) / 2};
  mine.current.view[location] = message.time;
  message.released = releases(order) ? mine.current : mine.to_release;
  insert(thread, location, after, message);
  if (agrees(order)) agreed_[location] = std::max(agreed_[location], message.time);
}

void Model::fence(std::size_t thread, std::memory_order order) {
  Thread& mine = threads_[thread];
  tick(thread, 1);
  if (acquires(order)) mine.current.join(mine.to_acquire, locations_.size());
  if (agrees(order)) {
    join_view(mine.current.view, agreed_);
    compiler_fence(thread);
    agreed_ = mine.current.view;
    remember(thread, hash_of(agreed_));
  }
  if (releases(order)) mine.to_release = mine.current;
}

void Model::compiler_fence(std::size_t thread) {
  Thread& mine = threads_[thread];
  if (mine.passed_barrier) {
    join_view(mine.current.view, mine.barrier);
    remember(thread, hash_of(mine.current.view));
    mine.passed_barrier = false;
  }
  mine.compiled = mine.current.view;
}

void Model::barrier_everywhere(std::size_t thread) {
  fence(thread, std::memory_order_seq_cst);
  const View told = agreed_;
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    if (other == thread) continue;
    join_view(threads_[other].barrier, told);
    threads_[other].passed_barrier = true;
    join_view(agreed_, threads_[other].compiled);
  }
  fence(thread, std::memory_order_seq_cst);
}

std::uint64_t Model::newest(std::size_t thread, const void* at, std::size_t bytes, std::memory_order order) {
  const std::size_t location = find(at, bytes);
  const std::size_t last = locations_[location].messages.size() - 1;
  read(thread, location, last, order);
  return locations_[location].messages[last].value;
}

std::uint64_t Model::plain_load(std::size_t thread, const void* at) {
  const std::size_t location = find(at, sizeof(std::uint64_t));
  Location& place = locations_[location];
  Thread& mine = threads_[thread];
  const Message& last = place.messages.back();
  tick(thread, mix(location, last.name));
  no_race(thread, place.plainly_stored, place, "a plain load meets a plain store");
  no_race(thread, place.stored, place, "a plain load meets an atomic store");
  place.plainly_loaded[thread] = mine.current.clock[thread];
  mine.current.view[location] = last.time;
  return last.value;
}

void Model::plain_store(std::size_t thread, const void* at, std::uint64_t value) {
  const std::size_t location = find(at, sizeof(std::uint64_t));
  Location& place = locations_[location];
  Thread& mine = threads_[thread];
  tick(thread, mix(location, value));
  no_race(thread, place.plainly_loaded, place, "a plain store meets a plain load");
  no_race(thread, place.plainly_stored, place, "a plain store meets a plain store");
  no_race(thread, place.loaded, place, "a plain store meets an atomic load");
  no_race(thread, place.stored, place, "a plain store meets an atomic store");
  place.plainly_stored[thread] = mine.current.clock[thread];
  insert(thread, location, place.messages.size() - 1,
         {.value = value, .time = place.messages.back().time + kGap, .released = mine.to_release});
}

std::uint64_t Model::hash_of(const View& view) const {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (!locations_[i].used || view[i] == 0) continue;
    for (const Message& message : locations_[i].messages)
      if (message.time == view[i]) hash = mix(hash, mix(i, message.name));
  }
  return hash;
}

std::uint64_t Model::state() const {
  std::uint64_t hash = 0;
  for (const Thread& thread : threads_) {
    hash = mix(hash, thread.history);
    if (thread.passed_barrier) hash = mix(hash, hash_of(thread.barrier));
  }
  // Views follow from what each thread has read; the modification orders and the agreed view do not.
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (!locations_[i].used) continue;
    hash = mix(hash, i);
    for (const Message& message : locations_[i].messages) {
      hash = mix(hash, message.name);
      if (message.time <= agreed_[i]) hash = mix(hash, 3);
    }
  }
  return hash;
}

} // namespace heddle::memory_order

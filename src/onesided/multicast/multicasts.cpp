#include "onesided/multicast/multicasts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::onesided {

namespace {

// Groups that are kept for later: programs send to the same few again and again.
constexpr std::size_t kMostGroups = 16;

bool copied_by_processor(const KnownArea& area) {
  return area.direct.exists() || area.connection->queue().capabilities().processor_copies;
}

} // namespace

// Has all the memory that it needs until it is launched.
Gathering& Multicasts::gather(std::size_t receivers) {
  if (idle_.empty()) {
    Gathering& made = gatherings_.emplace_back();
    idle_.reserve(gatherings_.size());
    idle_.push_back(&made);
  }
  Gathering& gathering = *idle_.back();
  gathering.ready.reserve(receivers);
  shared_.reserve(receivers);
  idle_.pop_back();
  gathering.ready.clear();
  gathering.awaited = 1;
  return gathering;
}

void Multicasts::joined(Transfer& transfer) {
  Gathering& gathering = *std::exchange(transfer.gathering, nullptr);
  gathering.ready.push_back(&transfer);
  release(common_, gathering);
}

void Multicasts::launch(Gathering& gathering) {
  ++launches_;
  shared_.clear();
  for (Transfer* receiver : gathering.ready) {
    KnownArea& area = *receiver->area;
    const bool again = std::exchange(area.last_multicast, launches_) == launches_; // named twice
    if (area.state != KnownArea::State::open)
      transfers_.finish(*receiver, area.code_of_closed());
    else if (again || copied_by_processor(area))
      transfers_.run(*receiver);
    else if (const ErrorCode code = transfers_.prepare(*receiver); code != ErrorCode::ok)
      transfers_.finish(*receiver, code);
    else
      shared_.push_back(receiver);
  }
  put_to_group(shared_);
  relay(shared_);
  for (Transfer* receiver : shared_) transfers_.run(*receiver);
  idle_.push_back(&gathering);
}

// --- groups ---

void Multicasts::put_to_group(base::BackedVector<Transfer*>& receivers) {
  const auto copying = [](const Transfer* each) { return each->area->connection->queue().facets().groups != nullptr; };
  const auto first = std::ranges::find_if(receivers, copying);
  if (first == receivers.end() || Transfers::better_scattered(**first)) return;
  const Port* port = (*first)->area->connection->port;
  const auto others = std::ranges::stable_partition(
      receivers, [port](const Transfer* each) { return each->area->connection->port != port; });
  if (others.size() < 2) return;
  Group* group = group_of({others.begin(), others.end()});
  if (group == nullptr) return;
  if (free_puts_.empty()) {
    free_puts_.push_back(&puts_.emplace_back());
    free_puts_.back()->index = puts_.size() - 1;
  }
  GroupPut& put = *free_puts_.back();
  free_puts_.pop_back();
  put.group = group;
  put.receivers.assign(others.begin(), others.end());
  put.code = ErrorCode::ok;
  receivers.erase(others.begin(), others.end());
  post(put);
  if (put.in_flight == 0) end(put); // of nothing
}

Multicasts::Group* Multicasts::group_of(std::span<Transfer* const> receivers) {
  base::BackedVector<ir::GroupMember> members;
  for (const Transfer* receiver : receivers)
    members.push_back({.peer = ir::Peer{receiver->area->rank}, .place = receiver->area->place});
  ScheduleQueue& queue = receivers.front()->area->connection->queue();
  const auto same = [](const ir::GroupMember& a, const ir::GroupMember& b) {
    return a.peer == b.peer && a.place.key == b.place.key && a.place.offset == b.place.offset;
  };
  for (Group& group : groups_)
    if (group.queue == &queue && std::ranges::equal(group.members, members, same)) return &group;
  auto free = std::ranges::find_if(groups_, [](const Group& group) { return group.queue == nullptr; });
  if (free == groups_.end() && groups_.size() >= kMostGroups) { // the one used longest ago
    for (auto each = groups_.begin(); each != groups_.end(); ++each)
      if (each->in_use == 0 && (free == groups_.end() || each->last_use < free->last_use)) free = each;
  }
  Group& group = free != groups_.end() ? *free : groups_.emplace_back();
  if (group.queue != nullptr) group.queue->facets().groups->drop_group(group.number);
  group = {};
  const auto number = queue.facets().groups->make_group(members);
  if (!number) return nullptr;
  group = {.queue = &queue, .number = *number, .members = std::move(members)};
  return &group;
}

void Multicasts::post(GroupPut& put) {
  Transfer& first = *put.receivers.front();
  put.group->last_use = launches_;
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::signalled;
  command.peer = put.group->number;
  command.cookie = engine::make_cookie(CookieKind::group_put, put.index);
  for (Piece piece; first.cursor.next(piece, put.group->queue->capabilities().largest_transfer);) {
    command.remote = {.key = {}, .offset = first.offset + piece.remote};
    command.local = first.local.data() + piece.local;
    command.bytes = piece.bytes;
    command.head_bytes = 0;
    if (piece.bytes <= ir::kHeadBytes) {
      std::memcpy(command.head.data(), command.local, piece.bytes);
      command.head_bytes = static_cast<std::uint32_t>(std::exchange(command.bytes, 0));
    }
    ++put.in_flight;
    ++put.group->in_use;
    put.group->queue->post(command);
  }
}

void Multicasts::command_ended(const ir::Event& event) {
  GroupPut& put = puts_[engine::cookie_number(event.cookie)];
  --put.in_flight;
  --put.group->in_use;
  if (put.code == ErrorCode::ok) put.code = code_of(event, nullptr);
  if (put.in_flight == 0) end(put);
}

// The network says that something went wrong, not with whom: that shows at the receivers, or else it is everybody's.
void Multicasts::end(GroupPut& put) {
  const auto own_code = [](const Transfer& receiver) {
    const KnownArea& area = *receiver.area;
    if (area.connection->failed()) return area.connection->fate;
    const bool same =
        area.state == KnownArea::State::open && static_cast<std::uint64_t>(area.place.key) == receiver.key;
    return same ? ErrorCode::ok : ErrorCode::revoked_area;
  };
  const bool explained = std::ranges::any_of(
      put.receivers, [&](const Transfer* receiver) { return own_code(*receiver) != ErrorCode::ok; });
  const PieceCursor cursor = put.receivers.front()->cursor;
  for (Transfer* receiver : put.receivers) {
    const ErrorCode own = own_code(*receiver);
    receiver->cursor = cursor;
    if (own == ErrorCode::ok) transfers_.give_signal(*receiver); // a closed area does not believe it
    transfers_.finish(*receiver, put.code == ErrorCode::ok ? ErrorCode::ok : explained ? own : put.code);
  }
  put.receivers.clear();
  free_puts_.push_back(&put);
}

// --- trees ---

// A tree names its receivers by rank, so that all must mean the same by that.
void Multicasts::relay(base::BackedVector<Transfer*>& receivers) {
  if (!common_.engine.ranks_agree) return;
  const auto suiting = std::ranges::stable_partition(
      receivers, [count = receivers.size()](const Transfer* each) { return !Relays::suits(*each, count); });
  chosen_.assign(suiting.begin(), suiting.end());
  if (chosen_.empty() || !Relays::worthwhile(*chosen_.front(), chosen_.size())) return;
  receivers.erase(suiting.begin(), suiting.end());
  relays_.start(chosen_);
}

} // namespace heddle::onesided

#include "tests/scenario/meetings.hpp"

#include "tests/scenario/content.hpp"
#include "tests/scenario/lot.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

namespace heddle::tests {

namespace {

constexpr Tag kPatternTag{5};
constexpr std::byte kUsedAgain{0x5a};

// Of a pattern's request of that number: the first as drawn, then smaller ones.
std::uint64_t request_bytes(const Meeting& meeting, std::uint64_t number) {
  return number == 0 ? meeting.bytes : Lot::mix(meeting.bytes + number) % (number % 2 == 0 ? meeting.bytes + 1 : 41);
}

} // namespace

std::string Meetings::name_of(const Running& running) const {
  constexpr std::array kNames = {"a barrier", "an all-to-all", "an all-to-all of various sizes",
                                 "a pattern of messages", "a pattern of puts"};
  return "meeting " + std::to_string(running.number) + ", " + kNames[static_cast<std::size_t>(running.meeting.kind)];
}

void Meetings::start_next(bool by_event) {
  if (all_started()) return;
  Running& running = running_.emplace_back();
  running.number = next_++;
  running.meeting = role_.scenario.meetings[running.number];
  running.by_event = by_event;
  ++role_.witness.arrived_at[running.number];
  role_.note([&] { return "starts " + name_of(running); });
  const auto request = start(running, notify_for(running));
  role_.demand(request.has_value(), [&] { return name_of(running) + ": " + request.error().message(); });
  running.request = *request;
}

Result<Request> Meetings::start(Running& running, Notify notify) {
  const std::uint32_t size = role_.scenario.peers();
  const std::uint64_t bytes = running.meeting.bytes;
  switch (running.meeting.kind) {
    case Meeting::Kind::barrier: return role_.context.start_barrier(notify);
    case Meeting::Kind::alltoall:
      running.out.resize(size * bytes);
      running.in.resize(size * bytes);
      for (std::uint32_t to = 0; to < size; ++to)
        put_bytes(running.out.data() + to * bytes, content(running, role_.rank, to, bytes), bytes);
      return role_.context.start_alltoall(running.out, running.in, notify);
    case Meeting::Kind::alltoallv: return start_alltoallv(running, notify);
    case Meeting::Kind::pattern:
    case Meeting::Kind::put_pattern: return start_compile(running, notify);
  }
  return role_.context.start_barrier(notify);
}

std::uint64_t Meetings::block_bytes(const Running& running, std::uint32_t from, std::uint32_t to) const {
  if (running.meeting.kind == Meeting::Kind::alltoall) return running.meeting.bytes;
  return Lot::mix(running.number * 4096 + from * 64 + to) % (running.meeting.bytes + 1);
}

const std::byte* Meetings::content(const Running& running, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
  return pattern_bytes((running.number * 64 + running.round) * 4096 + from * 64 + to, bytes);
}

Result<Request> Meetings::start_alltoallv(Running& running, Notify notify) {
  std::uint64_t out = 0;
  std::uint64_t in = 0;
  for (std::uint32_t peer = 0; peer < role_.scenario.peers(); ++peer) {
    running.out_bytes.push_back(block_bytes(running, role_.rank, peer));
    running.in_bytes.push_back(block_bytes(running, peer, role_.rank));
    running.out_offsets.push_back(out);
    running.in_offsets.push_back(in);
    out += running.out_bytes.back();
    in += running.in_bytes.back();
  }
  running.out.resize(out);
  running.in.resize(in);
  for (std::uint32_t to = 0; to < role_.scenario.peers(); ++to)
    put_bytes(running.out.data() + running.out_offsets[to], content(running, role_.rank, to, running.out_bytes[to]),
              running.out_bytes[to]);
  return role_.context.start_alltoallv(
      {.memory = running.out, .bytes = running.out_bytes, .offsets = running.out_offsets},
      {.memory = running.in, .bytes = running.in_bytes, .offsets = running.in_offsets}, notify);
}

Result<Request> Meetings::start_compile(Running& running, Notify notify) {
  const std::uint32_t size = role_.scenario.peers();
  const auto distance = static_cast<std::uint32_t>(running.meeting.distance % size);
  const std::uint32_t to = (role_.rank + distance) % size;
  const std::uint32_t from = (role_.rank + size - distance) % size;
  const bool puts = running.meeting.kind == Meeting::Kind::put_pattern;
  const bool in_pieces = puts && running.meeting.form % 2 == 1;
  if (puts) running.out.resize(running.meeting.bytes);
  if (puts && !in_pieces) running.in.resize(running.meeting.bytes);
  auto pattern = Pattern::create(role_.context, {.barriers = puts});
  if (!pattern) return std::unexpected(pattern.error());
  running.pattern.emplace(std::move(*pattern));
  if (puts) {
    if (in_pieces) running.receives.push_back(std::make_unique<Region>(running.out.size(), running.meeting.form));
    const auto exposed =
        running.pattern->expose(kPatternTag, in_pieces ? running.receives.back()->layout() : Layout(running.in));
    if (!exposed) return std::unexpected(exposed.error());
    static_cast<void>(running.pattern->put(Rank{to}, kPatternTag, 0, running.out));
  } else {
    add_messages(running, to, from);
  }
  return running.pattern->start_compile(notify);
}

// Each to the next of the places `distance` on: several of various sizes and layouts, small ones among them.
void Meetings::add_messages(Running& running, std::uint32_t to, std::uint32_t from) {
  for (std::uint64_t i = 0; i < running.meeting.requests; ++i) {
    const std::uint64_t bytes = request_bytes(running.meeting, i);
    running.sends.push_back(std::make_unique<Region>(bytes, running.meeting.form * (i + 1)));
    running.receives.push_back(std::make_unique<Region>(bytes, running.meeting.form * (i + 2)));
    static_cast<void>(running.pattern->send(Rank{to}, kPatternTag, running.sends.back()->layout()));
    static_cast<void>(running.pattern->receive(Rank{from}, kPatternTag, running.receives.back()->layout()));
  }
}

void Meetings::fill_round(Running& running) const {
  put_bytes(running.out.data(), content(running, role_.rank, 0, running.out.size()), running.out.size());
  for (std::uint32_t i = 0; i < running.sends.size(); ++i) {
    const std::uint64_t bytes = request_bytes(running.meeting, i);
    running.sends[i]->write({content(running, role_.rank, i, bytes), bytes});
  }
}

void Meetings::ended(const Event& event) {
  const auto running = std::ranges::find(running_, event.cookie - kCookies, &Running::number);
  role_.demand(running != running_.end() && running->by_event, "an event of a meeting that is not under way");
  const Meeting::Kind kind = running->meeting.kind;
  role_.demand(event.kind == (kind == Meeting::Kind::barrier   ? Event::Kind::barrier_passed
                              : kind >= Meeting::Kind::pattern ? Event::Kind::pattern_ended
                                                               : Event::Kind::exchanged),
               [&] { return "an event of another kind tells of " + name_of(*running); });
  end(*running, event.completion);
}

void Meetings::collect() {
  for (Running& running : running_) {
    if (running.postponed) start_round(running);
    while (!running.over && !running.by_event && !running.postponed) {
      // A wait whose time is over has changed nothing.
      const Completion completion = role_.context.wait(running.request, std::chrono::nanoseconds(0));
      if (completion.code == ErrorCode::timed_out) break;
      end(running, completion);
    }
  }
  std::erase_if(running_, [](const Running& running) { return running.over; });
}

void Meetings::end(Running& running, const Completion& completion) {
  role_.note([&] { return "sees " + name_of(running) + " end: " + text_of(completion.code); });
  if (completion.code != ErrorCode::ok) return end_badly(running, completion.code);
  if (running.pattern) return end_round(running);
  if (running.meeting.kind == Meeting::Kind::barrier) {
    role_.demand(role_.witness.arrived_at[running.number] == role_.scenario.peers(),
                 [&] { return name_of(running) + " ended before all had started it"; });
  } else {
    role_.demand(completion.bytes == running.in.size(),
                 [&] { return name_of(running) + " received " + std::to_string(completion.bytes) + " bytes"; });
    check_blocks(running);
  }
  running.over = true;
}

void Meetings::end_badly(Running& running, ErrorCode code) {
  role_.demand(ends_with_others(code), [&] { return name_of(running) + " ended with " + text_of(code); });
  running.over = true;
  if (!running.pattern) return;
  role_.demand(running.pattern->error().has_value(), [&] { return name_of(running) + " failed without an error"; });
  if (running.round > 0) {
    ++role_.witness.happened.rounds_cut_short;
    // Without closing barriers only what is incomplete makes it fail.
    role_.demand(running.meeting.kind == Meeting::Kind::put_pattern || !running.pattern->incomplete().empty(),
                 [&] { return name_of(running) + " failed, and nothing is incomplete"; });
  }
  static_cast<void>(running.pattern->free());
  if (running.round > 0 && running.meeting.kind == Meeting::Kind::put_pattern) {
    std::ranges::fill(running.in, kUsedAgain);
    left_.push_back(std::move(running.in));
  }
}

void Meetings::check() const {
  for (const auto& memory : left_)
    role_.demand(std::ranges::all_of(memory, [](std::byte byte) { return byte == kUsedAgain; }),
                 "memory of a pattern was written after the pattern had failed");
}

void Meetings::free_under_way(Running& running) const {
  role_.demand(!running.pattern->free(), [&] { return name_of(running) + " can be freed while it runs"; });
  ++role_.witness.happened.frees_refused;
}

// Those who hear of an end first give their patterns up and free them, and others may hear that before.
bool Meetings::ends_with_others(ErrorCode code) const {
  return role_.scenario.anyone_goes() && (ended_with_its_peer(code) || code == ErrorCode::pattern_freed);
}

void Meetings::check_blocks(const Running& running) const {
  std::uint64_t at = 0;
  for (std::uint32_t from = 0; from < role_.scenario.peers(); ++from) {
    const std::uint64_t bytes = block_bytes(running, from, role_.rank);
    role_.demand(same_bytes(running.in.data() + at, content(running, from, role_.rank, bytes), bytes),
                 [&] { return name_of(running) + ": the block of rank " + std::to_string(from) + " is wrong"; });
    at += bytes;
  }
}

void Meetings::end_round(Running& running) {
  const std::uint32_t size = role_.scenario.peers();
  const auto from = static_cast<std::uint32_t>((role_.rank + size - running.meeting.distance % size) % size);
  if (running.round > 0) {
    ++role_.witness.happened.rounds;
    const auto wrong = [&] { return name_of(running) + ": what rank " + std::to_string(from) + " sent is wrong"; };
    role_.demand(same_bytes(running.in.data(), content(running, from, 0, running.in.size()), running.in.size()), wrong);
    for (std::uint32_t i = 0; i < running.receives.size(); ++i) {
      const std::uint64_t bytes = request_bytes(running.meeting, i);
      role_.demand(same_bytes(running.receives[i]->read(bytes).data(), content(running, from, i, bytes), bytes), wrong);
    }
  }
  start_round(running);
}

void Meetings::start_round(Running& running) {
  running.postponed = running.round > 0 && running.meeting.form % 4 == 3 && !role_.scenario.setup.deaths.empty() &&
                      std::ranges::find(role_.fates, ErrorCode::peer_failed) == role_.fates.end();
  if (running.postponed) return;
  if (running.round < running.meeting.rounds) {
    ++running.round;
    fill_round(running);
    const auto request = running.pattern->start(notify_for(running));
    if (request) {
      running.request = *request;
      if (running.round == 1 && running.meeting.form % 4 == 0) free_under_way(running);
      return;
    }
    ++role_.witness.happened.starts_refused;
    role_.demand(ends_with_others(request.error().code),
                 [&] { return name_of(running) + ": a start: " + request.error().message(); });
  }
  running.over = true;
  role_.demand(running.pattern->free().has_value(), [&] { return name_of(running) + " cannot be freed"; });
}

} // namespace heddle::tests

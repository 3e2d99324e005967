// What libfabric has finished: frames that have come, and data that has been moved.
#include "translators/ofi/ofi.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include "translators/execute.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::translators {

namespace {

constexpr std::size_t kReceives = 64;    // messages that a provider can put somewhere at once
constexpr std::size_t kMostWorks = 2048; // of which 32 MiB are held; then nothing more is received
constexpr int kRoundsAtOnce = 8;

} // namespace

// --- memory for frames ---

Result<void> Ofi::grow() {
  Block block{.works = std::vector<Work>(kReceives),
              .memory = std::make_unique_for_overwrite<std::byte[]>(kReceives * ofi::kFrameBytes)};
  auto registered = endpoint_.register_local({block.memory.get(), kReceives * ofi::kFrameBytes}, FI_SEND | FI_RECV);
  if (!registered) return std::unexpected(std::move(registered.error()));
  block.registered = std::move(*registered);
  free_.reserve((blocks_.size() + 1) * kReceives); // giving one back never lacks memory
  for (std::size_t i = 0; i < kReceives; ++i) {
    block.works[i].data = block.memory.get() + i * ofi::kFrameBytes;
    block.works[i].descriptor = block.registered.descriptor();
    free_.push_back(&block.works[i]);
  }
  blocks_.push_back(std::move(block));
  return {};
}

bool Ofi::may_take() {
  constexpr std::size_t kForAnswers = 8;
  const std::size_t in_use = blocks_.size() * kReceives - free_.size();
  return free_.size() > kForAnswers || (in_use < kMostWorks && grow());
}

Ofi::Work& Ofi::take_work() {
  if (free_.empty() && !grow()) throw std::bad_alloc();
  Work& work = *free_.back();
  free_.pop_back();
  return work;
}

void Ofi::give_back(Work& work) {
  work.remote = nullptr;
  work.local = {};
  work.under_way = false;
  free_.push_back(&work);
}

void Ofi::post_receives() {
  while (receives_ < kReceives && may_take()) {
    Work& work = take_work();
    work.what = Work::What::receive;
    if (endpoint_.receive({work.data, ofi::kFrameBytes}, work.descriptor, work.context) != 0) return give_back(work);
    ++receives_;
  }
}

// --- completions ---

std::size_t Ofi::poll(std::span<ir::Event> events) {
  eventfd_t rings = 0;
  if (std::exchange(rung_, false)) ::eventfd_read(ringer_.number(), &rings);
  try {
    progress();
  } catch (const std::bad_alloc&) { // what it was about is tried again
  }
  return events_.pop(events);
}

void Ofi::progress() {
  std::array<ofi::Endpoint::Completion, 16> batch;
  for (int round = 0; round < kRoundsAtOnce && base::Reserve::may_begin(); ++round) {
    fi_cq_err_entry error;
    const long count = endpoint_.read_completions(batch, error);
    if (count == -FI_EAVAIL && error.op_context != nullptr) done(*static_cast<Work*>(error.op_context), 0, false);
    if (count <= 0 && count != -FI_EAVAIL) break;
    for (long i = 0; i < count; ++i) {
      const auto& each = batch[static_cast<std::size_t>(i)];
      const bool told = (each.flags & FI_REMOTE_CQ_DATA) != 0;
      if (told) end_asked(static_cast<std::uint32_t>(each.data), ir::Status::ok, 0);
      // Some providers use a receive up for that; of others the context means nothing.
      if (!told || endpoint_.telling_takes_receives())
        done(*static_cast<Work*>(each.op_context), told ? 0 : each.len, true);
    }
  }
  for (std::size_t i = 0; i < transfers_.size(); ++i)
    if (!transfers_[i]->under_way) start(*transfers_[i]);
  for (std::size_t i = 0; i < waiting_.size(); ++i) act_on_held(*waiting_[i]); // which may add some
  std::erase_if(waiting_, [this](Remote* remote) {
    flush(*remote);
    return remote->queue.empty();
  });
  post_receives();
}

void Ofi::done(Work& work, std::size_t bytes, bool good) {
  switch (work.what) {
    case Work::What::receive:
      --receives_;
      work.bytes = bytes;
      if (!good || !arrived(work)) give_back(work);
      return;
    case Work::What::send:
      --work.remote->sends;
      if (!good) lose(*work.remote);
      return give_back(work);
    case Work::What::read:
    case Work::What::write:
      std::erase(transfers_, &work);
      work.remote->is_stuck = false;
      return moved(work, good ? ir::Status::ok : ir::Status::failed);
  }
}

// --- frames ---

ofi::Frame Ofi::Work::frame() const {
  ofi::Frame frame;
  std::memcpy(&frame, data, sizeof frame);
  return frame;
}

ir::Command Ofi::Work::command() const {
  const ofi::Frame asked = frame();
  const std::byte* head = data + sizeof asked;
  ir::Command command;
  command.operation = asked.operation;
  command.flags = static_cast<ir::Flags>(asked.flags);
  command.remote = {.key = ir::MemoryKey{asked.key}, .offset = asked.offset};
  command.bytes = asked.bytes;
  command.operand = asked.operand;
  command.head_bytes = asked.head_bytes;
  std::memcpy(command.head.data(), head, asked.head_bytes);
  std::memcpy(&command.expected, head, sizeof command.expected);
  command.local = const_cast<std::byte*>(head) + asked.head_bytes; // a put only reads it
  return command;
}

bool Ofi::arrived(Work& work) {
  if (work.bytes < sizeof(ofi::Frame)) return false;
  const ofi::Frame frame = work.frame();
  const bool put = frame.operation == ir::Operation::put;
  const bool get = frame.operation == ir::Operation::get;
  const bool command = frame.kind == ofi::FrameKind::command;
  const bool possible =
      command ? !get : frame.kind != ofi::FrameKind::move || put || get; // data of a get has no room here
  if (frame.token != token_ || frame.head_bytes > ir::kHeadBytes || frame.sender == rank_ || !possible ||
      frame.operation > ir::Operation::fetch_and_add ||
      work.bytes - sizeof frame != frame.head_bytes + (command && put ? frame.bytes : 0))
    return false; // not of this job
  Remote* remote = remote_of(frame.sender);
  if (remote == nullptr || remote->lost || !meet(*remote)) return false;
  if (frame.order != remote->heard++) {
    log_.warning("rank " + std::to_string(frame.sender) + ": libfabric's provider " + endpoint_.provider() +
                 " has lost a message of it, so it is given up");
    lose(*remote);
    return false;
  }
  if (frame.kind == ofi::FrameKind::answer) { // waits for nobody
    end_asked(frame.number, static_cast<ir::Status>(frame.flags), frame.operand);
    return false;
  }
  if (remote->reading == nullptr && remote->held.empty()) return act(*remote, work);
  remote->held.push_back(&work);
  return true;
}

bool Ofi::act(Remote& remote, Work& work) {
  const ofi::Frame frame = work.frame();
  std::uint64_t value = 0;
  switch (frame.kind) {
    case ofi::FrameKind::command: {
      const ir::Status status = memory_.execute(work.command(), value);
      if (frame.number != 0) answer(remote, frame.number, status, value);
      if (status == ir::Status::ok) announce(remote, frame);
      return false;
    }
    case ofi::FrameKind::move:
      work.what = frame.operation == ir::Operation::put ? Work::What::read : Work::What::write;
      if (work.what == Work::What::read) remote.reading = &work;
      work.remote = &remote;
      transfers_.push_back(&work);
      start(work);
      return true;
    case ofi::FrameKind::goodbye:
      if (!remote.said_goodbye) send(remote, {.kind = ofi::FrameKind::farewell}); // crossing goodbyes answer each other
      remote.has_left = true;
      end_all_asked(ir::Peer{remote.rank}, ir::Status::peer_left);
      if (remote.attached)
        events_.push(
            {.kind = ir::EventKind::peer_left, .status = ir::Status::peer_left, .peer = ir::Peer{remote.rank}});
      return false;
    case ofi::FrameKind::farewell: remote.answered = true; return false;
    case ofi::FrameKind::answer: return false; // taken before
  }
  return false;
}

void Ofi::answer(Remote& remote, std::uint32_t number, ir::Status status, std::uint64_t value) {
  send(
      remote,
      {.kind = ofi::FrameKind::answer, .flags = static_cast<std::uint8_t>(status), .number = number, .operand = value});
}

void Ofi::announce(const Remote& remote, const ofi::Frame& frame) {
  if (remote.attached && ir::has(static_cast<ir::Flags>(frame.flags), ir::Flags::announced))
    events_.push(
        {.kind = ir::EventKind::remote_written, .peer = ir::Peer{remote.rank}, .value = frame.operand & 0xffU});
}

// --- data that is moved between the memories ---

// Looked at when it begins; what is withdrawn then waits for its end.
void Ofi::start(Work& work) {
  const ir::Command command = work.command();
  const ofi::Frame frame = work.frame();
  const bool put = work.what == Work::What::read;
  std::byte* at = memory_.reach(command.remote, extent_of(command));
  const bool granted = !work.remote->lost && at != nullptr && is_sound(command, at);
  if (!granted || command.bytes == 0) {
    std::erase(transfers_, &work);
    return moved(work, granted ? ir::Status::ok : ir::Status::refused, true);
  }
  const std::span memory(at + (put ? command.head_bytes : 0), command.bytes);
  if (!work.local.mr) {
    auto registered = endpoint_.register_local(memory, put ? FI_READ : FI_WRITE);
    if (!registered) return; // tried again
    work.local = std::move(*registered);
  }
  void* descriptor = work.local.descriptor();
  const long answer =
      put ? endpoint_.read(work.remote->at, memory, descriptor, frame.memory_at, frame.memory_key, work.context)
          : endpoint_.write(work.remote->at, memory, descriptor, frame.memory_at, frame.memory_key, frame.number,
                            work.context);
  if (answer == 0) {
    work.under_way = true;
  } else if (answer != -FI_EAGAIN) {
    std::erase(transfers_, &work);
    moved(work, ir::Status::failed);
  }
}

void Ofi::moved(Work& work, ir::Status status, bool by_answer) {
  Remote& remote = *work.remote;
  const ofi::Frame frame = work.frame();
  if (work.what == Work::What::read) {
    const ir::Command command = work.command();
    std::byte* to = memory_.reach(command.remote, put_extent(command));
    if (status == ir::Status::ok && to == nullptr) status = ir::Status::refused; // withdrawn meanwhile
    if (status == ir::Status::ok) {
      finish_put(command, to);
      announce(remote, frame);
    }
    by_answer = true;
    remote.reading = nullptr;
  }
  if (by_answer || status != ir::Status::ok || !endpoint_.writes_tell()) answer(remote, frame.number, status);
  give_back(work);
  if (!remote.held.empty()) waiting_.push_back(&remote);
}

void Ofi::act_on_held(Remote& remote) {
  while (remote.reading == nullptr && !remote.held.empty()) {
    Work& next = *remote.held.front();
    remote.held.pop_front();
    if (!act(remote, next)) give_back(next);
  }
}

} // namespace heddle::translators
#endif

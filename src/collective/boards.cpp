#include "collective/boards.hpp"

#include "collective/tags.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::collective {

namespace {

// Both sides of a board together; and what it is quicker to copy twice than to ask the kernel to copy once.
constexpr std::uint64_t kMostBytes = 256 << 10;
constexpr std::uint64_t kLargestBlock = 4 << 10;

template <typename Value>
std::span<const std::byte> bytes_of(const std::vector<Value>& values) {
  return std::as_bytes(std::span(values));
}

} // namespace

struct Boards::Meeting {
  // What a process tells of its board; bytes 0: it has none.
  struct Offer {
    ir::RemotePlace place;
    std::uint64_t bytes = 0;
  };
  std::vector<Offer> offer; // one for each, all alike
  std::vector<Offer> offers;
  std::vector<std::uint64_t> word;
  std::vector<std::uint64_t> words;
  bool votes = false; // the second step
  std::unique_ptr<RingExchange> exchange;
};

std::uint64_t Boards::largest_block(std::uint32_t processes) {
  for (std::uint64_t bytes = kLargestBlock; bytes > 0; bytes /= 2)
    if (BoardShape(processes, bytes).bytes() <= kMostBytes) return bytes;
  return 0;
}

Boards::Boards(engine::Engine& engine, const Grouping& grouping)
    : engine_(engine), grouping_(grouping), shape_(engine.size(), largest_block(engine.size())) {
  if (engine.size() < 2 || largest_block(engine.size()) == 0) state_ = State::refused;
}

Boards::~Boards() = default;

std::size_t Boards::advance() {
  if (state_ == State::unmet && !started_.empty()) begin_meeting();
  std::size_t steps = state_ == State::meeting ? meet() : 0;
  if (state_ == State::ready) steps += carry_out();
  return steps;
}

// What fails for lack of memory is begun again by the next call.
void Boards::begin_meeting() {
  const std::uint32_t size = engine_.size();
  auto meeting = std::make_unique<Meeting>();
  meeting->offers.resize(size);
  meeting->word.resize(size);
  meeting->words.resize(size);
  meeting->offer.resize(size);
  theirs_.resize(size);
  missing_.reserve(size);
  engine::ScheduleQueue& queue = engine_.queue_to(engine_.rank() == 0 ? 1 : 0);
  if (own_.memory.empty() && queue.facets().direct_memory != nullptr)
    own_ = queue.translator().allocate(shape_.bytes()).value_or(ir::ExposedMemory{});
  std::ranges::fill(meeting->offer, Meeting::Offer{.place = own_.place, .bytes = own_.memory.size()});
  meeting->exchange = std::make_unique<RingExchange>(
      engine_, Tag{kExchangeMark | kOffersMark}, grouping_,
      ConstBlockView(bytes_of(meeting->offer), sizeof(Meeting::Offer)),
      BlockView(std::as_writable_bytes(std::span(meeting->offers)), sizeof(Meeting::Offer)));
  meeting_ = std::move(meeting);
  state_ = State::meeting;
}

std::size_t Boards::meet() {
  std::size_t steps = meeting_->exchange->advance();
  if (!meeting_->exchange->over()) return steps;
  if (!meeting_->votes) {
    // Also where somebody has left meanwhile: the others wait for this word.
    std::ranges::fill(meeting_->word, meeting_->exchange->code() == ErrorCode::ok && open_all() ? 1 : 0);
    std::ranges::fill(meeting_->words, 1); // one that has left, and said nothing, keeps nobody
    meeting_->exchange = std::make_unique<RingExchange>(
        engine_, Tag{kExchangeMark | kVotesMark}, grouping_,
        ConstBlockView(bytes_of(meeting_->word), sizeof(std::uint64_t)),
        BlockView(std::as_writable_bytes(std::span(meeting_->words)), sizeof(std::uint64_t)));
    meeting_->votes = true;
    return steps + 1 + meet();
  }
  const bool all = std::ranges::all_of(meeting_->words, [](std::uint64_t word) { return word == 1; });
  state_ = all ? State::ready : State::refused;
  meeting_.reset();
  return steps + 1;
}

bool Boards::open_all() {
  if (own_.memory.size() != shape_.bytes()) return false;
  for (std::uint32_t rank = 0; rank < engine_.size(); ++rank) {
    if (rank == engine_.rank()) continue;
    const Meeting::Offer& offer = meeting_->offers[rank];
    ir::DirectMemory* memory = engine_.queue_to(rank).facets().direct_memory;
    if (memory != nullptr && offer.bytes == shape_.bytes() && !engine_.has_failed(rank))
      theirs_[rank] = memory->direct_ring(ir::Peer{rank}, offer.place, offer.bytes);
    if (!theirs_[rank].exists()) return false;
  }
  return true;
}

std::size_t Boards::carry_out() {
  std::size_t steps = 0;
  while (!started_.empty()) {
    if (!published_) publish();
    steps += gather();
    if (!missing_.empty()) break;
    engine_.finish_composite(started_.front().request, code_, received_);
    started_.pop_front();
    shape_.prefetch(own_.memory.data(), ++number_);
    published_ = false;
    ++steps;
  }
  return steps;
}

void Boards::publish() {
  const Exchange& exchange = started_.front();
  const auto block_for = [&](std::uint32_t rank) { return exchange.out.subspan(rank * exchange.each, exchange.each); };
  const std::uint32_t self = engine_.rank();
  const std::uint32_t size = engine_.size();
  code_ = ErrorCode::ok;
  received_ = exchange.each;
  missing_.clear();
  for (std::uint32_t rank = self + 1 < size ? self + 1 : 0; rank != self; rank = rank + 1 < size ? rank + 1 : 0) {
    if (!theirs_[rank].exists()) {
      note(engine_.fate(rank));
      continue;
    }
    shape_.write(own_.memory.data(), number_, rank, block_for(rank));
    missing_.push_back(rank);
  }
  for (const std::uint32_t rank : missing_)
    if (ir::must_wake(*theirs_[rank].asleep)) engine_.queue_to(rank).facets().direct_memory->wake(ir::Peer{rank});
  std::memcpy(exchange.in.data() + self * exchange.each, block_for(self).data(), exchange.each);
  published_ = true;
}

std::size_t Boards::gather() {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < missing_.size();) {
    const std::uint32_t rank = missing_[i];
    if (!shape_.has(theirs_[rank].memory, number_, engine_.rank())) {
      ++i;
      continue;
    }
    take(rank);
    missing_[i] = missing_.back();
    missing_.pop_back();
    ++taken;
  }
  return taken;
}

void Boards::take(std::uint32_t rank) {
  const Exchange& exchange = started_.front();
  const std::uint64_t bytes = shape_.read(theirs_[rank].memory, number_, engine_.rank(),
                                          exchange.in.subspan(rank * exchange.each, exchange.each));
  received_ += std::min(bytes, exchange.each);
  if (bytes > exchange.each) note(ErrorCode::truncated);
  if (bytes < exchange.each) note(ErrorCode::bad_argument);
}

void Boards::parted(std::uint32_t rank) {
  if (theirs_.empty() || !theirs_[rank].exists()) return; // it may be open while the others still vote
  if (const auto at = std::ranges::find(missing_, rank); published_ && at != missing_.end()) {
    if (shape_.has(theirs_[rank].memory, number_, engine_.rank()))
      take(rank);
    else
      note(engine_.fate(rank));
    missing_.erase(at);
  }
  theirs_[rank] = {};
}

void Boards::give_up() {
  for (const Exchange& exchange : started_) engine_.finish_composite(exchange.request, ErrorCode::peer_failed);
  started_.clear();
  missing_.clear();
  if (meeting_ != nullptr) meeting_->exchange->give_up();
}

} // namespace heddle::collective

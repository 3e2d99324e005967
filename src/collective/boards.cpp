#include "collective/boards.hpp"

#include "collective/tags.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::collective {

namespace {

// Both sides of a board together, and the line beside them; and what it is quicker to copy twice than to ask the kernel to copy once.
constexpr std::uint64_t kMostBytes = (256 << 10) + 64;
constexpr std::uint64_t kLargestBlock = 4 << 10;

// What a process tells of what it can read.
constexpr std::uint64_t kReadsBoards = 1;
constexpr std::uint64_t kReadsMemory = 2;
constexpr std::uint64_t kReadsAll = kReadsBoards | kReadsMemory;

// For an exchange that will never be.
constexpr std::uint64_t kAllToCome = ~std::uint64_t{0};

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
    ir::RemotePlace memory; // the same as if it were the program's
    std::uint64_t readable = 0;
  };
  std::vector<Offer> offer; // one for each, all alike
  std::vector<Offer> offers;
  std::vector<std::uint64_t> word;
  std::vector<std::uint64_t> words;
  enum class Step : std::uint8_t { offers, tries, words } step = Step::offers;
  bool reads_boards = false;
  std::vector<std::uint64_t> tried; // what was read, of each
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
  meeting->tried.resize(size);
  theirs_.resize(size);
  missing_.reserve(size);
  readers_.reserve(size);
  reads_.reserve(size);
  const engine::ScheduleQueue& queue = engine_.queue_to(somebody());
  if (own_.memory.empty() && queue.facets().direct_memory != nullptr)
    own_ = translator().allocate(shape_.bytes()).value_or(ir::ExposedMemory{});
  Meeting::Offer offer{.place = own_.place, .bytes = own_.memory.size()};
  if (queue.capabilities().reads_any_memory && queue.capabilities().processor_copies)
    if (const auto memory = translator().expose(own_.memory); memory) {
      offer.memory = *memory;
      offer.readable = 1;
    }
  std::ranges::fill(meeting->offer, offer);
  meeting->exchange = std::make_unique<RingExchange>(
      engine_, Tag{kExchangeMark | kOffersMark}, grouping_,
      ConstBlockView(bytes_of(meeting->offer), sizeof(Meeting::Offer)),
      BlockView(std::as_writable_bytes(std::span(meeting->offers)), sizeof(Meeting::Offer)));
  meeting_ = std::move(meeting);
  state_ = State::meeting;
}

bool Boards::owes_words() const {
  return state_ == State::meeting && !given_up_ && meeting_->step == Meeting::Step::words &&
         meeting_->word.front() != kReadsAll && !meeting_->exchange->said_all();
}

std::size_t Boards::meet() {
  std::size_t steps = meeting_->exchange->advance() + reads_.advance();
  if (!meeting_->exchange->over() || !reads_.idle()) return steps;
  if (given_up_) { // no exchange will be that could use them, and whoever has not begun to meet never will
    state_ = State::refused;
    meeting_.reset();
    return steps + 1;
  }
  switch (meeting_->step) {
    case Meeting::Step::offers:
      meeting_->reads_boards = meeting_->exchange->code() == ErrorCode::ok && open_all();
      if (meeting_->reads_boards && reads_memory_) try_memory();
      meeting_->step = Meeting::Step::tries;
      return steps + 1 + meet();
    case Meeting::Step::tries:
      reads_memory_ = reads_memory_ && reads_.take_code() == ErrorCode::ok;
      // Also where somebody has left meanwhile: the others wait for this word.
      std::ranges::fill(meeting_->word,
                        (meeting_->reads_boards ? kReadsBoards : 0) | (reads_memory_ ? kReadsMemory : 0));
      std::ranges::fill(meeting_->words, kReadsAll); // who has left, and said nothing, keeps nobody
      meeting_->exchange = std::make_unique<RingExchange>(
          engine_, Tag{kExchangeMark | kVotesMark}, grouping_,
          ConstBlockView(bytes_of(meeting_->word), sizeof(std::uint64_t)),
          BlockView(std::as_writable_bytes(std::span(meeting_->words)), sizeof(std::uint64_t)));
      meeting_->step = Meeting::Step::words;
      return steps + 1 + meet();
    case Meeting::Step::words: break;
  }
  const auto all = [this](std::uint64_t can) {
    return std::ranges::all_of(meeting_->words, [can](std::uint64_t word) { return (word & can) != 0; });
  };
  state_ = all(kReadsBoards) ? State::ready : State::refused;
  reads_memory_ = all(kReadsMemory);
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

void Boards::try_memory() {
  for (std::uint32_t rank = 0; rank < engine_.size(); ++rank) {
    if (rank == engine_.rank()) continue;
    const Meeting::Offer& offer = meeting_->offers[rank];
    reads_memory_ = reads_memory_ && offer.readable != 0;
    if (reads_memory_)
      reads_.add(rank, offer.memory, std::as_writable_bytes(std::span(meeting_->tried).subspan(rank, 1)));
  }
}

std::size_t Boards::carry_out() {
  std::size_t steps = 0;
  while (!started_.empty() && serves(started_.front().each)) {
    if (!published_) publish();
    steps += gather() + reads_.advance();
    if (!missing_.empty() || !reads_.idle()) break;
    if (large_ && !std::exchange(told_, true)) tell_read(given_up_ ? kAllToCome : number_);
    if (!all_have_read()) break;
    note(reads_.take_code());
    if (large_) withdraw();
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
  readers_.clear();
  told_ = false;
  large_ = is_large(exchange.each);
  if (large_) expose(exchange.out);
  for (std::uint32_t rank = self + 1 < size ? self + 1 : 0; rank != self; rank = rank + 1 < size ? rank + 1 : 0) {
    if (!theirs_[rank].exists()) {
      note(engine_.fate(rank));
      continue;
    }
    if (large_)
      shape_.write_place(own_.memory.data(), number_, rank, exchange.each, exposed_.at(rank * exchange.each));
    else
      shape_.write(own_.memory.data(), number_, rank, block_for(rank));
    missing_.push_back(rank);
  }
  if (large_) readers_ = missing_;
  for (const std::uint32_t rank : missing_) wake(rank);
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
  const std::span<std::byte> into = exchange.in.subspan(rank * exchange.each, exchange.each);
  const std::byte* const board = theirs_[rank].memory;
  const std::uint64_t bytes = shape_.size(board, number_, engine_.rank());
  if (bytes > shape_.largest_block()) {
    large_ = true;
    reads_.add(rank, shape_.place(board, number_, engine_.rank()),
               into.first(std::min<std::uint64_t>(bytes, into.size())));
  } else {
    shape_.read(board, number_, engine_.rank(), into);
  }
  received_ += std::min(bytes, exchange.each);
  if (bytes > exchange.each) note(ErrorCode::truncated);
  if (bytes < exchange.each) note(ErrorCode::bad_argument);
}

void Boards::expose(std::span<const std::byte> out) {
  const std::span<std::byte> memory(const_cast<std::byte*>(out.data()), out.size()); // others only read it
  auto place = translator().expose(memory);
  if (!place) note(place.error().code); // and nobody can read what is named by no key
  exposed_ = place.value_or(ir::RemotePlace{});
}

void Boards::withdraw() {
  if (exposed_.key != ir::MemoryKey{}) translator().withdraw(std::exchange(exposed_, {}));
}

void Boards::tell_read(std::uint64_t number) {
  if (own_.memory.empty()) return;
  shape_.tell_read(own_.memory.data(), number);
  for (std::uint32_t rank = 0; rank < theirs_.size(); ++rank)
    if (theirs_[rank].exists()) wake(rank);
}

bool Boards::all_have_read() {
  std::erase_if(readers_, [this](std::uint32_t rank) { return shape_.has_read(theirs_[rank].memory, number_); });
  return readers_.empty();
}

void Boards::wake(std::uint32_t rank) {
  if (ir::must_wake(*theirs_[rank].asleep)) engine_.queue_to(rank).facets().direct_memory->wake(ir::Peer{rank});
}

void Boards::parted(std::uint32_t rank) {
  if (theirs_.empty() || !theirs_[rank].exists()) return; // it may be open while the others still vote
  if (const auto at = std::ranges::find(missing_, rank); published_ && at != missing_.end()) {
    const std::byte* const board = theirs_[rank].memory;
    // What lies in its memory is not there any more.
    if (shape_.has(board, number_, engine_.rank()) &&
        shape_.size(board, number_, engine_.rank()) <= shape_.largest_block())
      take(rank);
    else
      note(engine_.fate(rank));
    missing_.erase(at);
  }
  std::erase(readers_, rank);
  theirs_[rank] = {};
}

void Boards::give_up() {
  given_up_ = true;
  const std::size_t kept = published_ ? 1 : 0;
  for (std::size_t i = kept; i < started_.size(); ++i)
    engine_.finish_composite(started_[i].request, ErrorCode::peer_failed);
  started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(kept), started_.end());
  note(ErrorCode::peer_failed);
  missing_.clear();
  reads_.give_up();
  if (meeting_ != nullptr) meeting_->exchange->give_up();
  // Reads of the meeting are of nobody's blocks.
  if (published_ && !reads_.idle()) return;
  told_ = true;
  tell_read(kAllToCome);
}

} // namespace heddle::collective

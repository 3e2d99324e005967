#include "collective/exchanges.hpp"

#include "base/memory_range.hpp"
#include "base/refusal.hpp"

#include <cmath>
#include <string>
#include <utility>

namespace heddle::collective {

namespace {

// Of memory that can exist.
bool overlap(std::span<const std::byte> one, std::span<const std::byte> other) {
  return !one.empty() && !other.empty() && one.data() < other.data() + other.size() &&
         other.data() < one.data() + one.size();
}

Error overlapping() {
  return bad_argument("the memory to send from and the memory to receive into overlap", "use separate memory");
}

// `which` is "send from" or "receive into".
template <typename Byte>
Result<void> check(std::span<Byte> memory, const std::string& which) {
  if (base::can_exist(memory)) return {};
  return refuse("the memory to " + which + " has " + std::to_string(memory.size()) + " bytes " +
                    (memory.data() == nullptr ? "behind a null pointer"
                                              : "from its address on, past the end of the address space"),
                "give valid memory, or no bytes");
}

// `which` is "send" or "receive".
template <typename Byte>
Result<void> check(const BasicBlocks<Byte>& blocks, std::uint32_t size, const std::string& which) {
  if (blocks.bytes.size() != size || blocks.offsets.size() != size || blocks.bytes.data() == nullptr ||
      blocks.offsets.data() == nullptr)
    return refuse("alltoallv was given " + std::to_string(blocks.bytes.size()) + " sizes and " +
                      std::to_string(blocks.offsets.size()) + " offsets of blocks to " + which + " for a job of " +
                      std::to_string(size) + " processes",
                  "give one size and one offset for every rank");
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const std::uint64_t offset = blocks.offsets[rank];
    const std::uint64_t bytes = blocks.bytes[rank];
    if (offset <= blocks.memory.size() && bytes <= blocks.memory.size() - offset) continue;
    return refuse("the block to " + which + " of rank " + std::to_string(rank) + ", " + std::to_string(bytes) +
                      " bytes from offset " + std::to_string(offset) + ", ends outside the memory of " +
                      std::to_string(blocks.memory.size()) + " bytes",
                  "give memory that holds every block");
  }
  return {};
}

} // namespace

Exchanges::Exchanges(engine::Engine& engine, std::shared_ptr<const Grouping> grouping, const Costs& costs)
    : engine_(engine), grouping_(std::move(grouping)), costs_(costs) {
  engine_.handlers().add_end_row(engine::end_row(
      *this,
      [](Exchanges& self, engine::Connection& peer, engine::PeerEnd end) { self.peer_gone(peer.rank, end.how); }));
}

Result<Request> Exchanges::start(std::span<const std::byte> out, std::span<std::byte> in, Notify notify) {
  const std::uint32_t size = engine_.size();
  if (out.size() != in.size() || out.size() % size != 0)
    return refuse("alltoall was given " + std::to_string(out.size()) + " bytes to send and " +
                      std::to_string(in.size()) + " to receive for a job of " + std::to_string(size) + " processes",
                  "give equal sizes, a multiple of the number of processes");
  if (auto good = check(out, "send from"); !good) return std::unexpected(std::move(good.error()));
  if (auto good = check(in, "receive into"); !good) return std::unexpected(std::move(good.error()));
  if (overlap(out, in)) return std::unexpected(overlapping());
  Boards::Exchange exchange{.request = {}, .tag = {}, .out = out, .in = in, .each = out.size() / size};
  if (boards_ && boards_->serves(exchange.each)) return begin_on_boards(notify, exchange);
  return begin(notify, [&](Tag tag) {
    exchange.tag = tag;
    return plan_for(exchange);
  });
}

std::unique_ptr<ExchangePlan> Exchanges::plan_for(const Boards::Exchange& exchange) {
  const ConstBlockView from(exchange.out, exchange.each);
  const BlockView to(exchange.in, exchange.each);
  if (exchange.each > 0 && bruck_pays(engine_.size(), exchange.each, costs_)) {
    const std::uint32_t radix = expected_times(engine_.size(), exchange.each, costs_).radix;
    return std::make_unique<BruckExchange>(engine_, exchange.tag, radix, from, to);
  }
  return std::make_unique<RingExchange>(engine_, exchange.tag, *grouping_, from, to);
}

Result<Request> Exchanges::start(const ConstBlocks& out, const Blocks& in, Notify notify) {
  const std::span<const std::byte> from = out.memory;
  const std::span<std::byte> to = in.memory;
  if (auto good = check(from, "send from"); !good) return std::unexpected(std::move(good.error()));
  if (auto good = check(to, "receive into"); !good) return std::unexpected(std::move(good.error()));
  if (auto good = check(out, engine_.size(), "send"); !good) return std::unexpected(std::move(good.error()));
  if (auto good = check(in, engine_.size(), "receive"); !good) return std::unexpected(std::move(good.error()));
  if (overlap(from, to)) return std::unexpected(overlapping());
  if (const std::uint32_t own = engine_.rank(); out.bytes[own] != in.bytes[own])
    return refuse("the block that rank " + std::to_string(own) + " sends to itself has " +
                      std::to_string(out.bytes[own]) + " bytes, and the one that it receives " +
                      std::to_string(in.bytes[own]),
                  "give both the same size");
  return begin(notify, [&](Tag tag) -> std::unique_ptr<ExchangePlan> {
    return std::make_unique<RingExchange>(engine_, tag, *grouping_, ConstBlockView(out), BlockView(in));
  });
}

Protocol Exchanges::why(std::uint64_t block_bytes) const {
  const std::uint32_t size = engine_.size();
  const std::string block = std::to_string(block_bytes) + " bytes";
  if (size == 1) return {.name = "plain copy", .reason = "a job of one process", .translator = ""};
  if (block_bytes == 0) return {.name = "nothing", .reason = "empty blocks do not travel", .translator = ""};
  const std::string largest = std::to_string(boards_ ? boards_->largest() : 0) + ", the largest block of a board of " +
                              std::to_string(size) + " processes";
  if (boards_ && boards_->serves(block_bytes)) {
    const bool large = Boards::is_large(block_bytes);
    const std::string unknown = large ? ", if all can read each other's memory" : ", if all can read all boards";
    return {.name = large ? "reads" : "boards",
            .reason = (large ? block + " are read from where they lie, by those whom they are for"
                             : block + " <= " + largest) +
                      (boards_->met() ? "" : unknown),
            .translator = std::string(engine_.queue_to(engine_.rank() == 0 ? 1 : 0).translator().name())};
  }
  const auto microseconds = [](double ns) { return std::to_string(std::llround(ns / 1000)) + " us"; };
  const ExpectedTimes expected = expected_times(size, block_bytes, costs_);
  const bool bruck = bruck_pays(size, block_bytes, costs_);
  std::string reason = std::to_string(size - 1) + " messages of " + block;
  if (boards_ && !boards_->refused())
    reason = block + " > " + largest +
             (Boards::is_large(block_bytes) ? ", and not every process can read every other's memory; " : "; ") +
             reason;
  if (boards_ && boards_->refused()) reason = "not every process can read every board; " + reason;
  if (size >= 4)
    reason += " are expected to take " + microseconds(expected.ring_ns) + ", Bruck's rounds " +
              microseconds(expected.bruck_ns);
  if (bruck && expected.bruck_ns > expected.ring_ns)
    reason += ", which spare each process " + std::to_string(size - 1) + " connections";
  return {.name = bruck ? "Bruck's rounds" : "2-level ring", .reason = std::move(reason), .translator = ""};
}

template <typename Make>
Request Exchanges::begin(Notify notify, Make&& make) {
  if (!base::Reserve::may_begin()) throw std::bad_alloc();
  // Whatever fails for lack of memory does so before anything has happened.
  running_.reserve(running_.size() + 1);
  std::unique_ptr<ExchangePlan> plan = failed_ ? nullptr : make(Tag{kExchangeMark | (number_ + 1)});
  const Request request = engine_.begin_composite(notify, engine::OperationKind::exchange);
  ++number_;
  if (failed_) {
    engine_.finish_composite(request, ErrorCode::peer_failed);
    return request;
  }
  running_.push_back({.request = request, .plan = std::move(plan)});
  idle_ = false;
  advance_all();
  return request;
}

Request Exchanges::begin_on_boards(Notify notify, Boards::Exchange exchange) {
  if (!base::Reserve::may_begin()) throw std::bad_alloc();
  auto& started = boards_->started();
  exchange.tag = Tag{kExchangeMark | (number_ + 1)};
  started.push_back(exchange);
  try {
    exchange.request = engine_.begin_composite(notify, engine::OperationKind::exchange);
  } catch (const std::bad_alloc&) {
    started.pop_back();
    throw;
  }
  started.back().request = exchange.request;
  ++number_;
  if (failed_) {
    started.pop_back();
    engine_.finish_composite(exchange.request, ErrorCode::peer_failed);
    return exchange.request;
  }
  idle_ = false;
  advance_all();
  return exchange.request;
}

// What boards turn out not to serve goes by messages: all processes know it, in the same order.
std::size_t Exchanges::advance_boards() {
  std::size_t steps = boards_->advance();
  auto& started = boards_->started();
  for (; !started.empty() && !boards_->serves(started.front().each); steps += 1 + boards_->advance()) {
    running_.push_back({.request = started.front().request, .plan = plan_for(started.front())});
    started.pop_front();
  }
  return steps;
}

std::size_t Exchanges::advance_all() {
  std::size_t steps = 0;
  if (failed_) {
    if (!std::exchange(given_up_, true)) {
      for (const Running& running : running_) running.plan->give_up();
      if (boards_) boards_->give_up();
    }
    steps = swallower_.swallow();
    cut_short_ = cut_short_ || steps > 0;
  }
  if (boards_ && !boards_->idle()) steps += advance_boards();
  for (std::size_t i = 0; i < running_.size();) {
    ExchangePlan& plan = *running_[i].plan;
    steps += plan.advance();
    if (!plan.over()) {
      ++i;
      continue;
    }
    engine_.finish_composite(running_[i].request, plan.code(), plan.received());
    running_[i] = std::move(running_.back());
    running_.pop_back();
    ++steps;
  }
  idle_ = running_.empty() && !failed_ && !(boards_ && !boards_->idle());
  return steps;
}

// Told while the engine handles something else: what is under way is given up at the next call of progress.
void Exchanges::peer_gone(std::uint32_t rank, engine::End how) {
  if (boards_) boards_->parted(rank);
  if (how != engine::End::died) return;
  if (!std::exchange(failed_, true)) cut_short_ = !running_.empty();
  idle_ = false;
}

} // namespace heddle::collective

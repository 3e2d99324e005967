// The calls of heddle::Pattern: checks of grids, and what is passed on to src/pattern.
#include "api/state.hpp"

#include <heddle/pattern.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/hidden.hpp"
#include "base/refusal.hpp"

namespace heddle {

namespace {

// Offsets are told apart by numbers of the order of 3 to the power of axes.
constexpr std::size_t kMostAxes = 8;

// Places of a grid, and who has them.
class Places {
 public:
  static Result<Places> of(const Grid& grid, std::uint32_t size) {
    if (grid.size.empty() || grid.size.size() > kMostAxes)
      return refuse("a grid of " + std::to_string(grid.size.size()) + " axes, expected 1 to " +
                    std::to_string(kMostAxes));
    std::uint64_t count = 1;
    for (const std::uint32_t each : grid.size)
      if (count <= size) count *= each; // and no further: the product of all might wrap
    if (count != size)
      return refuse("a grid of " +
                    std::string(count > size ? "more than " + std::to_string(size) : std::to_string(count)) +
                    " places for a job of " + std::to_string(size));
    if (!grid.periodic.empty() && grid.periodic.size() != grid.size.size())
      return refuse("a grid of " + std::to_string(grid.size.size()) + " axes says of " +
                    std::to_string(grid.periodic.size()) + " whether they are periodic");
    Places places(grid, size);
    for (std::uint32_t place = 0; place < size && !grid.ranks.empty(); ++place) {
      const auto rank = place < grid.ranks.size() ? static_cast<std::uint32_t>(grid.ranks[place]) : size;
      if (rank >= size || places.place_[rank] != size || grid.ranks.size() != size)
        return refuse("the ranks of a grid are not 0 to " + std::to_string(size - 1) + ", each once");
      places.place_[rank] = place;
      places.rank_[place] = rank;
    }
    return places;
  }

  // The rank at an offset, or nothing where an open grid ends.
  [[nodiscard]] std::optional<std::uint32_t> neighbour(std::uint32_t rank, const std::vector<int>& offset) const {
    std::uint32_t rest = place_[rank];
    std::uint32_t place = 0;
    std::uint32_t stride = 1;
    for (std::size_t axis = grid_.size.size(); axis-- > 0;) {
      const auto size = static_cast<std::int64_t>(grid_.size[axis]);
      std::int64_t at = std::int64_t{rest % grid_.size[axis]} + offset[axis];
      rest /= grid_.size[axis];
      if (at < 0 || at >= size) {
        if (grid_.periodic.empty() || !grid_.periodic[axis]) return std::nullopt;
        at = (at + size) % size;
      }
      place += static_cast<std::uint32_t>(at) * stride;
      stride *= grid_.size[axis];
    }
    return rank_[place];
  }

 private:
  Places(const Grid& grid, std::uint32_t size)
      : grid_(grid), place_(size, grid.ranks.empty() ? 0 : size), rank_(size, 0) {
    for (std::uint32_t i = 0; i < size && grid.ranks.empty(); ++i) place_[i] = rank_[i] = i;
  }
  Grid grid_;
  std::vector<std::uint32_t> place_; // by rank
  std::vector<std::uint32_t> rank_;  // by place
};

// One number for each offset: 3 to the power of axes, opposite ones next to each other.
std::uint32_t code_of(const std::vector<int>& offset, int sign) {
  std::uint32_t code = 0;
  for (const int each : offset) code = code * 3 + static_cast<std::uint32_t>(sign * each + 1);
  return code;
}

// Straight ones first, then by axis; opposites next to each other.
std::uint32_t direction_of(const std::vector<int>& offset) {
  const auto steps = static_cast<std::uint32_t>(std::ranges::count_if(offset, [](int each) { return each != 0; }));
  const std::uint32_t own = code_of(offset, 1);
  const std::uint32_t opposite = code_of(offset, -1);
  std::uint32_t all = 1;
  for (std::size_t axis = 0; axis < offset.size(); ++axis) all *= 3;
  return steps * 2 * all + 2 * std::min(own, opposite) + (own < opposite ? 0 : 1);
}

pattern::Hint hint_of(const std::vector<int>& offset, const Places& places, std::uint32_t own) {
  pattern::Hint hint{.given = true, .direction = direction_of(offset), .steps = {}};
  for (std::uint32_t axis = 0; axis < offset.size(); ++axis) {
    if (offset[axis] == 0) continue;
    std::vector<int> straight(offset.size(), 0);
    straight[axis] = offset[axis];
    hint.steps.push_back(
        {.axis = axis, .down = offset[axis] < 0, .neighbour = places.neighbour(own, straight).value_or(own)});
  }
  return hint;
}

std::unexpected<Error> moved_from() {
  return refuse("the pattern was moved to another object", "use that one");
}

} // namespace

class HEDDLE_HIDDEN Pattern::Handle {
 public:
  explicit Handle(Context::State& state) : state_(state) {}
  ~Handle() {
    if (one_ != nullptr && !state_.in_child()) one_->abandon();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Of a wait.
  [[nodiscard]] Result<void> outcome(ErrorCode code) const;

  Context::State& state_;
  pattern::PlannedPattern* one_ = nullptr;
};

Pattern::Pattern(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Result<Pattern> Pattern::create(Context& context, const PatternOptions& options) {
  if (context.state_->in_child()) [[unlikely]]
    return context.state_->refuse_in_child();
  return unless_out_of_memory([&]() -> Result<Pattern> {
    auto handle = std::make_unique<Handle>(*context.state_); // first, so that it lets go of what is made
    auto one = context.state_->patterns().create(options);
    if (!one) return std::unexpected(std::move(one.error()));
    handle->one_ = *one;
    return Pattern(std::move(handle));
  });
}

Result<Pattern> Pattern::neighbour_alltoall(Context& context, const Grid& grid,
                                            std::span<const NeighbourExchange> exchanges,
                                            const PatternOptions& options) try {
  if (context.state_->in_child()) [[unlikely]]
    return context.state_->refuse_in_child();
  const auto places = Places::of(grid, context.size());
  if (!places) return std::unexpected(places.error());
  auto made = create(context, options);
  if (!made) return made;
  using Kind = pattern::Declared::Kind;
  const auto own = static_cast<std::uint32_t>(context.rank());
  std::map<std::uint32_t, std::uint32_t> ordinals; // how many with the same offset came before
  for (const NeighbourExchange& exchange : exchanges) {
    const auto outside = [](int each) { return each < -1 || each > 1; };
    if (exchange.offset.size() != grid.size.size() || std::ranges::any_of(exchange.offset, outside))
      return refuse("an offset has -1, 0 or 1 for each of the grid's " + std::to_string(grid.size.size()) + " axes");
    const std::uint64_t ordinal = ordinals[code_of(exchange.offset, 1)]++;
    const auto neighbour = places->neighbour(own, exchange.offset);
    if (!neighbour) continue;
    // The neighbour sees this process at the opposite offset.
    const std::uint64_t sent_as = ordinal << 32U | code_of(exchange.offset, 1);
    const std::uint64_t received_as = ordinal << 32U | code_of(exchange.offset, -1);
    pattern::PlannedPattern& one = *made->handle_->one_;
    auto out = one.declare({.kind = options.barriers ? Kind::put : Kind::send,
                            .rank = *neighbour,
                            .tag = sent_as,
                            .source = exchange.out,
                            .hint = hint_of(exchange.offset, *places, own)});
    if (!out) return std::unexpected(std::move(out.error()));
    auto in = one.declare({.kind = options.barriers ? Kind::expose : Kind::receive,
                           .rank = *neighbour,
                           .tag = received_as,
                           .target = exchange.in});
    if (!in) return std::unexpected(std::move(in.error()));
  }
  return made;
} catch (const std::bad_alloc&) {
  return std::unexpected(engine::Engine::no_memory());
}

Result<Pattern::Item> Pattern::send(Rank to, Tag tag, const ConstLayout& data) {
  if (handle_ == nullptr) return moved_from();
  return handle_->one_->declare({.kind = pattern::Declared::Kind::send,
                                 .rank = static_cast<std::uint32_t>(to),
                                 .tag = static_cast<std::uint64_t>(tag),
                                 .source = data});
}

Result<Pattern::Item> Pattern::receive(Rank from, Tag tag, const Layout& into) {
  if (handle_ == nullptr) return moved_from();
  return handle_->one_->declare({.kind = pattern::Declared::Kind::receive,
                                 .rank = static_cast<std::uint32_t>(from),
                                 .tag = static_cast<std::uint64_t>(tag),
                                 .target = into});
}

Result<Pattern::Item> Pattern::put(Rank to, Tag area, std::uint64_t offset, const ConstLayout& data) {
  if (handle_ == nullptr) return moved_from();
  return handle_->one_->declare({.kind = pattern::Declared::Kind::put,
                                 .rank = static_cast<std::uint32_t>(to),
                                 .tag = static_cast<std::uint64_t>(area),
                                 .offset = offset,
                                 .source = data});
}

Result<Pattern::Item> Pattern::expose(Tag area, const Layout& memory) {
  if (handle_ == nullptr) return moved_from();
  return handle_->one_->declare({.kind = pattern::Declared::Kind::expose,
                                 .rank = handle_->state_.engine().rank(),
                                 .tag = static_cast<std::uint64_t>(area),
                                 .target = memory});
}

Result<Request> Pattern::start_compile(Notify notify) {
  if (handle_ == nullptr) return moved_from();
  if (handle_->state_.in_child()) [[unlikely]]
    return handle_->state_.refuse_in_child();
  return unless_out_of_memory([&] { return handle_->one_->compile(notify); });
}

Result<void> Pattern::compile() {
  const auto request = start_compile();
  if (!request) return std::unexpected(request.error());
  return wait();
}

Result<void> Pattern::compile(std::chrono::nanoseconds limit) {
  const auto request = start_compile();
  if (!request) return std::unexpected(request.error());
  return wait(limit);
}

std::optional<Error> Pattern::error() const {
  if (handle_ == nullptr) return moved_from().error();
  return handle_->one_->error();
}

Result<Request> Pattern::start(Notify notify) {
  if (handle_ == nullptr) return moved_from();
  if (handle_->state_.in_child()) [[unlikely]]
    return handle_->state_.refuse_in_child();
  return unless_out_of_memory([&] { return handle_->one_->start(notify); });
}

Result<void> Pattern::Handle::outcome(ErrorCode code) const {
  if (code == ErrorCode::ok) return {};
  return unless_out_of_memory([&]() -> Result<void> {
    if (code == ErrorCode::stale_request || code == ErrorCode::would_block)
      return std::unexpected(Error{.code = code, .fact = "no start of the pattern can be waited for here"});
    if (code == ErrorCode::timed_out)
      return std::unexpected(Error{.code = code, .fact = "the pattern has not ended in time", .remedy = "wait again"});
    return std::unexpected(one_->error().value_or(Error{.code = code, .fact = "the pattern failed"}));
  });
}

Result<void> Pattern::wait() {
  if (handle_ == nullptr) return moved_from();
  if (handle_->state_.in_child()) [[unlikely]]
    return handle_->state_.refuse_in_child();
  return handle_->outcome(handle_->state_.wait(handle_->one_->request()).code);
}

Result<void> Pattern::wait(std::chrono::nanoseconds limit) {
  if (handle_ == nullptr) return moved_from();
  if (handle_->state_.in_child()) [[unlikely]]
    return handle_->state_.refuse_in_child();
  return handle_->outcome(handle_->state_.wait(handle_->one_->request(), limit).code);
}

bool Pattern::running() const {
  return handle_ != nullptr && handle_->one_->running();
}

std::vector<Pattern::Item> Pattern::incomplete() const {
  if (handle_ == nullptr) return {};
  return handle_->one_->incomplete();
}

Result<void> Pattern::free() {
  if (handle_ == nullptr) return moved_from();
  if (handle_->state_.in_child()) [[unlikely]]
    return handle_->state_.refuse_in_child();
  return unless_out_of_memory([&] { return handle_->one_->free(); });
}

std::string Pattern::plan() const {
  return handle_ == nullptr ? std::string() : handle_->one_->picture();
}

} // namespace heddle

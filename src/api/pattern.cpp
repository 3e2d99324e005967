// The calls of heddle::Pattern, passed on to src/pattern.
#include "api/state.hpp"
#include "pattern/grid.hpp"

#include <heddle/pattern.hpp>

#include <string>
#include <utility>

#include "base/hidden.hpp"
#include "base/refusal.hpp"

namespace heddle {

namespace {

std::unexpected<Error> moved_from() {
  return refuse("the pattern was moved to another object", "use that one");
}

} // namespace

class HEDDLE_HIDDEN Pattern::Handle {
 public:
  explicit Handle(Context::State& state) : state_(state) {}
  ~Handle() {
    if (one_ != nullptr && !state_.must_refuse()) one_->abandon();
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
  if (context.state_->must_refuse()) [[unlikely]]
    return context.state_->refuse();
  if (context.state_->is_open()) return context.state_->refuse_in_open_world("a pattern");
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
  if (context.state_->must_refuse()) [[unlikely]]
    return context.state_->refuse();
  if (context.state_->is_open()) return context.state_->refuse_in_open_world("a pattern");
  const auto items = pattern::neighbour_requests(
      grid, {.own = static_cast<std::uint32_t>(context.rank()), .size = context.size()}, exchanges, options.barriers);
  if (!items) return std::unexpected(items.error());
  auto made = create(context, options);
  if (!made) return made;
  for (const pattern::Declared& item : *items)
    if (auto declared = made->handle_->one_->declare(item); !declared)
      return std::unexpected(std::move(declared.error()));
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
  if (handle_->state_.must_refuse()) [[unlikely]]
    return handle_->state_.refuse();
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
  if (handle_->state_.must_refuse()) [[unlikely]]
    return handle_->state_.refuse();
  return unless_out_of_memory([&] { return handle_->one_->start(notify); });
}

Result<void> Pattern::Handle::outcome(ErrorCode code) const {
  if (code == ErrorCode::ok) return {};
  return unless_out_of_memory([&]() -> Result<void> {
    if (code == ErrorCode::stale_request || code == ErrorCode::would_block)
      return std::unexpected(Error{.code = code, .fact = "there is no start of the pattern to wait for"});
    if (code == ErrorCode::timed_out)
      return std::unexpected(
          Error{.code = code, .fact = "the pattern did not complete in time", .remedy = "wait again"});
    return std::unexpected(one_->error().value_or(Error{.code = code, .fact = "the pattern failed"}));
  });
}

Result<void> Pattern::wait() {
  if (handle_ == nullptr) return moved_from();
  if (handle_->state_.must_refuse()) [[unlikely]]
    return handle_->state_.refuse();
  return handle_->outcome(handle_->state_.wait(handle_->one_->request()).code);
}

Result<void> Pattern::wait(std::chrono::nanoseconds limit) {
  if (handle_ == nullptr) return moved_from();
  if (handle_->state_.must_refuse()) [[unlikely]]
    return handle_->state_.refuse();
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
  if (handle_->state_.must_refuse()) [[unlikely]]
    return handle_->state_.refuse();
  return unless_out_of_memory([&] { return handle_->one_->free(); });
}

std::string Pattern::plan() const {
  return handle_ == nullptr ? std::string() : handle_->one_->picture();
}

} // namespace heddle

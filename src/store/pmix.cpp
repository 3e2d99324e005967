#include "store/pmix.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace heddle::store {

namespace {

constexpr const char* kAborted = "the program has ended the job";
constexpr std::chrono::seconds kAbortLimit{5}; // for the launcher to hear it; this process ends anyway

template <std::size_t n>
void copy_into(std::array<char, n>& to, std::string_view text) {
  std::ranges::copy(text.substr(0, n - 1), to.begin());
}

} // namespace

// What a call of the library will say, in its own time and from its own thread, also when nobody waits for it any more.
struct Pmix::Wait {
  std::mutex mutex;
  std::condition_variable change;
  bool over = false;
  pmix::Status status = pmix::kSuccess;
  pmix::Value value; // of a string: a copy

  using Shared = std::shared_ptr<Wait>;
  // Given to the library, and taken back by `end`.
  static void* hand_over(const Shared& wait) { return new Shared(wait); }
  static void end(pmix::Status status, pmix::Value* value, void* context) {
    const std::unique_ptr<Shared> owner(static_cast<Shared*>(context));
    Wait& wait = **owner;
    const std::lock_guard lock(wait.mutex);
    wait.status = status;
    if (status == pmix::kSuccess && value != nullptr) {
      wait.value = *value;
      if (value->type == pmix::kString && value->data.string != nullptr)
        wait.value.data.string = ::strdup(value->data.string);
    }
    wait.over = true;
    wait.change.notify_all();
  }
  static void end_operation(pmix::Status status, void* context) { end(status, nullptr, context); }

  bool await(Deadline deadline) {
    std::unique_lock lock(mutex);
    return change.wait_until(lock, deadline, [this] { return over; });
  }
  ~Wait() {
    if (value.type == pmix::kString) std::free(value.data.string);
  }
};

// A call that waits for the launcher's server, which may hang: in a thread of its own, which is left to itself when nobody waits for it any
// more. What the call uses goes with it.
Result<pmix::Status> Pmix::in_time(std::function<pmix::Status()> call, Deadline deadline) {
  const auto wait = std::make_shared<Wait>();
  try {
    std::thread([wait, call = std::move(call)] { Wait::end(call(), nullptr, Wait::hand_over(wait)); }).detach();
  } catch (const std::system_error& none) {
    return std::unexpected(Error{.code = ErrorCode::system_failed,
                                 .fact = "no thread can be started for the launcher's PMIx",
                                 .remedy = "",
                                 .peer = kNoPeer,
                                 .system_code = none.code().value()});
  }
  if (!wait->await(deadline)) return late();
  return wait->status;
}

std::unexpected<Error> Pmix::late() {
  return std::unexpected(Error{.code = ErrorCode::timed_out, .fact = "the launcher gives no answer by PMIx in time"});
}

std::unexpected<Error> Pmix::failed(const std::string& what, pmix::Status status) const {
  return std::unexpected(Error{.code = ErrorCode::store_failed,
                               .fact = "the launcher's PMIx " + what + ": " + library_.error_text(status),
                               .remedy = "",
                               .peer = kNoPeer,
                               .system_code = 0});
}

Result<std::unique_ptr<Pmix>> Pmix::open(Deadline deadline) {
  const auto library = pmix::Library::load();
  if (!library) return std::unexpected(library.error());
  std::unique_ptr<Pmix> board(new Pmix(*library));
  const auto self = std::make_shared<pmix::Process>();
  const auto status = in_time([init = library->init, self] { return init(self.get(), nullptr, 0); }, deadline);
  if (!status) return std::unexpected(status.error());
  if (*status != pmix::kSuccess) return board->failed("server is not reached", *status);
  board->self_ = *self;
  const auto size = board->number_of(pmix::kAnyRank, "pmix.job.size", deadline);
  if (!size || board->self_.rank >= *size) return board->failed("server does not say how many processes there are", -1);
  board->size_ = *size;
  return board;
}

Result<std::optional<pmix::Value>> Pmix::fetch(std::uint32_t rank, const std::string& key, Deadline deadline) {
  pmix::Process process = self_;
  process.rank = rank;
  // Only what is there already: a key that nobody has put would be waited for.
  pmix::Info present;
  copy_into(present.key, "pmix.immediate");
  present.value.type = pmix::kBool;
  present.value.data.flag = true;
  const auto wait = std::make_shared<Wait>();
  void* context = Wait::hand_over(wait);
  const auto status = library_.get(&process, key.c_str(), &present, 1, &Wait::end, context);
  if (status != pmix::kSuccess) { // then nobody will call
    delete static_cast<Wait::Shared*>(context);
    return std::nullopt;
  }
  if (!wait->await(deadline)) return late();
  if (wait->status != pmix::kSuccess) return std::nullopt;
  return std::exchange(wait->value, {}); // the caller's, with its string
}

std::optional<std::uint32_t> Pmix::number_of(std::uint32_t rank, const char* key, Deadline deadline) {
  const auto value = fetch(rank, key, deadline);
  if (!value || !*value || (*value)->type != pmix::kUint32) return std::nullopt;
  return (*value)->data.uint32;
}

Placement Pmix::placement(Deadline deadline) {
  const auto here = number_of(pmix::kAnyRank, "pmix.local.size", deadline);
  const auto nodes = number_of(pmix::kAnyRank, "pmix.num.nodes", deadline);
  const auto node = number_of(self_.rank, "pmix.nodeid", deadline);
  return {.nodes = here == size_ ? 1 : nodes.value_or(0), .node = node ? std::to_string(*node) : std::string()};
}

Result<std::string> Pmix::nodes() const {
  char* names = nullptr;
  const auto status = library_.resolve_nodes(self_.name_space.data(), &names);
  const std::unique_ptr<char, void (*)(void*)> owner(names, &std::free);
  if (status != pmix::kSuccess) return failed("server does not say which nodes there are", status);
  return std::string(names != nullptr ? names : "");
}

std::size_t Pmix::longest() const {
  return 2 * kLargestNote + 16; // a note in one piece; launchers pass on many times that
}

// Keys belong to the process that puts them; a note says its own in its name, by leaving it to rank 0 (see get_text).
Result<void> Pmix::put_text(const std::string& key, const std::string& text, Deadline) {
  std::string copy = text;
  pmix::Value value;
  value.type = pmix::kString;
  value.data.string = copy.data();
  if (const auto status = library_.put(pmix::kGlobal, key.c_str(), &value); status != pmix::kSuccess)
    return failed("server takes no value", status);
  if (const auto status = library_.commit(); status != pmix::kSuccess) return failed("server takes no value", status);
  return {};
}

Result<std::optional<std::string>> Pmix::get_text(const std::string& key, Deadline deadline) {
  for (std::uint32_t rank = 0; rank < size_; ++rank) { // rank 0 nearly always
    const auto value = fetch(rank, key, deadline);
    if (!value) return std::unexpected(value.error());
    if (!*value || (*value)->type != pmix::kString || (*value)->data.string == nullptr) continue;
    const std::unique_ptr<char, void (*)(void*)> text((*value)->data.string, &std::free);
    return std::string(text.get());
  }
  return std::nullopt;
}

Result<void> Pmix::fence(Deadline deadline) {
  pmix::Process all = self_;
  all.rank = pmix::kAnyRank;
  auto collect = std::make_shared<pmix::Info>(); // the library may look at it later
  copy_into(collect->key, "pmix.collect");
  collect->value.type = pmix::kBool;
  collect->value.data.flag = true;
  const auto wait = std::make_shared<Wait>();
  void* context = Wait::hand_over(wait);
  if (const auto status = library_.fence(&all, 1, collect.get(), 1, &Wait::end_operation, context);
      status != pmix::kSuccess) {
    delete static_cast<Wait::Shared*>(context);
    return failed("fence has failed", status);
  }
  if (!wait->await(deadline))
    return std::unexpected(
        Error{.code = ErrorCode::timed_out, .fact = "not every rank reached the launcher's fence in time"});
  if (wait->status != pmix::kSuccess) return failed("fence has failed", wait->status);
  return {};
}

void Pmix::abort(int status) {
  static_cast<void>(in_time([abort = library_.abort, status] { return abort(status, kAborted, nullptr, 0); },
                            base::deadline_in(kAbortLimit)));
}

void Pmix::leave(Deadline deadline) {
  static_cast<void>(in_time([finalize = library_.finalize] { return finalize(nullptr, 0); }, deadline));
}

} // namespace heddle::store

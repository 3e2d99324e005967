// Two processes that talk while their TCP connections are cut again and again, in the midst of whatever is under way:
//   broken_program SEED CUTS
// Each sends numbered messages of all sizes to the other. One that ends with an error is not sent again: what arrives must be whole,
// in order, and no message twice. After the last cut everything must get through. Prints what it has seen; exit 1 where a
// promise is broken.
#include <heddle/heddle.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using heddle::ErrorCode;
using heddle::Rank;
using heddle::Tag;

constexpr Tag kData{1};
constexpr Tag kLast{2};
constexpr std::uint64_t kLargest = 300'000;
constexpr int kAtOnce = 8;
constexpr std::uint64_t kAfterTheLastCut = 50;

[[noreturn]] void broken_promise(const std::string& what) {
  std::fprintf(stderr, "broken_program: %s\n", what.c_str());
  std::_Exit(1);
}

// Resets TCP connections of this process, as a middlebox or `ss -K` would: all of them, or those that are drawn. The standard streams
// are none.
int cut_connections(std::mt19937_64& random) {
  const bool all = random() % 2 == 0;
  int cut = 0;
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0 || peer.ss_family == AF_UNIX)
      continue;
    if (!all && random() % 2 == 0) continue;
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    if (::connect(descriptor, &nobody, sizeof nobody) == 0) ++cut;
  }
  return cut;
}

void fill(std::vector<std::uint64_t>& words, std::uint64_t number) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = number * 1'000'003 + i;
  words[0] = number;
}

class Talker {
 public:
  Talker(heddle::Context& context, std::uint64_t seed, int cuts)
      : context_(context),
        other_(Rank{1 - static_cast<std::uint32_t>(context.rank())}),
        random_(seed),
        cuts_(cuts),
        seldom_(std::uint64_t{4} << (random_() % 10)) {}

  void run() {
    for (int i = 0; i < kAtOnce; ++i) post_receive(receives_.emplace_back());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      step();
      if (std::chrono::steady_clock::now() > deadline)
        broken_promise("nothing gets through any more: " + context_.waiting_for());
    }
  }
  void report() const {
    std::printf("rank %u: sent %llu, %llu failed; received %llu; cut %d\n", static_cast<unsigned>(context_.rank()),
                static_cast<unsigned long long>(next_), static_cast<unsigned long long>(failed_),
                static_cast<unsigned long long>(received_), made_);
  }

 private:
  struct Receive {
    heddle::Request request;
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kLargest / 8);
  };
  struct Send {
    heddle::Request request;
    std::vector<std::uint64_t> words;
  };

  // Both have sent what they wanted to after the last cut of either, and know that of each other.
  [[nodiscard]] bool done() const { return said_ && heard_ && sends_.empty(); }

  void post_receive(Receive& receive) {
    auto posted = context_.receive({.source = other_, .tag = Tag{0}, .mask = 0},
                                   heddle::Layout(receive.words.data(), kLargest / 8 * 8));
    if (!posted) broken_promise("a receive is refused: " + posted.error().message());
    receive.request = *posted;
  }

  void begin_send(Tag tag) {
    Send send{.request = {},
              .words = std::vector<std::uint64_t>(1 + random_() % (random_() % 8 == 0 ? kLargest / 8 : 32))};
    fill(send.words, next_++);
    auto begun = context_.send(other_, tag, heddle::ConstLayout(send.words.data(), send.words.size() * 8),
                               tag == kLast ? heddle::SendMode::synchronous : heddle::SendMode::standard);
    if (begun) {
      send.request = *begun;
      sends_.push_back(std::move(send));
    } else if (begun.error().code != ErrorCode::connection_lost) {
      broken_promise("a send is refused: " + begun.error().message());
    } else {
      ++failed_;
    }
  }

  void step() {
    if (static_cast<int>(sends_.size()) < kAtOnce && !saying_last_) {
      saying_last_ = cuts_ == made_ && since_cut_++ >= kAfterTheLastCut;
      begin_send(saying_last_ ? kLast : kData);
    }
    if (made_ < cuts_ && random_() % seldom_ == 0) made_ += cut_connections(random_) > 0 ? 1 : 0;
    std::erase_if(sends_, [this](Send& send) {
      const auto ended = context_.test(send.request);
      if (!ended) return false;
      if (ended->code != ErrorCode::ok && ended->code != ErrorCode::connection_lost)
        broken_promise("a send ends with " + std::string(heddle::to_string(ended->code)));
      failed_ += ended->code == ErrorCode::ok ? 0 : 1;
      if (ended->tag == kLast && ended->code == ErrorCode::ok) said_ = true;
      if (ended->tag == kLast && ended->code != ErrorCode::ok) saying_last_ = false; // once more
      return true;
    });
    if (saying_last_ && sends_.empty() && !said_) saying_last_ = false;
    // In the order in which they were posted, which is the order of the messages.
    while (!receives_.empty()) {
      Receive& first = receives_[oldest_];
      const auto ended = context_.test(first.request);
      if (!ended) break;
      take(first, *ended);
      post_receive(first);
      oldest_ = (oldest_ + 1) % receives_.size();
    }
    heddle::Event event;
    static_cast<void>(context_.poll({&event, 1}));
  }

  void take(const Receive& receive, const heddle::Completion& ended) {
    if (ended.code == ErrorCode::connection_lost) return;
    if (ended.code != ErrorCode::ok)
      broken_promise("a receive ends with " + std::string(heddle::to_string(ended.code)));
    const std::uint64_t number = receive.words[0];
    if (received_ > 0 && number <= last_) broken_promise("a message comes twice, or out of order");
    std::vector<std::uint64_t> expected(ended.bytes / 8);
    fill(expected, number);
    if (std::memcmp(expected.data(), receive.words.data(), ended.bytes) != 0) broken_promise("a message is damaged");
    last_ = number;
    ++received_;
    if (ended.tag == kLast) heard_ = true;
  }

  heddle::Context& context_;
  Rank other_;
  std::mt19937_64 random_;
  int cuts_;
  std::uint64_t seldom_; // steps from one cut to the next
  int made_ = 0;
  std::uint64_t since_cut_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t failed_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t last_ = 0;
  bool saying_last_ = false;
  bool said_ = false;
  bool heard_ = false;
  std::size_t oldest_ = 0;
  std::vector<Receive> receives_;
  std::vector<Send> sends_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto context = heddle::Context::join({.translators = "tcp"});
  if (!context) broken_promise(context.error().message());
  const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10) * 2 + static_cast<std::uint32_t>(context->rank());
  Talker talker(*context, seed, std::atoi(argv[2]));
  talker.run();
  talker.report();
  // The other may still want an answer to its last word.
  if (auto passed = context->barrier(std::chrono::seconds(60)); !passed) broken_promise(passed.error().message());
  return 0;
}

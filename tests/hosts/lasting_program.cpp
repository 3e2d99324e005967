// Every process talks to every other in all ways at once, until it is over: tagged messages, unsolicited ones, one-sided operations,
// small and large. All of it is numbered and checked: whole, once, in order.
//   lasting_program whole       nothing may fail; over when rank 0's standard input ends
//   lasting_program cut         operations may end with connection_lost; over when rank 0's standard input ends
//   lasting_program deaths N    operations with whoever has failed end with peer_failed; over when N have
//   lasting_program idle N      the same, but nothing is sent after a first round, until rank 0 gets input: then one message to each
// With TEST_GATE in the environment nobody leaves before a file of that name is there: so it is not taken for one that has left. Says "steady" (rank 0) when everybody has heard from everybody, who fails and when, and what it has counted at the end.
#include "tests/hosts/lasting_peer.hpp"

#include <poll.h>

#include <array>
#include <memory>

namespace heddle::tests {
namespace {

constexpr Tag kOver{3};

enum class Input : std::uint8_t { none, some, ended };

Input look_at_input() {
  pollfd entry{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char byte = 0;
  if (::poll(&entry, 1, 0) != 1) return Input::none;
  return ::read(STDIN_FILENO, &byte, 1) == 1 ? Input::some : Input::ended;
}

class Lasting {
 public:
  Lasting(Context& context, Manner manner, std::uint64_t deaths)
      : context_(context), manner_(manner), rank_(static_cast<std::uint32_t>(context.rank())), deaths_(deaths) {
    static_cast<void>(demand(context.one_sided().allocate(kArea, context.size() * kSlotBytes), "area"));
    for (std::uint32_t other = 0; other < context.size(); ++other)
      peers_.push_back(other == rank_ ? nullptr : std::make_unique<Peer>(context, other, manner));
    demand(context.barrier(), "first barrier");
    if (deaths == 0 && rank_ != 0) await_word();
  }

  void run() {
    while (!over_) {
      step(true);
      if (!steady_ && all([](const Peer& peer) { return peer.heard() > 0; })) {
        if (manner_ == Manner::idle) fall_silent();
        steady_ = true;
        if (rank_ == 0) say("steady");
      }
      look_whether_over();
    }
    while (!all([](const Peer& peer) { return peer.quiet(); })) step(false); // what is under way ends, whatever happens
    exchange_counts();
    std::uint64_t lost = 0;
    std::uint64_t received = 0;
    for (const auto& peer : peers_) {
      if (peer == nullptr) continue;
      lost += peer->lost();
      received += peer->heard();
    }
    if (const char* gate = std::getenv("TEST_GATE"))
      while (::access(gate, F_OK) != 0) look(std::chrono::milliseconds(5));
    say("rank " + std::to_string(rank_) + ": received " + std::to_string(received) + ", lost " + std::to_string(lost));
  }

 private:
  template <typename Question>
  bool all(const Question& question) const {
    for (const auto& peer : peers_)
      if (peer != nullptr && !peer->failed() && !question(*peer)) return false;
    return true;
  }

  void step(bool begin) {
    bool moved = false;
    for (const auto& peer : peers_)
      if (peer != nullptr) moved = peer->step(begin && !silent_) || moved;
    look(moved ? std::chrono::nanoseconds(0) : nap());
  }
  // Whoever is silent sleeps until it is told something.
  std::chrono::nanoseconds nap() {
    if (!silent_ || !steady_) return std::chrono::milliseconds(1);
    if (rank_ != 0) return std::chrono::seconds(60);
    if (!spoke_ && look_at_input() == Input::some) {
      spoke_ = true;
      for (const auto& peer : peers_)
        if (peer != nullptr) static_cast<void>(peer->step(true));
    }
    return spoke_ ? std::chrono::nanoseconds(std::chrono::seconds(60)) : std::chrono::milliseconds(10);
  }

  void look(std::chrono::nanoseconds limit) {
    std::array<Event, 16> events;
    const std::size_t count = limit.count() == 0 ? context_.poll(events) : context_.wait_events(events, limit);
    for (std::size_t i = 0; i < count; ++i) {
      const auto from = static_cast<std::uint32_t>(events[i].completion.peer);
      if (events[i].kind == Event::Kind::unsolicited_arrived) {
        peers_[from]->take_unsolicited(events[i].unsolicited);
        context_.release(events[i].unsolicited);
      } else if (events[i].kind == Event::Kind::peer_failed) {
        say("rank " + std::to_string(rank_) + " saw " + std::to_string(from) + " fail at " +
            std::to_string(machine_ns()));
        demand(!peers_[from]->failed(), "a second death was told");
        peers_[from]->fail();
        ++failed_;
      } else if (events[i].kind == Event::Kind::connection_lost) {
        demand(manner_ == Manner::cut, "connection_lost was told");
        say("rank " + std::to_string(rank_) + " lost the connection to " + std::to_string(from));
      } else {
        demand(events[i].kind == Event::Kind::peer_left && over_, "an unexpected event");
      }
    }
  }

  void await_word() {
    const auto posted = context_.receive({.source = Rank{0}, .tag = kOver}, Layout(&heard_word_, 8));
    if (!posted) return peers_[0]->expect_sound(posted.error().code, "receive of the end");
    word_ = *posted;
    awaits_word_ = true;
  }
  void look_whether_over() {
    if (deaths_ > 0) {
      over_ = failed_ == deaths_;
    } else if (rank_ != 0) {
      if (!awaits_word_) await_word();
      const auto ended = awaits_word_ ? context_.test(word_) : std::nullopt;
      if (!ended) return;
      awaits_word_ = false;
      over_ = ended->code == ErrorCode::ok;
      await_word(); // where its sender has not learnt that it arrived, it comes again
    } else if (steady_ && look_at_input() == Input::ended) {
      for (std::uint32_t other = 1; other < context_.size(); ++other) insist(other, kOver, 1);
      over_ = true;
    }
  }

  // Everything that was sent before the last silence is there: so idle connections are.
  void fall_silent() {
    silent_ = true;
    while (!all([](const Peer& peer) { return peer.quiet(); })) step(false);
    const Request all_are = demand(context_.start_barrier(), "barrier before silence");
    while (!context_.test(all_are)) step(false);
  }

  // Sends it until it has arrived.
  void insist(std::uint32_t other, Tag tag, std::uint64_t value) {
    for (bool arrived = false; !arrived && !peers_[other]->failed();) {
      const auto sent = context_.send(Rank{other}, tag, ConstLayout(&value, 8), SendMode::synchronous);
      if (!sent) peers_[other]->expect_sound(sent.error().code, "last send");
      std::optional<Completion> ended;
      while (sent && !(ended = context_.test(*sent))) step(false);
      arrived = ended && ended->code == ErrorCode::ok;
      if (ended && !arrived) peers_[other]->expect_sound(ended->code, "last send");
      if (!arrived) step(false);
    }
  }

  // Those that are left tell each other how much they have sent: where nothing is lost all of it must come.
  void exchange_counts() {
    for (std::uint32_t other = 0; other < context_.size(); ++other)
      if (other != rank_ && !peers_[other]->failed()) peers_[other]->expect_count();
    for (std::uint32_t other = 0; other < context_.size(); ++other)
      if (other != rank_ && !peers_[other]->failed()) insist(other, kCount, peers_[other]->sent());
    while (!all([](const Peer& peer) { return peer.complete(); })) step(false);
    if (failed_ == 0) demand(context_.barrier(std::chrono::seconds(20)), "last barrier");
  }

  Context& context_;
  Manner manner_;
  std::uint32_t rank_;
  std::uint64_t deaths_;
  std::vector<std::unique_ptr<Peer>> peers_; // by rank; null: this process itself
  std::uint64_t failed_ = 0;
  bool steady_ = false;
  bool silent_ = false;
  bool spoke_ = false; // since
  bool over_ = false;
  Request word_;
  bool awaits_word_ = false;
  std::uint64_t heard_word_ = 0;
};

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  const std::string_view what = argc < 2 ? "" : argv[1];
  const std::uint64_t deaths = argc < 3 ? 0 : number(argv[2]);
  auto context = demand(heddle::Context::join(), "join");
  const Manner manner = what == "cut" ? Manner::cut : what == "idle" ? Manner::idle : Manner::whole;
  Lasting(context, manner, deaths).run();
  return 0;
}

// A member of a job that is killed, stopped and delayed at random instants (tests/chaos/run). It mixes messages, one-sided
// operations and collective ones as its seed says, checks all that it gets, and says "done" with the deaths it was told of.
#include "tests/chaos/messages.hpp"
#include "tests/chaos/shared.hpp"

#include <thread>

namespace heddle::tests {
namespace {

class Member {
 public:
  Member(Context& context, const ChaosPlan& plan)
      : context_(context),
        plan_(plan),
        fate_(context, plan),
        messages_(context, plan, fate_),
        shared_(context, plan, fate_),
        dice_(plan.seed * 1000 + 900 + fate_.rank()),
        together_(plan.seed) {}

  void take_part() {
    pass_barrier(); // all areas are there
    const bool all_met = !broken_;
    for (std::uint32_t step = 0; step < plan_.steps; ++step) {
      fate_.step(step);
      if (step % kStepsBetween == kStepsBetween - 1) act_together();
      const std::uint64_t choice = dice_.below(100);
      if (choice < 45) messages_.send_one();
      if (choice >= 45 && choice < 70) messages_.receive_one();
      if (choice >= 70 && choice < 90 && all_met) shared_.act([this] { messages_.collect(); });
      if (choice >= 90 && choice < 95) messages_.probe();
      if (choice >= 95) std::this_thread::sleep_for(std::chrono::microseconds(dice_.below(300)));
      messages_.collect();
    }
    finish();
  }
  [[nodiscard]] bool ends_badly() const { return fate_.ends_badly(); }

 private:
  static constexpr std::uint32_t kStepsBetween = 12;

  void finish() {
    messages_.begin_rest();
    const bool dies = plan_.deaths.contains(fate_.rank());
    while (!messages_.finished() || !(dies || plan_.early || fate_.knows_all())) {
      messages_.collect(std::chrono::milliseconds(2));
      messages_.begin_rest();
      fate_.watch_time();
    }
    messages_.check_order();
    fate_.step(plan_.steps);
    while (dies && !fate_.ends_badly())
      messages_.collect(std::chrono::milliseconds(100)); // by another's hand, sooner or later
    if (plan_.deaths.empty() && !plan_.lenient) check_counters();
    messages_.collect(); // a second word of a death would come here
    for (const auto& figure : context_.figures())
      if (figure.name == "peers failed")
        fate_.demand(figure.value == fate_.known().size(), "the figure of peers failed is wrong");
    std::string text = "done " + std::to_string(fate_.rank()) + " told";
    for (const std::uint32_t dead : fate_.known()) text += " " + std::to_string(dead);
    say(text);
  }

  // Every process says how often it added to whose counter.
  void check_counters() {
    std::vector<std::uint64_t> adds(context_.size());
    end_together(
        context_.start_alltoall(std::as_bytes(std::span(shared_.added())), std::as_writable_bytes(std::span(adds))));
    std::uint64_t sum = 0;
    for (const std::uint64_t each : adds) sum += each;
    fate_.demand(sum == shared_.counted(),
                 "a counter is " + std::to_string(shared_.counted()) + ", not " + std::to_string(sum));
    pass_barrier();
  }

  void act_together() {
    const std::uint64_t bytes = together_.bytes(1, 40'000);
    const bool exchange = together_.chance(50);
    if (broken_) return;
    if (!exchange) {
      pass_barrier();
      return;
    }
    const std::uint64_t size = context_.size();
    std::vector<std::byte> out(bytes * size);
    std::vector<std::byte> in(bytes * size);
    for (std::uint64_t peer = 0; peer < size; ++peer)
      Content(plan_.seed, kBlock, fate_.rank(), peer, exchanges_).write(std::span(out).subspan(peer * bytes, bytes));
    end_together(context_.start_alltoall(out, in));
    for (std::uint64_t peer = 0; peer < size && !broken_; ++peer)
      fate_.demand(Content(plan_.seed, kBlock, peer, fate_.rank(), exchanges_)
                       .stands_in(std::span(in).subspan(peer * bytes, bytes)),
                   "a block of an all-to-all is not as it was sent");
    ++exchanges_;
  }
  void pass_barrier() { end_together(context_.start_barrier()); }

  void end_together(const Result<Request>& request) {
    ErrorCode code = request ? ErrorCode::ok : request.error().code;
    if (request) {
      std::optional<Completion> completion;
      while (!(completion = context_.test(*request))) {
        messages_.collect(std::chrono::milliseconds(1));
        fate_.watch_time();
      }
      code = completion->code;
    }
    if (code == ErrorCode::ok) return;
    broken_ = true;
    fate_.demand(fate_.may_end(code, 0, true), "a collective operation ended with " + std::string(to_string(code)));
  }

  static constexpr std::uint64_t kBlock = 98;

  Context& context_;
  const ChaosPlan& plan_;
  Fate fate_;
  Messages messages_;
  Shared shared_;
  Dice dice_;
  Dice together_; // the same everywhere
  std::uint64_t exchanges_ = 0;
  bool broken_ = false; // a collective operation has failed: no more of them
};

int take_part(const ChaosPlan& plan) {
  const std::string rank = std::getenv("HEDDLE_RANK");
  say("pid " + std::to_string(::getpid()) + " of rank " + rank + " at " + std::getenv("HEDDLE_STORE"));
  const auto own = static_cast<std::uint32_t>(number(rank.c_str()));
  if (const auto late = plan.late_ms.find(own); late != plan.late_ms.end())
    std::this_thread::sleep_for(std::chrono::milliseconds(late->second));
  auto joined = Context::join();
  if (!joined) {
    const bool of_death = joined.error().code == ErrorCode::peer_failed && !plan.deaths.empty();
    demand(of_death || plan.lenient, "join: " + joined.error().message());
    while (plan.deaths.contains(own)) { // as announced to the others
      if (plan.own_deaths.contains(own)) ::kill(::getpid(), SIGKILL);
      ::pause();
    }
    say("refused " + rank);
    return 0;
  }
  bool badly = false;
  {
    Context context = std::move(*joined);
    Member member(context, plan);
    member.take_part();
    badly = member.ends_badly();
  }
  return badly ? 3 : 0;
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  return heddle::tests::take_part(heddle::tests::ChaosPlan::read(argc, argv));
}

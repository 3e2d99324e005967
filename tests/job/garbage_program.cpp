// A member that breaks every rule. Rank 2 maps the segment of rank 0 behind the library's back and scribbles over what it
// may reach there: its own ring, the common slot, the command slots, the claim cells. Rank 0 must survive that, whatever
// it makes of rank 2, and go on with rank 1. Argument: seed.
#include "engine/bootstrap/area.hpp"
#include "engine/record.hpp"
#include "segments/segment.hpp"
#include "tests/job/member.hpp"
#include "tests/traffic/dice.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

namespace heddle::tests {
namespace {

using engine::BootstrapArea;
using engine::RecordKind;

constexpr Tag kGreeting{1};
constexpr Tag kGoOn{2};
constexpr Tag kReady{3};
constexpr std::size_t kSecretWords = 8;

// The victim's segment, found among its open files.
std::span<std::byte> map_segment_of(std::uint64_t process) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored).string().find("memfd:heddle") == std::string::npos)
      continue;
    const int file = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    struct stat status{};
    ::fstat(file, &status);
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data != MAP_FAILED) return {static_cast<std::byte*>(data), bytes};
  }
  give_up("the victim's segment was not found");
}

class Scribbler {
 public:
  Scribbler(std::span<std::byte> segment, std::span<std::byte> ring, std::uint64_t written, Dice& dice)
      : segment_(segment),
        area_(reinterpret_cast<BootstrapArea*>(segment.data() + sizeof(segments::SegmentHeader))),
        ring_(ring),
        dice_(dice),
        at_(written) {}

  void once() {
    switch (dice_.below(7)) {
      case 0: noise(ring_); return;
      case 1:
      case 2: records(); return;
      case 3: common_slot(); return;
      case 4: command_slot(); return;
      case 5: area_->cells[dice_.below(engine::kClaimCells)].next.store(word()); return;
      default: reinterpret_cast<segments::SegmentHeader*>(segment_.data())->asleep.store(1); return;
    }
  }

 private:
  // Values that are likely to mean something, or to overflow.
  std::uint64_t word() {
    const std::uint64_t choices[] = {0,           1,     dice_.below(8),         dice_.below(4096), 1ULL << 32U,
                                     1ULL << 63U, ~0ULL, dice_.below(64) << 32U, dice_.source()()};
    return choices[dice_.below(std::size(choices))];
  }
  void noise(std::span<std::byte> memory) {
    const std::size_t from = dice_.below(memory.size() / 8) * 8;
    const std::size_t end = std::min(memory.size(), from + 8 * (1 + dice_.below(512)));
    for (std::size_t i = from; i < end; i += 8) store(memory.data() + i, dice_.source()());
  }
  static void store(std::byte* at, std::uint64_t value) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(value, std::memory_order_release);
  }
  // Records of every kind, with a proper lead word and anything else in them, one after the other from where the last one
  // ended, each as long as its kind is or as it likes.
  void records() {
    for (std::uint64_t count = 1 + dice_.below(6); count > 0; --count) {
      const auto kind = static_cast<RecordKind>(1 + dice_.below(engine::kRecordKinds - 1));
      const std::uint32_t sizes[] = {8,
                                     16,
                                     24,
                                     40,
                                     48,
                                     static_cast<std::uint32_t>(dice_.below(200)),
                                     static_cast<std::uint32_t>(dice_.source()())};
      const std::uint32_t bytes = sizes[dice_.below(dice_.chance(90) ? 6 : 7)];
      const std::uint64_t span = engine::record_span(bytes);
      if (at_ + span + engine::kLeadBytes > ring_.size()) return;
      std::byte* record = ring_.data() + at_;
      for (std::uint64_t i = 8; i < span; i += 8) store(record + i, word());
      store(record + span, 0);
      const auto channel = static_cast<engine::Channel>(dice_.below(2));
      store(record, engine::Lead{.kind = kind, .channel = channel, .bytes = bytes}.pack());
      at_ += span;
    }
  }
  void common_slot() {
    area_->common.initiator.uid = dice_.chance(70) ? 1 + dice_.below(3) : word();
    const auto slot = static_cast<std::uint32_t>(dice_.chance(70) ? dice_.below(64) : dice_.below(65536));
    area_->common.request.store(dice_.chance(80) ? engine::pack_request(slot) : word());
  }
  void command_slot() {
    engine::CommandSlot& slot = area_->slots[dice_.below(dice_.chance(80) ? 4 : engine::kCommandSlots)];
    auto* body = reinterpret_cast<std::byte*>(&slot.body);
    for (std::size_t i = 0; i + 8 <= sizeof slot.body; i += 8) store(body + i, word());
    const auto verb = static_cast<engine::SlotVerb>(dice_.below(7));
    slot.lead.store(dice_.chance(80) ? engine::pack_word(verb, 1 + dice_.below(3)) : word(), std::memory_order_release);
  }

  std::span<std::byte> segment_;
  BootstrapArea* area_;
  std::span<std::byte> ring_;
  Dice& dice_;
  std::uint64_t at_; // where the next record goes
};

// This process's ring at the victim, and where the record with its greeting ends. Only a barrier's records stand before
// it, less than the 64 bytes that rings are aligned to.
struct OwnRing {
  std::span<std::byte> memory;
  std::uint64_t written = 0;
};
OwnRing find_ring(std::span<std::byte> segment, const std::array<std::uint64_t, kSecretWords>& secret) {
  constexpr std::size_t kRing = 64 << 10; // HEDDLE_RING_BYTES of the test
  for (std::size_t at = engine::kRecordHeadBytes; at + sizeof secret <= segment.size(); at += 8)
    if (std::memcmp(segment.data() + at, secret.data(), sizeof secret) == 0) {
      const std::size_t record = at - engine::kRecordHeadBytes;
      return {.memory = segment.subspan(record / 64 * 64, kRing),
              .written = record % 64 + engine::record_span(sizeof secret)};
    }
  give_up("the own ring was not found");
}

[[noreturn]] void attack(Context& context, std::uint64_t seed) {
  Dice dice(seed);
  std::array<std::uint64_t, kSecretWords> secret{};
  for (auto& word : secret) word = dice.source()();
  const Request sent = demand(context.send(Rank{0}, kGreeting, secret), "greeting");
  std::uint64_t process = 0;
  const Request received =
      demand(context.receive({.source = Rank{0}, .tag = kGreeting}, Layout(&process, 8)), "answer");
  demand(context.wait(sent).code == ErrorCode::ok && context.wait(received).code == ErrorCode::ok, "greeting failed");
  const std::span<std::byte> segment = map_segment_of(process);
  const OwnRing ring = find_ring(segment, secret);
  Scribbler scribbler(segment, ring.memory, ring.written, dice);
  for (int i = 0; i < 400; ++i) {
    scribbler.once();
    for (int poll = 0; poll < 50; ++poll) static_cast<void>(context.test(received));
  }
  ::_exit(0); // not a word to anybody
}

// Messages with rank 1 while rank 2 does its worst, and operations with rank 2 that may end in any way or not at all.
void endure(Context& context) {
  std::array<std::uint64_t, kSecretWords> greeting{};
  const Request greeted = demand(context.receive({.source = Rank{2}, .tag = kGreeting}, greeting), "greeting");
  const Completion completion = context.wait(greeted);
  demand(completion.code == ErrorCode::ok, "no greeting");
  // The attacker ends soon after the answer: not before the innocent has left the barrier, which would fail for that.
  std::uint64_t ready = 0;
  const Request awaited = demand(context.receive({.source = Rank{1}, .tag = kReady}, Layout(&ready, 8)), "receive");
  demand(context.wait(awaited).code == ErrorCode::ok, "the innocent is not ready");
  const auto process = static_cast<std::uint64_t>(::getpid());
  const Request told = demand(context.send(Rank{2}, kGreeting, ConstLayout(&process, 8)), "answer");
  static_cast<void>(context.wait(told));                // the attacker may be at it already
  static std::array<std::vector<std::byte>, 4> exposed; // outlives the context
  std::array<Event, 16> events;
  std::uint64_t deaths = 0;
  for (auto& memory : exposed) {
    memory.resize(300'000);
    static_cast<void>(context.send(Rank{2}, Tag{5}, memory, SendMode::synchronous, Notify::event(1)));
    static_cast<void>(context.receive({.source = Rank{2}, .tag = Tag{6}}, memory, Notify::event(2)));
  }
  const std::uint64_t end = machine_ns() + 10'000'000'000;
  for (std::uint64_t round = 0; deaths == 0 && machine_ns() < end; ++round) {
    std::uint64_t back = 0;
    const Request sent = demand(context.send(Rank{1}, kGoOn, ConstLayout(&round, 8)), "send");
    const Request received = demand(context.receive({.source = Rank{1}, .tag = kGoOn}, Layout(&back, 8)), "receive");
    demand(context.wait(sent).code == ErrorCode::ok && context.wait(received).code == ErrorCode::ok && back == round,
           "traffic with the innocent failed");
    for (std::size_t i = context.poll(events); i > 0; --i) {
      const Event& event = events[i - 1];
      if (event.kind == Event::Kind::unsolicited_arrived) context.release(event.unsolicited);
      if (event.kind != Event::Kind::peer_failed) continue;
      demand(event.completion.peer == Rank{2}, "an innocent is said to have failed");
      demand(++deaths == 1, "told twice");
    }
  }
  demand(deaths == 1, "the end of the attacker was never told");
  const std::uint64_t over = ~std::uint64_t{0};
  demand(context.wait(demand(context.send(Rank{1}, kGoOn, ConstLayout(&over, 8)), "end")).code == ErrorCode::ok, "end");
}

void echo(Context& context) {
  const std::uint64_t ready = 1;
  const Request said = demand(context.send(Rank{0}, kReady, ConstLayout(&ready, 8)), "send");
  demand(context.wait(said).code == ErrorCode::ok, "an innocent's send failed");
  for (std::uint64_t word = 0; word != ~std::uint64_t{0};) {
    const Request received = demand(context.receive({.source = Rank{0}, .tag = kGoOn}, Layout(&word, 8)), "receive");
    demand(context.wait(received).code == ErrorCode::ok, "an innocent's receive failed");
    if (word == ~std::uint64_t{0}) return;
    const Request sent = demand(context.send(Rank{0}, kGoOn, ConstLayout(&word, 8)), "send");
    demand(context.wait(sent).code == ErrorCode::ok, "an innocent's send failed");
  }
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 2) give_up("arguments: seed");
  auto context = demand(heddle::Context::join(), "join");
  demand(context.barrier(), "barrier"); // connects all with all
  switch (static_cast<std::uint32_t>(context.rank())) {
    case 0: endure(context); break;
    case 1: echo(context); break;
    default: attack(context, number(argv[1]));
  }
  return 0;
}

// Patterns compiled and started with peers that say what they like about them: headers, wants, answers, meetings, and the words
// that they write while a start is under way.
#include "pattern/meeting.hpp"
#include "pattern/patterns.hpp"
#include "pattern/wire.hpp"
#include "tests/fuzz/hostile_job.hpp"

namespace heddle::fuzz {
namespace {

// A program with patterns, and peers that speak of them.
class HostilePatterns {
 public:
  explicit HostilePatterns(Input& input) : input_(input), job_(input), patterns_(job_.engine()) {
    for (const std::uint32_t peer : {2U, 0U, 3U}) job_.connect(peer);
    memory_.reserve(128);
    job_.also([this] { patterns_.progress(); });
  }

  void play() {
    static constexpr Move kMoves[] = {Move::record,  Move::complete, Move::complete,
                                      Move::collect, Move::die,      Move::consumed};
    job_.play(kMoves, 12, [this](std::uint32_t which) { move(which); });
    job_.finish();
    for (const heddle::pattern::PlannedPattern* one : all_)
      demand(!one->running(), "a pattern among the dead has ended");
  }

 private:
  void move(std::uint32_t which) {
    switch (which) {
      case 0: return create();
      case 1:
        if (!all_.empty()) declare(*all_.back());
        return;
      case 2:
        if (!all_.empty() && all_.back()->compile({})) ++serial_;
        return;
      case 3:
        if (!all_.empty()) static_cast<void>(all_.back()->start({}));
        return;
      case 4:
        if (!all_.empty() && input_.below(4) == 0 && !all_.back()->running()) static_cast<void>(all_.back()->free());
        return;
      case 5: return say_header();
      case 6: return say_answer();
      case 7: return say_meeting();
      case 8: return match_all();
      case 9: return meet(serial_);
      case 10: return meet(serial_ | 0x8000'0000U);
      default: job_.scribble(input_.below(24), input_.below(8), job_.word());
    }
  }
  void create() {
    if (all_.size() == 4) return;
    auto made = patterns_.create({.barriers = input_.below(4) == 1});
    demand(made.has_value(), "a pattern is made");
    all_.push_back(*made);
    sends_ = {};
  }
  void declare(heddle::pattern::PlannedPattern& one) {
    using Kind = heddle::pattern::Declared::Kind;
    if (memory_.size() == memory_.capacity()) return;
    const auto choice = input_.take<std::uint8_t>();
    auto& mine = memory_.emplace_back(8U * input_.take<std::uint8_t>());
    heddle::pattern::Declared item{.kind = static_cast<Kind>(choice & 3U),
                                   .rank = (choice & 4U) != 0 ? HostileJob::kSelf : job_.peer(),
                                   .tag = (choice >> 3U) & 3U,
                                   .offset = (choice >> 5U) * 8U,
                                   .source = ConstLayout(mine),
                                   .target = Layout(mine)};
    if (item.kind == Kind::expose) item.rank = HostileJob::kSelf;
    if (one.declare(item) && (item.kind == Kind::send || item.kind == Kind::put))
      sends_[item.rank].push_back({item.kind == Kind::put, mine.size()});
  }

  template <typename Part>
  static void append(std::vector<std::byte>& bytes, const Part& part) {
    const auto more = std::as_bytes(std::span(&part, 1));
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  void say(std::uint32_t from, heddle::pattern::Topic topic, std::span<const std::byte> bytes,
           std::uint32_t round = 0) {
    const std::uint32_t serial = input_.below(8) == 0 ? 1 + input_.below(4) : serial_;
    const auto tag =
        heddle::pattern::tag_of(serial, topic == heddle::pattern::Topic::meeting ? input_.below(6) : 0, topic, round);
    job_.say(from, engine::RecordKind::eager, engine::Channel::pattern, static_cast<std::uint64_t>(tag), bytes);
    job_.progress();
  }
  // A header and what it announces, or more, or less.
  void say_header() {
    const std::uint32_t from = job_.peer();
    const std::uint32_t count = input_.below(4);
    std::vector<std::byte> bytes;
    append(bytes, heddle::pattern::Header{.count = input_.below(4) == 0 ? job_.word() : count, .line = place()});
    bytes.resize(bytes.size() - (input_.below(16) == 0 ? 8 : 0));
    say(from, heddle::pattern::Topic::header, bytes);
    bytes.clear();
    for (std::uint32_t i = 0; i < count; ++i)
      append(bytes,
             heddle::pattern::Want{
                 .tag = input_.below(4), .offset = job_.word(), .bytes = job_.word(), .is_put = input_.below(2)});
    say(from, heddle::pattern::Topic::content, bytes);
  }
  void say_answer() {
    const std::uint32_t from = job_.peer();
    std::vector<std::byte> bytes;
    append(bytes, heddle::pattern::Header{.count = job_.word(), .line = place()});
    if (input_.below(4) != 0) { // as they should be
      for (const auto& [is_put, size] : sends_[from]) {
        const auto way = is_put                 ? heddle::pattern::Delivery::put
                         : input_.below(2) == 0 ? heddle::pattern::Delivery::record
                                                : heddle::pattern::Delivery::data;
        append(bytes, heddle::pattern::Answer{
                          .way = way, .place = place(), .flag = place(), .slot = (16 + size + 31) / 32 * 32 + 64});
      }
      return say(from, heddle::pattern::Topic::answer, bytes);
    }
    for (std::uint32_t i = input_.below(4); i > 0; --i)
      append(bytes, heddle::pattern::Answer{.way = static_cast<heddle::pattern::Delivery>(input_.below(6)),
                                            .verdict = static_cast<heddle::pattern::Verdict>(input_.below(9)),
                                            .place = place(),
                                            .flag = place(),
                                            .slot = job_.word()});
    say(from, heddle::pattern::Topic::answer, bytes);
  }
  void say_meeting() {
    const std::uint32_t from = job_.peer();
    const std::byte news{static_cast<std::uint8_t>(input_.take<std::uint8_t>())};
    say(from, input_.below(8) == 0 ? heddle::pattern::Topic::given_up : heddle::pattern::Topic::meeting,
        std::span(&news, 1), input_.below(4));
  }
  // What is sent synchronously has been matched: the names are among the words that were written.
  void match_all() {
    const std::uint32_t from = job_.peer();
    for (std::size_t i = 0; i < 32; ++i) {
      const auto finished = engine::Finish::of(job_.network().seen(i), 1);
      job_.say(from, engine::RecordKind::finish, engine::Channel::program, 0, std::as_bytes(std::span(&finished, 1)));
      if (i % 8 == 7) job_.progress();
    }
  }
  // All rounds of a meeting, from those who speak in them.
  void meet(std::uint32_t serial) {
    const std::byte news{static_cast<std::uint8_t>(input_.below(8) == 0 ? input_.take<std::uint8_t>() : 0)};
    const std::uint32_t number = 1 + input_.below(3);
    for (const auto& [from, round] : {std::pair(0U, 0U), std::pair(3U, 1U)}) {
      const auto tag = heddle::pattern::tag_of(serial, number, heddle::pattern::Topic::meeting, round);
      job_.say(from, engine::RecordKind::eager, engine::Channel::pattern, static_cast<std::uint64_t>(tag),
               std::span(&news, 1));
      job_.progress();
    }
  }
  ir::RemotePlace place() {
    if (input_.below(4) != 0) return {.key = HostileNetwork::kPeerMemory, .offset = 64U * input_.below(200)};
    return {.key = input_.below(8) == 0 ? ir::MemoryKey{job_.word()} : HostileNetwork::kPeerMemory,
            .offset = job_.word()};
  }

  Input& input_;
  std::vector<std::vector<std::byte>> memory_; // outlives the patterns
  HostileJob job_;
  heddle::pattern::Patterns patterns_;
  std::vector<heddle::pattern::PlannedPattern*> all_;
  std::uint32_t serial_ = 0;                                                       // of the last compile
  std::array<std::vector<std::pair<bool, std::size_t>>, HostileJob::kSize> sends_; // of the last pattern: a put, bytes
};

} // namespace

void pattern(Input& input) {
  HostilePatterns(input).play();
}

} // namespace heddle::fuzz

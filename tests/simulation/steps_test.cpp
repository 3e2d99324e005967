// The steps of the report's appendix, in a recorded trace of the first message between two processes.
#include "base/flight_recorder.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"
#include "sim/description.hpp"
#include "translators/simulated/infiniband/infiniband.hpp"
#include "translators/simulated/rhinet/rhinet.hpp"
#include "translators/simulated/tofu/tofu.hpp"
#include "translators/trace/trace.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace heddle::tests {
namespace {

using translators::TraceRecord;
using translators::simulated::Interconnect;

// Two engines on a simulated network, every command and event of both recorded in the order of virtual time.
template <typename Network>
class Recorded {
 public:
  explicit Recorded(const char* fabric) : interconnect_(*sim::make_network(*sim::parse_fabric(fabric)), {0, 1}) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      Side& side = sides_[rank];
      side.network = std::make_unique<Network>(interconnect_, ir::Peer{rank});
      side.trace = std::make_unique<translators::Trace>(*side.network, [this, rank](const TraceRecord& record) {
        const char* way = record.kind == TraceRecord::Kind::command ? " > " : " < ";
        lines_.push_back(std::to_string(rank) + way + record.text);
      });
      side.queue = std::make_unique<engine::ScheduleQueue>(*side.trace);
      engine::ScheduleQueue* queue = side.queue.get();
      side.engine = *engine::Engine::create(rank, 2, limits(), {&queue, 1}, side.recorder);
    }
    for (Side& side : sides_)
      side.engine->set_contacts({{.address = sides_[0].network->address()}, {.address = sides_[1].network->address()}});
  }

  // One message from 0 to 1.
  void send() {
    std::array<std::byte, 8> out{std::byte{42}};
    std::array<std::byte, 8> in{};
    const auto received = sides_[1].engine->receive({.source = Rank{0}, .tag = Tag{7}}, Layout(in), {});
    const auto sent = sides_[0].engine->send({.to = Rank{1}, .tag = Tag{7}}, ConstLayout(out));
    ASSERT_TRUE(received && sent);
    progress();
    while (interconnect_.step()) progress();
    EXPECT_EQ(in, out);
    EXPECT_TRUE(sides_[0].engine->take_completion(*sent).has_value());
  }

  void progress() {
    for (Side& side : sides_)
      while (side.engine->progress_all() > 0) {
      }
  }

  // The lines that hold all the words, each after the one before; reports what is missing.
  void expect_in_order(const std::vector<std::vector<std::string>>& steps) const {
    std::size_t at = 0;
    for (const auto& words : steps) {
      const auto holds = [&](const std::string& line) {
        return std::all_of(words.begin(), words.end(),
                           [&](const std::string& word) { return line.find(word) != std::string::npos; });
      };
      while (at < lines_.size() && !holds(lines_[at])) ++at;
      ASSERT_LT(at, lines_.size()) << "missing, or too early: " << testing::PrintToString(words) << "\n" << text();
      ++at;
    }
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }
  [[nodiscard]] std::size_t count(const std::string& word) const {
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(), [&](const std::string& line) { return line.find(word) != std::string::npos; }));
  }

 private:
  static engine::Limits limits() {
    return {.eager_limit = 1024, .ring_bytes = 8192, .ring_memory = 1U << 20U, .chunk_bytes = 4096, .assist = false};
  }
  struct Side {
    base::FlightRecorder recorder{64};
    std::unique_ptr<Network> network;
    std::unique_ptr<translators::Trace> trace;
    std::unique_ptr<engine::ScheduleQueue> queue;
    std::unique_ptr<engine::Engine> engine;
  };

  Interconnect interconnect_;
  std::array<Side, 2> sides_;
  std::vector<std::string> lines_;
};

std::string hex(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), kDigits[number % 16]);
  while ((number /= 16) > 0);
  return "0x" + text;
}
std::string at(std::uint64_t offset) {
  return "+" + hex(offset) + " ";
}
// The lead word of a put, as the trace shows its head: little-endian.
std::string verb(engine::SlotVerb of, std::uint32_t from) {
  return "head=0" + std::to_string(static_cast<unsigned>(of)) + "0000000" + std::to_string(from + 1) + "000000";
}

const std::string kSlot = at(engine::BootstrapArea::slot_offset(0));

template <typename Network>
void expect_connection(const char* fabric) {
  Recorded<Network> recorded(fabric);
  recorded.send();
  recorded.expect_in_order({
      {"0 > compare_and_swap peer=1", at(engine::BootstrapArea::lock_offset()), "expected=0x0"}, // I1
      {"0 < completed peer=1 status=ok", "value=0x0"},
      {"0 > put peer=1", at(engine::BootstrapArea::request_offset())},                // I2, I3
      {"1 > put peer=0", kSlot, "bytes=104", verb(engine::SlotVerb::answer, 1)},      // R1
      {"0 > put peer=1", kSlot, "bytes=104", verb(engine::SlotVerb::information, 0)}, // I4, I5
      {"1 > put peer=0", kSlot, "bytes=0", verb(engine::SlotVerb::acknowledge, 1)},   // R2
      {"0 > put peer=1", "flags=lead_last,terminated"},                               // the message
  });
  EXPECT_EQ(recorded.count("compare_and_swap"), 1U);
}

TEST(Steps, OfAConnectionOnInfiniband) {
  expect_connection<translators::simulated::Infiniband>("infiniband:2-ary-2-tree");
}

TEST(Steps, OfAConnectionOnRhinet) {
  expect_connection<translators::simulated::Rhinet>("rhinet:star:4");
}

TEST(Steps, OfBootstrapAndRingAllocationOnTofu) {
  Recorded<translators::simulated::Tofu> recorded("tofu:1x1x1");
  recorded.send();
  recorded.expect_in_order({
      // B1: the bootstrap memory has the same tag at every process, 0x7e = 126.
      {"0 > get peer=1 remote=126" + at(engine::BootstrapArea::directory_offset(0)), "announced", "notice=0x0"}, // I1
      {"1 < remote_read peer=0", "value=0x0"},
      {"1 > put peer=0 remote=126" + kSlot, "announced", "notice=0x0", verb(engine::SlotVerb::answer, 1)}, // R1
      {"0 < remote_written peer=1", "value=0x0"},                                                          // I2
      {"0 > put peer=1", "lead_last,terminated,announced", "notice=0xff"}, // the message
      {"1 < remote_written peer=0", "value=0xff"},
  });
  EXPECT_EQ(recorded.count("compare_and_swap"), 0U);
  EXPECT_EQ(recorded.count(" > get "), 2U) << "one in each direction";
}

} // namespace
} // namespace heddle::tests

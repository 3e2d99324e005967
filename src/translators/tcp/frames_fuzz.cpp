// Any bytes as what comes over a connection: the frames in them are the same however they were cut, no byte of a payload goes
// beside its place, and what is malformed ends it at the same frame.
#include "translators/tcp/inflow.hpp"

#include "base/fuzz_input.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace heddle::fuzz {

namespace {

using translators::tcp::Frame;
using translators::tcp::FrameKind;
using translators::tcp::Inflow;
using translators::tcp::kTailBytes;

using Bytes = std::vector<std::byte>;

// Writes down what it is told. Each payload has memory of exactly its size; of some, nothing is wanted.
class Scribe final : public translators::tcp::FrameTaker {
 public:
  bool begin(const Frame& frame, std::span<const std::byte> head) override {
    demand(!under_way_, "a frame begins after the one before has ended");
    demand(head.size() == frame.head_bytes && frame.bytes <= translators::tcp::kLargestTransfer, "a frame is sound");
    under_way_ = true;
    note(std::as_bytes(std::span(&frame, 1)));
    note(head);
    payload_ = frame.offset % 8 == 7 ? nullptr : std::make_unique<std::byte[]>(frame.bytes);
    return frame.key % 64 != 63; // sometimes it is refused
  }
  std::byte* payload_target(const Frame& frame, std::uint64_t done) override {
    demand(under_way_ && done < frame.bytes && frame.bytes - done > kTailBytes, "what is asked for is of the body");
    return payload_ == nullptr ? nullptr : payload_.get() + done;
  }
  void end(const Frame& frame, std::span<const std::byte> head, std::span<const std::byte> tail) override {
    demand(under_way_, "what ends has begun");
    under_way_ = false;
    note(head);
    const bool carries = frame.kind == FrameKind::put || frame.kind == FrameKind::answer;
    const std::uint64_t bytes = carries ? frame.bytes : 0;
    demand(tail.size() == std::min(bytes, kTailBytes), "the tail is the last of the payload");
    if (payload_ != nullptr && carries) note({payload_.get(), bytes - tail.size()});
    note(tail);
  }

  Bytes story; // NOLINT: the target's own

 private:
  void note(std::span<const std::byte> bytes) { story.insert(story.end(), bytes.begin(), bytes.end()); }

  bool under_way_ = false;
  std::unique_ptr<std::byte[]> payload_;
};

// Sometimes a frame that could be, with what the input wants in it; otherwise the input's bytes as they are.
void add_bytes(Input& input, Bytes& stream) {
  if (input.below(4) == 0) {
    const auto raw = input.bytes(1 + input.below(64));
    stream.insert(stream.end(), raw.begin(), raw.end());
    return;
  }
  const auto kind = static_cast<FrameKind>(input.below(10));
  const bool has_head = kind == FrameKind::put || kind == FrameKind::compare_and_swap;
  Frame frame{.kind = kind,
              .flags = static_cast<std::uint8_t>(input.below(256)),
              .head_bytes = static_cast<std::uint16_t>(has_head || input.below(16) == 0 ? input.below(72) : 0),
              .number = input.below(4),
              .bytes = input.below(32) == 0 ? input.word() : input.below(400),
              .key = input.below(256),
              .offset = input.below(256),
              .operand = input.below(256)};
  const std::size_t at = stream.size();
  stream.resize(at + sizeof frame + frame.head_bytes + std::min<std::uint64_t>(frame.bytes, 400));
  std::memcpy(stream.data() + at, &frame, sizeof frame);
  for (std::size_t i = at + sizeof frame; i < stream.size(); ++i) stream[i] = static_cast<std::byte>(i);
}

} // namespace

void frames(Input& input) {
  const std::uint64_t seed = input.word();
  Bytes stream;
  while (!input.empty() && stream.size() < 4096) add_bytes(input, stream);
  Scribe whole;
  const bool is_sound = Inflow().take(stream, whole);
  Scribe cut;
  Inflow by_parts;
  bool goes_on = true;
  std::uint64_t random = seed;
  for (std::span<const std::byte> rest = stream; !rest.empty() && goes_on;) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const std::size_t count = std::min<std::size_t>(rest.size(), 1 + (random >> 33U) % ((random >> 60U) < 8 ? 8 : 200));
    goes_on = by_parts.take(rest.first(count), cut);
    rest = rest.subspan(count);
  }
  demand(goes_on == is_sound, "what is malformed is so however it is cut");
  demand(whole.story == cut.story, "frames are the same however they are cut");
}

} // namespace heddle::fuzz

#include "job/card.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace heddle::job {

namespace {

constexpr std::uint64_t kMark = 0x4865'6463'6172'6402ULL; // "Hedcard", version 2

// Numbers are little-endian, so that machines of either order read each other's cards.
class Writer {
 public:
  void number(std::uint64_t value, std::size_t bytes = sizeof(std::uint64_t)) {
    for (std::size_t i = 0; i < bytes; ++i) made_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void text(std::string_view text) {
    number(text.size(), 1);
    append(std::as_bytes(std::span(text)));
  }
  void append(std::span<const std::byte> bytes) { made_.insert(made_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte> take() { return std::move(made_); }

 private:
  std::vector<std::byte> made_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  std::uint64_t number(std::size_t bytes = sizeof(std::uint64_t)) {
    std::uint64_t value = 0;
    const std::span<const std::byte> taken = take(bytes);
    for (std::size_t i = 0; i < taken.size(); ++i) value |= std::to_integer<std::uint64_t>(taken[i]) << (8 * i);
    return value;
  }
  std::string text(std::size_t longest) {
    const std::size_t length = number(1);
    if (length > longest) good_ = false;
    const std::span<const std::byte> taken = take(length);
    const std::string text(reinterpret_cast<const char*>(taken.data()), taken.size());
    // Shown to people: nothing that a terminal would obey.
    if (std::ranges::any_of(text, [](char c) { return c < ' ' || c > '~'; })) good_ = false;
    return text;
  }
  // Empty where there are not so many.
  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > left_.size()) good_ = false;
    if (!good_) return {};
    const auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool good_ = true;
};

} // namespace

const Card::Entry* Card::find(std::string_view name) const {
  const auto found = std::ranges::find(networks, name, &Entry::name);
  return found == networks.end() ? nullptr : &*found;
}

std::vector<std::byte> Card::encode() const {
  Writer writer;
  writer.number(kMark);
  writer.number(node);
  writer.text(std::string_view(host).substr(0, kLongestHost));
  for (const std::uint64_t word : processors) writer.number(word);
  writer.number(networks.size(), 1);
  for (const Entry& entry : networks) {
    writer.text(entry.name);
    writer.append(entry.address);
    writer.number(entry.location);
  }
  return writer.take();
}

Result<Card> Card::decode(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Card card;
  const bool known = reader.number() == kMark;
  card.node = reader.number();
  card.host = reader.text(kLongestHost);
  for (std::uint64_t& word : card.processors) word = reader.number();
  const std::uint64_t count = reader.number(1);
  bool sound = known && count <= kMostNetworks;
  for (std::uint64_t i = 0; sound && reader.good() && i < count; ++i) {
    Entry entry{.name = reader.text(kLongestName)};
    const auto address = reader.take(entry.address.size());
    std::ranges::copy(address, entry.address.begin());
    entry.location = reader.number();
    sound = !entry.name.empty() && card.find(entry.name) == nullptr;
    card.networks.push_back(std::move(entry));
  }
  if (sound && reader.at_end()) return card;
  return std::unexpected(Error{.code = ErrorCode::store_failed,
                               .fact = "its card is not of this version",
                               .remedy = "use one version of Heddle in a job"});
}

} // namespace heddle::job

// Every fuzz target, without a fuzzer: what is kept in tests/corpus/NAME, and many changed forms of it from a fixed seed. So the
// ordinary builds, with and without sanitizers, see what fuzzing has found, and the targets cannot rot.
#include "base/fuzz_input.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

// As in libfuzzer.cpp.
extern "C" const char* __asan_default_options();
const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

namespace heddle::fuzz {
namespace {

using Content = std::vector<std::byte>;

std::vector<std::pair<std::string, Content>> corpus_of(std::string_view target) {
  std::vector<std::pair<std::string, Content>> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(HEDDLE_CORPUS) / target, none)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_bytes(std::span(text));
    files.emplace_back(entry.path().filename().string(), Content(bytes.begin(), bytes.end()));
  }
  std::ranges::sort(files);
  return files;
}

// One small change, of the kinds that find most: a byte, a word of extremes, a piece left out, doubled, or put in from another.
Content changed(Content content, const Content& other, std::mt19937_64& random) {
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const std::size_t at = below(content.size() + 1);
  const auto place = content.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t length = std::min(content.size() - at, 1 + below(16));
  switch (below(5)) {
    case 0:
      if (at < content.size()) content[at] = static_cast<std::byte>(random());
      break;
    case 1:
      for (std::size_t i = 0; i < std::min<std::size_t>(length, 8); ++i) content[at + i] = std::byte{0xff};
      break;
    case 2: content.erase(place, place + static_cast<std::ptrdiff_t>(length)); break;
    case 3: {
      const Content piece(place, place + static_cast<std::ptrdiff_t>(length));
      content.insert(content.begin() + static_cast<std::ptrdiff_t>(below(content.size() + 1)), piece.begin(),
                     piece.end());
      break;
    }
    default: {
      const std::size_t from = below(other.size() + 1);
      content.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(std::min(other.size(), from + 1 + below(32))));
    }
  }
  return content;
}

class Replay : public testing::TestWithParam<NamedTarget> {};

TEST_P(Replay, SurvivesWhatIsKeptAndChangedFormsOfIt) {
  const auto files = corpus_of(GetParam().name);
  ASSERT_FALSE(files.empty()) << "tests/corpus/" << GetParam().name << " has no file";
  for (const auto& [name, content] : files) {
    SCOPED_TRACE(name);
    Input input(content);
    GetParam().target(input);
  }
  constexpr int kChanged = 1000;
  std::mt19937_64 random(1);
  for (int i = 0; i < kChanged; ++i) {
    Content content = files[random() % files.size()].second;
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
      content = changed(std::move(content), files[random() % files.size()].second, random);
    Input input(content);
    GetParam().target(input);
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& of) { return std::string(of.param.name); });

} // namespace
} // namespace heddle::fuzz

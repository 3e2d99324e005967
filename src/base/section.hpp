// Options that one part of Heddle has for itself: a translator declares its own in its folder, and they are resolved, checked
// and shown with the others (options.hpp), as SECTION.NAME. They do not count towards the promise of few options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::base {

// One declaration: a constant, so that what it points to lives as long as the program.
struct SectionOption {
  enum class Kind : std::uint8_t {
    text,
    number,
    size,   // bytes, written such as 64KiB
    choice, // one of `words`
  };
  std::string_view name; // lower_case; unique in its section
  Kind kind = Kind::text;
  std::string_view initial; // the default, as people write it
  std::string_view unit{};
  std::string_view expected; // how a value must look, for messages
  std::string_view meaning;
  std::uint64_t least = 0; // of a number or size
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::span<const std::string_view> words{}; // in the order of the enumeration that choice() gives
};

// What [NAME] in an option file may hold.
struct Section {
  std::string_view name;
  std::span<const SectionOption> options;
};

// The values of one section; the defaults until told otherwise.
class Values {
 public:
  explicit Values(const Section& section);

  // False: the text is not as expected, and nothing has changed.
  bool assign(const SectionOption& option, std::string_view text);

  // The option must be one of the section, and of a fitting kind.
  [[nodiscard]] const std::string& text(const SectionOption& option) const { return value(option).text; }
  [[nodiscard]] std::uint64_t number(const SectionOption& option) const { return value(option).number; }
  template <typename Enumeration>
  [[nodiscard]] Enumeration choice(const SectionOption& option) const {
    return static_cast<Enumeration>(value(option).number);
  }

  [[nodiscard]] const Section& section() const { return section_; }

 private:
  struct Value {
    std::string text;         // for people; a size in its shortest form
    std::uint64_t number = 0; // also the place among the words
  };
  [[nodiscard]] std::size_t index_of(const SectionOption& option) const;
  [[nodiscard]] const Value& value(const SectionOption& option) const { return values_[index_of(option)]; }

  Section section_;
  std::vector<Value> values_; // one for each option of the section
};

} // namespace heddle::base

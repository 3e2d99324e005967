#include "options_file/options_file.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/size_text.hpp"
#include "base/text_file.hpp"

namespace heddle::options_file {
namespace {

constexpr std::uint64_t kLargestFile = 1 << 20; // twenty options fit a thousand times; more is the wrong file

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"; // of bare keys

// A problem in a line; the line and the file are said by whoever knows them.
using Complaint = std::unexpected<std::string>;
template <typename T>
using Part = std::expected<T, std::string>;

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto follow = [&](unsigned shift) { put(0x80U | ((code >> shift) & 0x3fU)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0U | (code >> 6U));
    return follow(0);
  }
  if (code < 0x1'0000) {
    put(0xe0U | (code >> 12U));
    follow(6);
    return follow(0);
  }
  put(0xf0U | (code >> 18U));
  follow(12);
  follow(6);
  follow(0);
}

// Reads one line from the left.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  // Past blanks: nothing is left but a comment.
  bool ended() {
    skip_blanks();
    return rest_.empty() || rest_.front() == '#';
  }

  // The name of the section that begins here; nothing where none does.
  Part<std::optional<std::string>> section() {
    if (!rest_.starts_with('[')) return std::nullopt;
    cut(1);
    skip_blanks();
    auto name = name_here();
    if (!name) return Complaint(name.error());
    skip_blanks();
    if (!*name || !rest_.starts_with(']')) return Complaint("not a section: expected [name], such as [shm]");
    cut(1);
    return **name;
  }

  Part<std::string> key() {
    auto name = name_here();
    if (!name) return Complaint(name.error());
    if (!*name) return Complaint("expected name = value");
    if (ended() || rest_.front() != '=') {
      if (rest_.starts_with('.'))
        return Complaint("'" + **name + "' has no parts here: write it as a section, [" + **name + "]");
      return Complaint("no '=' after '" + **name + "': expected name = value");
    }
    cut(1);
    return **name;
  }

  Part<std::string> value(const std::string& name) {
    if (ended()) return Complaint("option '" + name + "' has no value");
    if (rest_.starts_with("\"\"\"") || rest_.starts_with("'''"))
      return Complaint("option '" + name + "' cannot be a string over several lines");
    auto text = quoted();
    if (!text) return Complaint(text.error());
    if (*text) return **text;
    if (rest_.front() == '{') return wrong_kind(name, "table");
    if (rest_.front() == '[') return wrong_kind(name, "list, date or fraction");
    const std::string_view word = cut(std::min(rest_.find_first_of(" \t#"), rest_.size()));
    if (word == "true" || word == "false") return std::string(word);
    if (auto number = integer(word)) return *number;
    if (word.ends_with("iB") && base::parse_size(word))
      return Complaint("option '" + name + "' has a size without quotes: expected \"" + std::string(word) + "\"");
    if (word.find_first_of("0123456789") != std::string_view::npos || word.ends_with("inf") || word.ends_with("nan"))
      return wrong_kind(name, "list, date or fraction");
    return Complaint("option '" + name + "' is not TOML: expected a string in quotes, an integer, true or false");
  }

 private:
  static Complaint wrong_kind(const std::string& name, std::string_view kind) {
    return Complaint("option '" + name + "' cannot be a " + std::string(kind) +
                     ": expected a string, an integer or a boolean");
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }

  std::string_view cut(std::size_t count) {
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }

  // A name, bare or in quotes; nothing where none is.
  Part<std::optional<std::string>> name_here() {
    auto name = quoted();
    if (name && *name && (*name)->empty()) return std::nullopt;
    if (!name || *name) return name;
    const std::size_t end = std::min(rest_.find_first_not_of(kLetters), rest_.size());
    return end == 0 ? std::nullopt : std::optional(std::string(cut(end)));
  }

  // What stands in quotes; nothing where no quote is.
  Part<std::optional<std::string>> quoted() {
    if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) return std::nullopt;
    const char quote = cut(1).front();
    std::string text;
    while (!rest_.empty()) {
      const char c = cut(1).front();
      if (c == quote) return text;
      if (static_cast<unsigned char>(c) < 32 && c != '\t') return Complaint("a control character in a string");
      if (c != '\\' || quote == '\'') {
        text += c;
      } else if (!escape(text)) {
        return Complaint("no such escape in a string: expected \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX or \\UXXXXXXXX");
      }
    }
    return Complaint("a string does not end on its line");
  }

  // What follows a backslash, as a character.
  bool escape(std::string& text) {
    constexpr std::string_view kMarks = "btnfr\"\\";
    constexpr std::string_view kMeanings = "\b\t\n\f\r\"\\";
    if (rest_.empty()) return false;
    const char mark = cut(1).front();
    if (const std::size_t at = kMarks.find(mark); at != std::string_view::npos) {
      text += kMeanings[at];
      return true;
    }
    const std::size_t digits = mark == 'u' ? 4 : mark == 'U' ? 8 : 0;
    if (digits == 0 || rest_.size() < digits) return false;
    const std::string_view number = cut(digits);
    std::uint32_t code = 0;
    const auto [end, status] = std::from_chars(number.data(), number.data() + digits, code, 16);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (status != std::errc{} || end != number.data() + digits || code == 0 || code > 0x10'ffff || surrogate)
      return false;
    append_utf8(text, code);
    return true;
  }

  // In decimal digits, whatever base it is written in.
  static std::optional<std::string> integer(std::string_view word) {
    const bool negative = word.starts_with('-');
    if (negative || word.starts_with('+')) word.remove_prefix(1);
    int base = 10;
    for (const auto& [prefix, its_base] : {std::pair("0x", 16), std::pair("0o", 8), std::pair("0b", 2)})
      if (word.starts_with(prefix)) base = its_base;
    if (base != 10) word.remove_prefix(2);
    std::string digits(negative ? "-" : "");
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (word[i] != '_') digits += word[i];
      // Underscores stand between digits only.
      else if (i == 0 || i + 1 == word.size() || word[i + 1] == '_')
        return std::nullopt;
    }
    if (word.empty() || (base == 10 && word.size() > 1 && word.front() == '0')) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (status != std::errc{} || end != digits.data() + digits.size() || word.find_first_of("+-") != word.npos)
      return std::nullopt;
    return std::to_string(value);
  }

  std::string_view rest_;
};

// `current` is the section that the line stands in.
Part<std::optional<base::FileEntry>> read_line(std::string_view text, std::uint32_t number,
                                               const std::string& current) {
  Line line(text);
  if (line.ended()) return std::nullopt;
  auto section = line.section();
  if (!section) return Complaint(section.error());
  if (*section) {
    if (!line.ended()) return Complaint("more than a name in brackets in the line of a section");
    return base::FileEntry{.name = "", .value = "", .line = number, .section = std::move(**section)};
  }
  auto name = line.key();
  if (!name) return Complaint(name.error());
  auto value = line.value(*name);
  if (!value) return Complaint(value.error());
  if (!line.ended()) return Complaint("more than a value after '" + *name + " ='");
  return base::FileEntry{.name = std::move(*name), .value = std::move(*value), .line = number, .section = current};
}

} // namespace

Result<std::vector<base::FileEntry>> parse(std::string_view text, const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf"; // some editors write one
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<base::FileEntry> entries;
  std::map<std::pair<std::string, std::string>, std::uint64_t> lines; // by section and name
  std::string section;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    auto entry = read_line(line, number, section);
    std::string complaint = entry ? "" : entry.error();
    if (entry && *entry) {
      section = (*entry)->section;
      const auto [before, fresh] = lines.try_emplace({section, (*entry)->name}, number);
      if (!fresh)
        complaint = ((*entry)->name.empty() ? "section [" + section + "]" : "option '" + (*entry)->name + "'") +
                    " appears twice, first on line " + std::to_string(before->second);
      entries.push_back(std::move(**entry));
    }
    if (!complaint.empty())
      return std::unexpected(Error{.code = ErrorCode::bad_option,
                                   .fact = path + ":" + std::to_string(number) + ": " + std::move(complaint)});
  }
  return entries;
}

Result<std::vector<base::FileEntry>> read(const std::string& path) {
  auto text = base::read_text_file(path, {.what = "option file", .most = kLargestFile});
  if (!text) {
    text.error().code = ErrorCode::bad_option;
    return std::unexpected(std::move(text.error()));
  }
  return parse(*text, path);
}

Result<base::ResolvedOptions> resolve_with_file(const Options& from_code, const base::Environment& environment,
                                                std::span<const base::Section> sections) {
  return base::resolve(from_code, environment, read, sections);
}

} // namespace heddle::options_file

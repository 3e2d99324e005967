#include "options_file/options_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

namespace heddle::options_file {
namespace {

constexpr std::size_t kLargestFile = 1 << 20; // twenty options fit a thousand times; more is the wrong file

Error bad_option(std::string fact, int system_code = 0) {
  return {.code = ErrorCode::bad_option, .fact = std::move(fact), .remedy = "", .system_code = system_code};
}

std::string at(const std::string& path, const toml::source_position& position) {
  return path + ":" + std::to_string(position.line);
}

std::optional<std::string> as_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

// True for a line that toml++ must not see: toml++ 3.3 has undefined behaviour on some letters beyond ASCII (U+01A3 in a
// key or a malformed value), so they are taken in comments only; a string can hold them as \uXXXX.
bool strange(std::string_view line) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (static_cast<unsigned char>(c) > 127) return true;
    if (quote == '\0') {
      if (c == '#') return false;
      if (c == '"' || c == '\'') quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (c == '\\' && quote == '"') {
      ++i;
    }
  }
  return false;
}

std::optional<Error> find_strange_line(std::string_view text, const std::string& path) {
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (strange(text.substr(0, end))) {
      return bad_option(path + ":" + std::to_string(number) +
                        ": a letter beyond ASCII outside a comment: expected it as \\uXXXX in a string");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

} // namespace

Result<std::vector<base::FileEntry>> parse(std::string_view text, const std::string& path) {
  if (auto error = find_strange_line(text, path)) return std::unexpected(std::move(*error));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return std::unexpected(bad_option(at(path, error.source().begin) + ": " + std::string(error.description())));
  }
  std::vector<base::FileEntry> entries;
  for (const auto& [key, node] : parsed.table()) {
    auto value = as_text(node);
    if (!value) {
      return std::unexpected(bad_option(at(path, key.source().begin) + ": option '" + std::string(key.str()) +
                                        "' cannot be a " + (node.is_table() ? "table" : "list, date or fraction") +
                                        ": expected a string, an integer or a boolean"));
    }
    entries.push_back({std::string(key.str()), std::move(*value), key.source().begin.line});
  }
  std::ranges::sort(entries, {}, &base::FileEntry::line);
  return entries;
}

Result<std::vector<base::FileEntry>> read(const std::string& path) {
  std::error_code unknown; // then opening it says why
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown))
    return std::unexpected(bad_option("option file " + path + " is no regular file"));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return std::unexpected(bad_option("option file " + path + " cannot be opened", errno));
  std::string text(kLargestFile + 1, '\0');
  errno = 0;
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0)
    return std::unexpected(bad_option("option file " + path + " cannot be read", errno));
  if (text.size() > kLargestFile) return std::unexpected(bad_option("option file " + path + " is larger than 1MiB"));
  return parse(text, path);
}

Result<base::ResolvedOptions> resolve_with_file(const Options& from_code, const base::Environment& environment) {
  return base::resolve(from_code, environment, read);
}

} // namespace heddle::options_file

// Any bytes as an option file: entries or an error, never a crash.
#include "options_file/options_file.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

// A option of each kind.
static constexpr std::string_view kWords[] = {"off", "on"};
static constexpr base::SectionOption kOptions[] = {
    {.name = "network", .expected = "a network", .meaning = ""},
    {.name = "port",
     .kind = base::SectionOption::Kind::number,
     .initial = "1",
     .expected = "1 to 9",
     .meaning = "",
     .most = 9},
    {.name = "room", .kind = base::SectionOption::Kind::size, .initial = "8", .expected = "a size", .meaning = ""},
    {.name = "way",
     .kind = base::SectionOption::Kind::choice,
     .initial = "on",
     .expected = "off or on",
     .meaning = "",
     .words = kWords},
};
static constexpr base::Section kSections[] = {{.name = "tcp", .options = kOptions}};

void options_file(Input& input) {
  const std::string_view text = input.text();
  const auto reader = [&](const std::string& path) {
    auto entries = ::heddle::options_file::parse(text, path);
    if (!entries) demand(entries.error().fact.starts_with("fuzzed:"), "an error names its line");
    return entries;
  };
  const auto resolved = base::resolve({.file = "fuzzed"}, base::Environment{}, reader, kSections);
  if (!resolved) demand_message(resolved.error());
}

} // namespace heddle::fuzz

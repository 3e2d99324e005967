#include "base/options.hpp"

#include <algorithm>

#include "base/known_options.hpp"
#include "base/option_table.hpp"

namespace heddle::base {
namespace {

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 200)) + "'";
}

// Those of libheddle-paths.so are its own (docs/administrators.md).
bool is_launcher_variable(std::string_view name) {
  return name.starts_with("HEDDLE_PATHS_") ||
         std::ranges::find(kLauncherVariables, name) != std::end(kLauncherVariables);
}

Error bad_option(std::string fact, std::string remedy = "") {
  return {.code = ErrorCode::bad_option, .fact = std::move(fact), .remedy = std::move(remedy)};
}

Error bad_value(const KnownOption& option, std::string_view value, std::string_view origin) {
  return bad_option(std::string(origin) + ": option " + option.name + " cannot be " + quoted(value) + ": expected " +
                    std::string(option.expected()));
}

// The state of one resolution; later calls override earlier ones, so they come weakest first.
class Resolution {
 public:
  explicit Resolution(std::span<const Section> sections) : known_(sections), origins_(known_.all().size(), "default") {
    for (const Section& section : sections) sections_.emplace_back(section);
  }

  Result<void> take_file(const std::string& path, const std::vector<FileEntry>& entries) {
    for (const FileEntry& entry : entries) {
      std::string origin = path + ":" + std::to_string(entry.line);
      if (!entry.section.empty() && !known_.has_section(entry.section))
        return std::unexpected(unknown_section(entry.section, origin));
      if (entry.name.empty()) continue; // the line that begins a section
      const KnownOption* option = known_.find(entry.section.empty() ? entry.name : entry.section + "." + entry.name);
      if (option == nullptr || (entry.section.empty() && option->in_section != nullptr))
        return std::unexpected(unknown_entry(entry, origin));
      if (option->name == "file")
        return std::unexpected(bad_option(origin + ": an option file cannot name another", "remove 'file'"));
      if (auto taken = take(*option, entry.value, std::move(origin)); !taken) return taken;
    }
    return {};
  }

  Result<void> take_environment(const Environment& environment) {
    for (const auto& [name, value] : environment.variables()) {
      if (!name.starts_with(kVariablePrefix) || is_launcher_variable(name)) continue;
      const KnownOption* option = known_.find_variable(name);
      if (option == nullptr)
        return std::unexpected(
            bad_option("environment: no option is called " + quoted(name), known_.variables_like(name)));
      if (auto taken = take(*option, value, name); !taken) return taken;
    }
    return {};
  }

  Result<void> take_code(const Options& options) {
    for (const KnownOption& option : known_.all()) {
      bool usable = true;
      if (option.row == nullptr || !option.row->assign_from_code(settings_, options, usable)) continue;
      if (!usable) return std::unexpected(bad_value(option, option.row->show(settings_), "code"));
      origin_of(option) = "code";
    }
    for (const TranslatorOption& given : options.translator_options) {
      const std::size_t dot = given.name.find('.');
      if (dot != std::string::npos && !known_.has_section(given.name.substr(0, dot)))
        return std::unexpected(unknown_section(given.name.substr(0, dot), "code"));
      const KnownOption* option = known_.find(given.name);
      if (option == nullptr || option->in_section == nullptr)
        return std::unexpected(bad_option("code: no translator has an option " + quoted(given.name),
                                          known_.section_options_like(given.name)));
      if (auto taken = take(*option, given.value, "code"); !taken) return taken;
    }
    return {};
  }

  Result<ResolvedOptions> finish() {
    // Who sets only smaller rings need not know of eager_limit.
    std::string& eager_origin = origin_of(*known_.find("eager_limit"));
    if (eager_origin == "default" && settings_.eager_limit > settings_.ring_bytes / 4) {
      settings_.eager_limit = settings_.ring_bytes / 4;
      eager_origin = "default, a quarter of ring_bytes";
    }
    if (const Conflict conflict = find_conflict(settings_); !conflict.sentence.empty())
      return std::unexpected(
          bad_option(origin_of(*known_.find(conflict.option)) + ": " + conflict.sentence, conflict.remedy));
    ResolvedOptions resolved{.settings = settings_, .sections = std::move(sections_), .list = {}};
    for (const KnownOption& option : known_.all()) {
      std::string value = option.row != nullptr ? option.row->show(settings_)
                                                : resolved.sections[option.section].text(*option.in_section);
      resolved.list.push_back({option.name, std::move(value), origin_of(option), option.unit(), option.meaning()});
    }
    return resolved;
  }

 private:
  Result<void> take(const KnownOption& option, std::string_view value, std::string origin) {
    const bool taken = option.row != nullptr ? option.row->assign(settings_, value)
                                             : sections_[option.section].assign(*option.in_section, value);
    if (!taken) return std::unexpected(bad_value(option, value, origin));
    origin_of(option) = std::move(origin);
    return {};
  }

  [[nodiscard]] Error unknown_section(const std::string& name, const std::string& origin) const {
    return bad_option(origin + ": this build has no translator called " + quoted(name), known_.sections_like(name));
  }

  [[nodiscard]] Error unknown_entry(const FileEntry& entry, const std::string& origin) const {
    if (entry.section.empty())
      return bad_option(origin + ": no option is called " + quoted(entry.name), known_.entries_like(entry.name));
    return bad_option(origin + ": section [" + entry.section + "] has no option called " + quoted(entry.name),
                      known_.entries_like(entry.name, entry.section));
  }

  std::string& origin_of(const KnownOption& option) {
    return origins_[static_cast<std::size_t>(&option - known_.all().data())];
  }

  KnownOptions known_;
  std::vector<std::string> origins_; // of each known option
  Settings settings_;
  std::vector<Values> sections_;
};

} // namespace

const Values& ResolvedOptions::section(std::string_view name) const {
  return *std::ranges::find_if(sections, [name](const Values& values) { return values.section().name == name; });
}

std::span<const std::string_view> option_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const OptionRow& row : option_table()) names.push_back(row.name);
    return names;
  }();
  return kNames;
}

Result<ResolvedOptions> resolve(const Options& from_code, const Environment& environment, const FileReader& read,
                                std::span<const Section> sections) {
  Resolution resolution(sections);
  const std::string path = from_code.file.value_or(std::string(environment.lookup("HEDDLE_FILE").value_or("")));
  if (!path.empty()) {
    if (!read) return std::unexpected(bad_option("option file " + quoted(path) + ": none is read here"));
    auto entries = read(path);
    if (!entries) return std::unexpected(std::move(entries).error());
    if (auto taken = resolution.take_file(path, *entries); !taken) return std::unexpected(taken.error());
  }
  if (auto taken = resolution.take_environment(environment); !taken) return std::unexpected(taken.error());
  if (auto taken = resolution.take_code(from_code); !taken) return std::unexpected(taken.error());
  return resolution.finish();
}

} // namespace heddle::base

#include "base/options.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "base/option_table.hpp"

namespace heddle::base {
namespace {

constexpr std::string_view kPrefix = "HEDDLE_";

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 200)) + "'";
}

std::string variable_name(std::string_view option) {
  std::string name(kPrefix);
  for (const char c : option) name.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return name;
}

bool is_launcher_variable(std::string_view name) {
  return std::ranges::find(kLauncherVariables, name) != std::end(kLauncherVariables);
}

Error bad_option(std::string fact, std::string remedy) {
  return {.code = ErrorCode::bad_option, .fact = std::move(fact), .remedy = std::move(remedy)};
}

Error bad_value(const OptionRow& row, std::string_view value, std::string_view origin) {
  return bad_option(std::string(origin) + ": option " + std::string(row.name) + " cannot be " + quoted(value) +
                        ": expected " + std::string(row.expected),
                    "");
}

const OptionRow* find_row(std::string_view name) {
  const auto rows = option_table();
  const auto row = std::ranges::find(rows, name, &OptionRow::name);
  return row == rows.end() ? nullptr : &*row;
}

std::size_t index_of(const OptionRow* row) {
  return static_cast<std::size_t>(row - option_table().data());
}

// The state of one resolution; later calls override earlier ones, so they come weakest first.
class Resolution {
 public:
  Resolution() : origins_(option_table().size(), "default") {}

  Result<void> take(const OptionRow& row, std::string_view value, std::string origin) {
    if (!row.assign(settings_, value)) return std::unexpected(bad_value(row, value, origin));
    origins_[index_of(&row)] = std::move(origin);
    return {};
  }

  Result<void> take_environment(const Environment& environment) {
    for (const auto& [name, value] : environment.variables()) {
      if (!name.starts_with(kPrefix) || is_launcher_variable(name)) continue;
      const auto rows = option_table();
      const auto row = std::ranges::find_if(rows, [&](const OptionRow& r) { return variable_name(r.name) == name; });
      if (row == rows.end()) return std::unexpected(unknown_variable(name));
      if (auto taken = take(*row, value, name); !taken) return taken;
    }
    return {};
  }

  Result<void> take_file(const std::string& path, const std::vector<FileEntry>& entries) {
    for (const FileEntry& entry : entries) {
      std::string origin = path + ":" + std::to_string(entry.line);
      const OptionRow* row = find_row(entry.name);
      if (row == nullptr) return std::unexpected(unknown_entry(entry.name, origin));
      if (row->name == "file") {
        return std::unexpected(bad_option(origin + ": an option file cannot name another", "remove 'file'"));
      }
      if (auto taken = take(*row, entry.value, std::move(origin)); !taken) return taken;
    }
    return {};
  }

  Result<void> take_code(const Options& options) {
    for (const OptionRow& row : option_table()) {
      bool usable = true;
      if (!row.assign_from_code(settings_, options, usable)) continue;
      if (!usable) return std::unexpected(bad_value(row, row.show(settings_), "code"));
      origins_[index_of(&row)] = "code";
    }
    return {};
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }

  Result<ResolvedOptions> finish() {
    // Who sets only smaller rings need not know of eager_limit.
    std::string& eager_origin = origins_[index_of(find_row("eager_limit"))];
    if (eager_origin == "default" && settings_.eager_limit > settings_.ring_bytes / 4) {
      settings_.eager_limit = settings_.ring_bytes / 4;
      eager_origin = "default, a quarter of ring_bytes";
    }
    if (const Conflict conflict = find_conflict(settings_); !conflict.sentence.empty()) {
      const std::string& origin = origins_[index_of(find_row(conflict.option))];
      return std::unexpected(bad_option(origin + ": " + conflict.sentence, conflict.remedy));
    }
    ResolvedOptions resolved{.settings = settings_, .list = {}};
    for (const OptionRow& row : option_table()) {
      resolved.list.push_back({row.name, row.show(settings_), origins_[index_of(&row)], row.unit, row.meaning});
    }
    return resolved;
  }

 private:
  static Error unknown_entry(const std::string& name, const std::string& origin) {
    return bad_option(origin + ": no option is called " + quoted(name),
                      "did you mean " + std::string(nearest(name, option_names())) + "?");
  }

  static Error unknown_variable(const std::string& name) {
    std::vector<std::string> names;
    for (const std::string_view option : option_names()) names.push_back(variable_name(option));
    const std::vector<std::string_view> views(names.begin(), names.end());
    return bad_option("environment: no option is called " + quoted(name),
                      "did you mean " + std::string(nearest(name, views)) + "?");
  }

  Settings settings_;
  std::vector<std::string> origins_;
};

} // namespace

std::span<const std::string_view> option_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const OptionRow& row : option_table()) names.push_back(row.name);
    return names;
  }();
  return kNames;
}

Result<ResolvedOptions> resolve(const Options& from_code, const Environment& environment, const FileReader& read) {
  Resolution resolution;
  if (auto taken = resolution.take_environment(environment); !taken) return std::unexpected(taken.error());
  const std::string path = from_code.file.value_or(resolution.settings().file);
  if (!path.empty()) {
    if (!read) {
      return std::unexpected(bad_option("option file " + quoted(path) + " cannot be read: nobody has said how", ""));
    }
    auto entries = read(path);
    if (!entries) return std::unexpected(std::move(entries).error());
    if (auto taken = resolution.take_file(path, *entries); !taken) return std::unexpected(taken.error());
  }
  if (auto taken = resolution.take_code(from_code); !taken) return std::unexpected(taken.error());
  return resolution.finish();
}

Result<ResolvedOptions> resolve(const Options& from_code, const Environment& environment) {
  return resolve(from_code, environment, FileReader{});
}

} // namespace heddle::base

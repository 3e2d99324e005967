// What a process would find if it joined: its options with their origins, the translators that would serve it and why others
// would not, the path that a message takes. Also what joining itself decides by, so that the answers are the truth.
// Not here: a joined context's own answers (Context::why, figures, waiting_for).
#pragma once

#include "base/environment.hpp"
#include "base/options.hpp"
#include "engine/messages/sender.hpp"
#include "ir/capabilities.hpp"
#include "launch/meeting.hpp"
#include "translators/entry.hpp"

#include <heddle/heddle.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::job {

// One translator of the registry, tried on this machine.
struct TranslatorReport {
  enum class Standing : std::uint8_t {
    used,      // peers are reached with it
    not_named, // it would work or not: option translators leaves it out
    refused,   // option translators names it, and it cannot be used: joining fails
  };
  std::string name;
  std::string reach;
  Standing standing{};
  Error refusal;                                // where it could not be made
  std::optional<ir::Capabilities> capabilities; // where it could
  bool connects = false;                        // and endpoints are connected before the first message
  std::string remark;
};

struct Inspection {
  base::ResolvedOptions options;
  bool in_job = false;                       // a launcher has set a job up
  Error no_job;                              // why not, where there is none
  std::string launcher;                      // which was taken, and why; empty where there is none
  std::uint32_t rank = 0;                    // as the launcher says; 0 of 1 without
  std::uint32_t size = 1;                    // 0: it says that only when the job is joined
  std::string node;                          // that this process runs on, and its place among those there: what
  std::uint32_t local_rank = 0;              // is known only when the job is joined, and empty before
  std::vector<TranslatorReport> translators; // in the order of the registry
};

// Resolves the options and makes, for a moment, every translator of the registry. Joins nothing, talks to nobody.
// Fails only where the options do.
Result<Inspection> inspect(const Options& options, const base::Environment& environment);

// How a message would travel to a peer that this translator reaches; its report must have capabilities.
Protocol expected_protocol(const TranslatorReport& report, const base::Settings& settings, std::uint64_t bytes);

// --- what joining uses ---

// The entries that option translators names, in its order; bad_option where it names none of the registry, or one twice.
Result<std::vector<const translators::Entry*>> wanted_translators(const base::Settings& settings);

// Where a store that rank 0 keeps is to listen: as TCP does.
Result<launch::Listening> listening_of(const base::ResolvedOptions& options);

engine::Limits limits_of(const base::Settings& settings);

// A path in words, with the comparison that decided.
Protocol explain(const engine::ExpectedProtocol& expected, std::uint64_t bytes, const base::Settings& settings,
                 std::string_view translator);

} // namespace heddle::job

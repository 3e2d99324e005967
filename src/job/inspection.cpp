#include "job/inspection.hpp"

#include "auth/secret.hpp"
#include "base/log.hpp"
#include "job/node.hpp"
#include "job/registry.hpp"
#include "launch/identity.hpp"
#include "options_file/options_file.hpp"
#include "store/address.hpp"
#include "translators/tcp/options.hpp"

#include <algorithm>
#include <utility>

namespace heddle::job {

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  std::size_t from = 0;
  while (from <= list.size()) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (comma > from) names.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return names;
}

Error wrong_translators(std::string fact) {
  std::string known;
  for (const auto& other : registry()) known += (known.empty() ? "" : ", ") + std::string(other.name);
  return {.code = ErrorCode::bad_option, .fact = std::move(fact), .remedy = "use some of: " + known};
}

// Where the launcher serves its store by TCP, some processes are on other machines.
std::string named_translators(const base::Settings& settings) {
  if (settings.translators != "automatic") return settings.translators;
  return settings.store.starts_with("tcp:") ? "shm,tcp" : "shm";
}

std::string way_to_meet(const launch::JobIdentity& identity) {
  switch (identity.meeting) {
    case launch::Meeting::alone: return "";
    case launch::Meeting::store: return "its store is at " + identity.store;
    case launch::Meeting::agreed: return "rank 0 keeps the store at " + identity.store;
    case launch::Meeting::pmi: return "rank 0 keeps the store, and says where by PMI";
    case launch::Meeting::memcached: return "rank 0 keeps the store, and says where by " + identity.store;
    case launch::Meeting::pmix: return "rank 0 keeps the store, and says where by PMIx";
  }
  return "";
}

TranslatorReport try_out(const translators::Entry& entry, bool named, const translators::TranslatorSetup& setup) {
  TranslatorReport report{.name = std::string(entry.name), .reach = std::string(entry.reach)};
  const auto translator = entry.make(setup);
  using Standing = TranslatorReport::Standing;
  if (translator) {
    report.standing = named ? Standing::used : Standing::not_named;
    report.capabilities = (*translator)->capabilities();
    report.connects = (*translator)->facets().endpoints != nullptr;
    report.remark = (*translator)->remark();
  } else {
    report.standing = named ? Standing::refused : Standing::not_named;
    report.refusal = translator.error();
  }
  return report;
}

} // namespace

Result<Inspection> inspect(const Options& options, const base::Environment& environment) {
  auto resolved = options_file::resolve_with_file(options, environment, sections());
  if (!resolved) return std::unexpected(std::move(resolved.error()));
  Inspection found{.options = std::move(*resolved)};
  const base::Settings& settings = found.options.settings;
  const auto secret = auth::Secret::of(environment);
  if (!secret) return std::unexpected(secret.error());
  const auto identity = launch::detect(environment, settings);
  base::Settings expected = settings;
  if (identity && identity->meeting != launch::Meeting::store)
    expected.store = identity->single() || identity->placement.nodes == 1 ? "" : store::kByTcp;
  const auto wanted = wanted_translators(expected);
  if (!wanted) return std::unexpected(wanted.error());
  found.in_job = identity && !identity->single();
  if (!identity) found.no_job = identity.error();
  if (found.in_job) {
    found.rank = identity->rank;
    found.size = identity->size;
    found.launcher = identity->launcher + " (" + identity->evidence + "); " + way_to_meet(*identity);
  }
  // What a translator would warn of when joining is in the report.
  translators::TranslatorSetup setup{.rank = found.rank,
                                     .size = std::max(found.size, found.rank + 1),
                                     .node = node_identity(environment, identity ? identity->placement.node : ""),
                                     .secret = *secret,
                                     .settings = &settings,
                                     .log = base::Log(LogLevel::silent)};
  for (const translators::Entry& entry : registry()) {
    setup.own = &found.options.section(entry.name);
    const bool named = std::find(wanted->begin(), wanted->end(), &entry) != wanted->end();
    found.translators.push_back(try_out(entry, named, setup));
  }
  return found;
}

Protocol expected_protocol(const TranslatorReport& report, const base::Settings& settings, std::uint64_t bytes) {
  return explain(engine::expected_protocol(limits_of(settings), *report.capabilities, bytes), bytes, settings,
                 report.name);
}

Result<std::vector<const translators::Entry*>> wanted_translators(const base::Settings& settings) {
  std::vector<const translators::Entry*> wanted;
  for (const std::string& name : split(named_translators(settings))) {
    const auto known = registry();
    const auto entry = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
    if (entry == known.end())
      return std::unexpected(wrong_translators("option translators names '" + name + "', which is not a translator"));
    if (std::find(wanted.begin(), wanted.end(), &*entry) != wanted.end())
      return std::unexpected(Error{.code = ErrorCode::bad_option,
                                   .fact = "option translators names '" + name + "' twice",
                                   .remedy = "name each once, in order of preference"});
    wanted.push_back(&*entry);
  }
  if (wanted.empty())
    return std::unexpected(wrong_translators("option translators is '" + settings.translators + "', which names none"));
  return wanted;
}

Result<launch::Listening> listening_of(const base::ResolvedOptions& options) {
  const base::Values& tcp = options.section("tcp");
  const auto ports = net::PortRange::parse(tcp.text(translators::tcp::kPorts));
  if (!ports) {
    Error error = ports.error();
    error.fact = "option tcp.ports: " + error.fact;
    return std::unexpected(std::move(error));
  }
  return launch::Listening{.network = tcp.text(translators::tcp::kNetwork), .ports = *ports};
}

engine::Limits limits_of(const base::Settings& settings) {
  return {.eager_limit = settings.eager_limit,
          .ring_bytes = settings.ring_bytes,
          .ring_memory = settings.ring_memory,
          .unsolicited_memory = settings.unsolicited_memory,
          .chunk_bytes = settings.chunk_bytes,
          .assist = settings.assist,
          .plans_engines = settings.schedule == base::kPlanned};
}

Protocol explain(const engine::ExpectedProtocol& expected, std::uint64_t bytes, const base::Settings& settings,
                 std::string_view translator) {
  std::string limit = "eager_limit " + std::to_string(settings.eager_limit);
  if (expected.eager_limit < settings.eager_limit)
    limit = std::to_string(expected.eager_limit) + ", the most that one record holds here (" + limit + ")";
  const std::string size_text = std::to_string(bytes) + " bytes";
  Protocol protocol{.translator = std::string(translator)};
  switch (expected.protocol) {
    case engine::MessageProtocol::eager:
      protocol.name = "eager";
      protocol.reason = size_text + " <= " + limit;
      break;
    case engine::MessageProtocol::rendezvous_by_read:
      protocol.name = "rendezvous by read";
      protocol.reason = size_text + " > " + limit + ", and the receiver can read the sender's memory";
      break;
    case engine::MessageProtocol::rendezvous_by_fragments:
      protocol.name = "rendezvous by fragments";
      protocol.reason = size_text + " > " + limit + ", and the receiver cannot read the sender's memory";
      break;
  }
  return protocol;
}

} // namespace heddle::job

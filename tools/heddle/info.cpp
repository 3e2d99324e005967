// heddle info: what a program would find here: options with their origin, translators and what they can do, and the way a
// message of a given size takes. In a job it joins, so the answers are those of real connections-to-be; rank 0 prints.
#include "base/environment.hpp"
#include "base/rank_list.hpp"
#include "base/size_text.hpp"
#include "job/inspection.hpp"
#include "subcommands.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace heddle::tool {
namespace {

using job::Inspection;
using job::TranslatorReport;

struct InfoArguments {
  std::optional<std::string> why;
  bool json = false;
};

// Peers to whom a message of the size asked for travels alike.
struct PeersAlike {
  std::vector<std::uint32_t> peers; // none: any peer that the translator reaches, asked outside a job
  Protocol protocol;
};
// What was asked for with --why.
struct Ways {
  std::vector<PeersAlike> peers;
  std::optional<Protocol> alltoall; // in a job of several
};

// --- in words ---

const char* word_of(TranslatorReport::Standing standing) {
  switch (standing) {
    case TranslatorReport::Standing::used: return "used";
    case TranslatorReport::Standing::not_named: return "not used";
    case TranslatorReport::Standing::refused: return "refused";
  }
  return "";
}

std::string reason_of(const TranslatorReport& report) {
  const std::string refusal = report.refusal.code == ErrorCode::ok ? "" : report.refusal.message();
  if (report.standing == TranslatorReport::Standing::refused) return refusal;
  if (report.standing == TranslatorReport::Standing::used) return "reaches " + report.reach;
  return "option translators does not name it" + (refusal.empty() ? "" : "; it would fail: " + refusal);
}

std::vector<std::string> in_words(const TranslatorReport& report) {
  const ir::Capabilities& can = *report.capabilities;
  std::vector<std::string> lines;
  lines.emplace_back(report.connects       ? "endpoints are connected before the first message"
                     : can.connects_itself ? "makes a connection with each peer that is talked to"
                                           : "needs no connection");
  lines.emplace_back(can.announces_writes ? "announces what peers write" : "what peers write is found by looking");
  lines.emplace_back(can.orders_puts ? "puts to one peer arrive in order" : "puts to one peer may overtake each other");
  if (!can.atomics)
    lines.emplace_back("no atomics");
  else
    lines.emplace_back(can.atomics_with_processor ? "atomics, also against this processor's own"
                                                  : "atomics, but not against this processor's own");
  lines.emplace_back(can.reads_any_memory ? "reads any memory of a peer: large messages take one copy"
                                          : "reads only memory made for it: large messages pass through the rings");
  lines.emplace_back(can.processor_copies ? "the processor copies" : "the network copies");
  lines.push_back(fmt::format("{} {} at once", can.engines, can.engines == 1 ? "command" : "commands"));
  return lines;
}

std::string addressee(const PeersAlike& group, const Inspection& found) {
  if (group.peers.empty()) return "to another process";
  if (group.peers == std::vector{found.rank}) return "to itself";
  return fmt::format("to rank{} {}", group.peers.size() == 1 ? "" : "s", base::print_ranks(group.peers));
}

void print_translators(const Inspection& found) {
  fmt::print("\ntranslators\n");
  for (const TranslatorReport& report : found.translators) {
    fmt::print("  {}: {}: {}\n", report.name, word_of(report.standing), reason_of(report));
    if (!report.capabilities) continue;
    for (const std::string& line : in_words(report)) fmt::print("    {}\n", line);
    if (!report.remark.empty()) fmt::print("    {}\n", report.remark);
  }
}

void print_options(const Inspection& found) {
  std::size_t name = 0;
  std::size_t value = 0;
  std::size_t origin = 0;
  for (const auto& option : found.options.list) {
    name = std::max(name, option.name.size());
    value = std::max(value, option.value.size() + (option.value.empty() ? 1 : 0));
    origin = std::max(origin, option.origin.size());
  }
  fmt::print(
      "\noptions: set in code, as HEDDLE_<NAME>, or in a file; those of a translator, such as shm.x, as HEDDLE_SHM_X, "
      "or "
      "below [shm]\n");
  for (const auto& option : found.options.list)
    fmt::print("  {:<{}}  {:<{}}  {:<{}}  {}{}\n", option.name, name, option.value.empty() ? "-" : option.value, value,
               option.origin, origin, option.meaning, option.unit.empty() ? "" : fmt::format(" ({})", option.unit));
}

void print_text(const Inspection& found, const Ways& ways, std::uint64_t bytes) {
  fmt::print("heddle {}\n", HEDDLE_VERSION);
  if (found.in_job)
    fmt::print("job: rank {} of {}{}, started by {}\n", found.rank, found.size,
               found.node.empty() ? "" : fmt::format(" on node {} (local rank {})", found.node, found.local_rank),
               found.launcher);
  else
    fmt::print("job: none{}{}\n", found.no_job.fact.empty() ? "" : ": ", found.no_job.fact);
  print_translators(found);
  print_options(found);
  if (!ways.peers.empty()) fmt::print("\na message of {} bytes\n", bytes);
  for (const PeersAlike& group : ways.peers)
    fmt::print("  {}: {} over {}: {}\n", addressee(group, found), group.protocol.name, group.protocol.translator,
               group.protocol.reason);
  if (const auto& all = ways.alltoall)
    fmt::print("an all-to-all of blocks of {} bytes\n  {}{}{}: {}\n", bytes, all->name,
               all->translator.empty() ? "" : " over ", all->translator, all->reason);
}

// --- for machines ---

Json as_json(const TranslatorReport& report) {
  const ir::Capabilities& can = *report.capabilities;
  return {{"needs_connection", report.connects || can.connects_itself},
          {"announces_writes", can.announces_writes},
          {"orders_puts", can.orders_puts},
          {"atomics", can.atomics},
          {"atomics_with_processor", can.atomics_with_processor},
          {"reads_any_memory", can.reads_any_memory},
          {"processor_copies", can.processor_copies},
          {"engines", can.engines},
          {"inline_bytes", can.inline_bytes},
          {"largest_transfer", can.largest_transfer}};
}

void print_json(const Inspection& found, const Ways& ways, std::uint64_t bytes) {
  Json translators = Json::array();
  for (const TranslatorReport& report : found.translators)
    translators.push_back({{"name", report.name},
                           {"standing", word_of(report.standing)},
                           {"reason", reason_of(report)},
                           {"reach", report.reach},
                           {"capabilities", report.capabilities ? as_json(report) : Json()},
                           {"remark", report.remark}});
  Json options = Json::array();
  for (const auto& option : found.options.list)
    options.push_back({{"name", option.name},
                       {"value", option.value},
                       {"origin", option.origin},
                       {"unit", option.unit},
                       {"meaning", option.meaning}});
  Json whole{{"version", HEDDLE_VERSION},
             {"job", found.in_job ? Json{{"rank", found.rank},
                                         {"size", found.size},
                                         {"node", found.node},
                                         {"local_rank", found.local_rank},
                                         {"launcher", found.launcher}}
                                  : Json()},
             {"translators", std::move(translators)},
             {"options", std::move(options)}};
  if (!ways.peers.empty()) {
    Json list = Json::array();
    for (const PeersAlike& group : ways.peers)
      list.push_back({{"peers", group.peers},
                      {"protocol", group.protocol.name},
                      {"translator", group.protocol.translator},
                      {"reason", group.protocol.reason}});
    whole["why"] = {{"bytes", bytes}, {"protocols", std::move(list)}};
    if (const auto& all = ways.alltoall)
      whole["why"]["alltoall"] = {{"name", all->name}, {"translator", all->translator}, {"reason", all->reason}};
  }
  fmt::print("{}\n", whole.dump());
}

// --- asking ---

void add_peer(std::vector<PeersAlike>& groups, std::uint32_t peer, const Protocol& protocol) {
  for (PeersAlike& group : groups)
    if (group.protocol.name == protocol.name && group.protocol.translator == protocol.translator &&
        group.protocol.reason == protocol.reason) {
      group.peers.push_back(peer);
      return;
    }
  groups.push_back({.peers = {peer}, .protocol = protocol});
}

Result<std::vector<PeersAlike>> protocols_from(const Context& context, const Inspection& found, std::uint64_t bytes) {
  std::vector<PeersAlike> groups;
  for (std::uint32_t peer = 0; peer < context.size(); ++peer) {
    const auto protocol = context.why(Rank{peer}, bytes);
    if (!protocol) return std::unexpected(protocol.error());
    add_peer(groups, peer, *protocol);
  }
  if (found.in_job) return groups;
  // Outside a job there is nobody else; what would be, with each translator that is used.
  for (const TranslatorReport& report : found.translators) {
    if (report.standing != TranslatorReport::Standing::used) continue;
    groups.push_back({.peers = {}, .protocol = job::expected_protocol(report, found.options.settings, bytes)});
  }
  return groups;
}

void print(const InfoArguments& arguments, const Inspection& found, const Ways& ways, std::uint64_t bytes) {
  if (arguments.json)
    print_json(found, ways, bytes);
  else
    print_text(found, ways, bytes);
}

int run_info(const InfoArguments& arguments) {
  std::optional<std::uint64_t> bytes;
  if (arguments.why) {
    const auto size = base::parse_size(*arguments.why);
    if (!size) return bad_usage("info", "--why: " + size.error().fact);
    bytes = *size;
  }
  auto found = job::inspect({}, base::Environment::of_process());
  if (!found) return failed("info", found.error());

  // Outside a job it is a job of one, whatever the option says; with a launcher's job half set up, that is the error.
  const bool alone = !found->in_job && found->options.settings.store.empty();
  auto context = Context::join(alone ? Options{.single = true} : Options{});
  if (!context) {
    if (found->rank == 0) print(arguments, *found, {}, 0);
    return failed("info", context.error());
  }
  found->rank = static_cast<std::uint32_t>(context->rank()); // some launchers do not say it before
  found->size = context->size();
  found->node = context->host_name(context->rank()).value_or("");
  found->local_rank = context->local_rank(context->rank()).value_or(0);
  Ways ways;
  if (bytes) {
    auto asked = protocols_from(*context, *found, *bytes);
    if (!asked) return failed("info", asked.error());
    ways.peers = std::move(*asked);
    if (context->size() > 1)
      if (auto exchange = context->why_alltoall(*bytes)) ways.alltoall = std::move(*exchange);
  }
  if (context->rank() == Rank{0}) print(arguments, *found, ways, bytes.value_or(0));
  return 0;
}

} // namespace

void add_info(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* info = program.add_subcommand("info", "Show translators, options, and how a message travels");
  info->add_option("--why", arguments->why, "Also show how a message of that size travels, and why")
      ->type_name("BYTES");
  info->add_flag("--json", arguments->json, "One JSON object instead of text");
  info->footer(
      "Under heddle run it joins the job, and rank 0 shows how messages travel to each peer. Exit status 1 when "
      "joining fails "
      "here.\n\n"
      "Example: heddle info --why 1MiB");
  info->callback([arguments, &invocation] { invocation.exit_status = run_info(*arguments); });
}

} // namespace heddle::tool

#include "switches.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

namespace tofu_emulation {

namespace {

struct Choice {
  bool* chosen;
  const char* no;
  const char* yes;
};
struct Choices {
  std::uint64_t* chosen;
  std::vector<std::string> names;
};
using Target = std::variant<std::string*, std::uint64_t*, Choice, Choices>;

std::map<std::string, Target> names_of(Switches& s) {
  return {{"fabric", &s.fabric},
          {"coords", &s.coords},
          {"shape", &s.shape},
          {"rank", &s.rank},
          {"log", &s.log},
          {"per_node", &s.per_node},
          {"tnis", &s.tnis},
          {"cqs", &s.cqs},
          {"toq", &s.toq},
          {"mrq", &s.mrq},
          {"stags", &s.stags},
          {"gates", &s.gates},
          {"seed", &s.seed},
          {"delay", &s.delay},
          {"tcq_works", &s.tcq_works},
          {"mrq_works", &s.mrq_works},
          {"order", Choice{&s.order_needs_both, "second", "both"}},
          {"lcl_put", Choice{&s.put_ends_when_sent, "written", "sent"}},
          {"rmt_get", Choice{&s.get_tells_edata, "bare", "edata"}},
          {"rmt_peer", Choices{&s.notice_names, {"named", "unnamed", "receiver"}}},
          {"notice_id", Choice{&s.notice_id_has_path, "plain", "path"}},
          {"rmt_stadd", Choice{&s.stadd_advanced, "first", "advanced"}},
          {"mrq_full", Choice{&s.mrq_stalls, "fatal", "stall"}},
          {"unasked_error", Choice{&s.unasked_errors, "silent", "told"}},
          {"dead_peer", Choice{&s.dead_peer_told, "silent", "told"}},
          {"stag", Choice{&s.stags_return, "new", "lowest"}},
          {"stadd", Choice{&s.stadds_agree, "differ", "agree"}},
          {"armw", Choice{&s.armw_by_node, "tni", "node"}},
          {"desc_size", Choice{&s.desc_in, "out", "inout"}},
          {"extra", Choice{&s.extra_is_cmp, "other", "cmp"}},
          {"tcq", Choice{&s.tcq_when_left, "landed", "left"}},
          {"dereg", Choice{&s.dereg_waits, "now", "busy"}},
          {"tag", Choice{&s.tag_keeps_bits, "bare", "bits"}},
          {"overrun", Choice{&s.writes_part, "nothing", "part"}}};
}

bool set(const Target& target, const std::string& value) {
  if (const auto* text = std::get_if<std::string*>(&target)) {
    **text = value;
    return true;
  }
  if (const auto* number = std::get_if<std::uint64_t*>(&target)) {
    char* end = nullptr;
    **number = std::strtoull(value.c_str(), &end, 10);
    return !value.empty() && *end == '\0';
  }
  if (const auto* choices = std::get_if<Choices>(&target)) {
    const auto named = std::ranges::find(choices->names, value);
    *choices->chosen = static_cast<std::uint64_t>(named - choices->names.begin());
    return named != choices->names.end();
  }
  const auto& choice = std::get<Choice>(target);
  *choice.chosen = value == choice.yes;
  return value == choice.yes || value == choice.no;
}

Switches read() {
  Switches made;
  const auto names = names_of(made);
  const char* given = std::getenv("TOFU_EMULATION");
  std::istringstream all(given != nullptr ? given : "");
  for (std::string one; std::getline(all, one, ',');) {
    const auto equals = one.find('=');
    const auto name = names.find(one.substr(0, equals));
    if (equals == std::string::npos || name == names.end() || !set(name->second, one.substr(equals + 1)))
      violation("TOFU_EMULATION: '" + one + "' is no switch with a value that it has");
  }
  if (made.tnis < 1 || made.tnis > 6 || made.cqs < 1 || made.cqs > 48 || made.toq < 8 || made.mrq < 8 ||
      made.mrq > 8192 || made.stags > 1024 || made.gates > 48 || made.per_node < 1)
    violation(
        "TOFU_EMULATION: tnis 1 to 6, cqs 1 to 48, toq from 8, mrq 8 to 8192, stags to 1024, gates to 48, per_node "
        "from 1");
  return made;
}

} // namespace

const Switches& switches() {
  static const Switches kMade = read();
  return kMade;
}

void violation(const std::string& what) {
  std::fprintf(stderr, "tofu emulation, process %d: %s\n", static_cast<int>(::getpid()), what.c_str());
  std::abort();
}

} // namespace tofu_emulation

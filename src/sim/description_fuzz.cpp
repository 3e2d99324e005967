// Any text as a fabric and as a topology: an error of one line or a network that runs, never a crash. Text after the first
// newline is the file that a fabric may name.
#include "sim/description.hpp"

#include "base/fuzz_input.hpp"
#include "sim/network_model.hpp"
#include "sim/packet_network.hpp"

namespace heddle::fuzz {
namespace {

std::string file_text; // what the fabric's file holds, whatever its name

Result<std::string> read_given(const std::string&) {
  return file_text;
}

void demand_one_line(const Error& error) {
  demand_message(error);
  demand(error.message().find('\n') == std::string::npos, "an error is one line");
}

// Small fabrics only: the fuzzer is after crashes, not after large tables. Three digits in a shape make it large.
bool is_small(std::string_view line) {
  int digits = 0;
  for (const char c : line.substr(0, line.find(','))) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits == 3) return false;
  }
  return true;
}

} // namespace

void description(Input& input) {
  const std::string_view line = input.line();
  file_text = input.text();
  if (!is_small(line)) return;
  auto fabric = sim::parse_fabric(line, {.read = read_given});
  if (!fabric) return demand_one_line(fabric.error());
  if (fabric->links.size() > 2000) return;
  auto network = sim::PacketNetwork::make(std::move(*fabric));
  if (!network) return demand_one_line(network.error());
  const std::uint32_t last = network->fabric().nodes - 1;
  for (const std::uint32_t source : {0U, last / 2, last})
    demand(network->submit({.source = source, .target = last - source, .bytes = 5000}).has_value(), "a flow is taken");
  if (const auto done = network->run(); !done) demand_one_line(done.error());
}

} // namespace heddle::fuzz

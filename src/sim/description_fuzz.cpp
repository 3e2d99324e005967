// Any text as a fabric and as a topology: an error of one line or a network that runs, never a crash. Text after the first
// newline is the file that a fabric may name.
#include "sim/description.hpp"
#include "sim/network.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string file_text; // what the fabric's file holds, whatever its name

heddle::Result<std::string> read_given(const std::string&) {
  return file_text;
}

void expect_one_line(const heddle::Error& error) {
  const std::string text = error.message();
  if (error.fact.empty() || text.find('\n') != std::string::npos) __builtin_trap();
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

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = text.find('\n');
  file_text = newline == std::string_view::npos ? "" : std::string(text.substr(newline + 1));
  const std::string_view line = text.substr(0, newline);
  if (!is_small(line)) return 0;
  auto fabric = parse_fabric(line, read_given);
  if (!fabric) {
    expect_one_line(fabric.error());
    return 0;
  }
  if (fabric->links.size() > 2000) return 0;
  auto network = Network::make(std::move(*fabric));
  if (!network) {
    expect_one_line(network.error());
    return 0;
  }
  const std::uint32_t last = network->fabric().nodes - 1;
  for (const std::uint32_t source : {0U, last / 2, last}) {
    const auto sent = network->submit({.source = source, .target = last - source, .bytes = 5000});
    if (!sent) __builtin_trap();
  }
  if (const auto done = network->run(); !done) expect_one_line(done.error());
  return 0;
}

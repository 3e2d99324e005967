// Any text as a file of puts: an error with its place in one line, or puts that are whole.
#include "traffic/put_file.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void put_file(Input& input) {
  const auto puts = traffic::parse_puts(input.text());
  if (!puts) {
    demand_message(puts.error());
    demand(puts.error().message().find('\n') == std::string::npos, "a message is one line");
    return;
  }
  demand(!puts->empty(), "a file without puts is an error");
  for (const traffic::Put& put : *puts) demand(put.to.has_value() != put.direction.has_value(), "to or direction");
}

} // namespace heddle::fuzz

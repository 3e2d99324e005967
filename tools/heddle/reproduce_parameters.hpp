// What the models of `heddle reproduce` are told: every parameter with its value and where that comes from. A figure can only be a
// result where none of these was made from it.
#pragma once

#include "heddle/error.hpp"
#include "heddle/options.hpp"
#include "routing/alltoall_model.hpp"
#include "sim/rhinet.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tool {

enum class Origin : std::uint8_t {
  report,     // the report says it
  data_sheet, // a specification or a published measurement of the same hardware says it
  fitted,     // made from a figure of the report, which is therefore no result
  chosen,     // has no source: plausible, and to be varied
};
std::string_view to_string(Origin origin);

struct Parameter {
  std::string name; // MODEL.NAME, as --set takes it
  std::string value;
  std::string_view unit; // of plain numbers
  Origin origin{};
  std::string_view source;
};

// What an all-to-all in packets exchanges, unless it is run at full size.
struct PacketScale {
  double message = 64 << 10; // bytes
  double processes = 4;      // on a node
};

class Parameters {
 public:
  // "MODEL.NAME=VALUE" each. Error: no such parameter (with the nearest), or a value that it cannot have.
  static Result<Parameters> with(std::span<const std::string> changes);

  // Of all models, changes included.
  [[nodiscard]] std::vector<Parameter> list() const;
  // The same with one more change.
  [[nodiscard]] Result<Parameters> with(const std::string& name, const std::string& value) const;

  [[nodiscard]] routing::AlltoallMachine machine() const;
  [[nodiscard]] PacketScale packets() const;
  [[nodiscard]] const std::map<std::string, std::string>& changes() const { return changes_; }
  // A fabric's text with the changes of its kind; what the text itself sets stays as it is.
  [[nodiscard]] std::string fabric(std::string_view text) const;
  [[nodiscard]] sim::RhinetParameters rhinet() const;
  // These, and where they say nothing the changes of the library's.
  [[nodiscard]] Options options(Options given) const;

 private:
  Result<void> change(const std::string& text);
  std::map<std::string, std::string> changes_; // name -> value
};

} // namespace heddle::tool

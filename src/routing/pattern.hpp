// What a job sends, stage by stage: in each stage a local node sends to at most one other and receives from at most one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.hpp"

namespace heddle::routing {

// Between local nodes.
struct Flow {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool operator==(const Flow&) const = default;
};
using Stage = std::vector<Flow>;

class Pattern {
 public:
  // Stage sd = 1 .. n-1: s sends to (s + sd) mod n. All-to-all.
  static Pattern shift(std::uint32_t nodes);
  // s exchanges with s xor 1, 2, 4 ... where that node exists.
  static Pattern doubling(std::uint32_t nodes);
  // s sends to s + 1, then to s - 1, on a ring.
  static Pattern neighbour(std::uint32_t nodes);
  static Pattern of(std::string name, std::uint32_t nodes, std::vector<Stage> stages);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint32_t nodes() const { return nodes_; }
  [[nodiscard]] std::size_t stages() const { return is_shift() ? (nodes_ == 0 ? 0 : nodes_ - 1) : stages_.size(); }
  [[nodiscard]] bool is_shift() const { return shift_; }
  // What stage i (from 0) is called in reports: the shift distance, or the number of the stage from 1.
  [[nodiscard]] std::size_t label(std::size_t i) const { return i + 1; }
  // Replaces the content of `stage`, so that one buffer serves all.
  void fill(std::size_t i, Stage& stage) const;

 private:
  std::string name_;
  std::uint32_t nodes_ = 0;
  bool shift_ = false; // stages are computed, not stored: there are as many flows as pairs
  std::vector<Stage> stages_;
};

// A pattern file: one line per stage, for every local node the node it sends to, or `-`; blank lines and what follows a `#` do
// not count. bad_argument names the line.
Result<Pattern> parse_pattern(std::string_view text, std::uint32_t nodes);

} // namespace heddle::routing

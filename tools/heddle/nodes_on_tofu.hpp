// Puts between nodes of a simulated Tofu, with the links that its routes take.
#pragma once

#include "schedule/problem.hpp"

#include <heddle/error.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::tool {

struct NodePut {
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
};

class NodesOnTofu {
 public:
  // Of a fabric's text; where that is empty, a row of as many groups as node `last` takes, or as there can be. bad_argument: no tofu.
  static Result<NodesOnTofu> make(const std::string& fabric, std::uint32_t last);
  NodesOnTofu(NodesOnTofu&&) noexcept;
  NodesOnTofu& operator=(NodesOnTofu&&) noexcept;
  ~NodesOnTofu();

  [[nodiscard]] std::uint32_t nodes() const;
  // What a node has to send, by itself: other nodes' puts are not in its way. `links` gets the names of the problem's.
  [[nodiscard]] schedule::Problem problem(std::uint32_t from, std::span<const NodePut> puts,
                                          std::vector<std::string>& links) const;

 private:
  struct Network;
  explicit NodesOnTofu(std::unique_ptr<Network> network);
  std::unique_ptr<Network> network_;
};

} // namespace heddle::tool

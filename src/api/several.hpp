// Helpers for waiting on several requests: which has ended, whether all have, and how.
#pragma once

#include "engine/engine.hpp"

#include <heddle/heddle.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace heddle::api {

// The first that has ended, of those that name something; requests.size() where none does; nullopt while none has ended.
inline std::optional<std::size_t> first_ended(const engine::Engine& engine, std::span<const Request> requests) {
  bool any = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].name == 0) continue;
    if (engine.ended(requests[i])) return i;
    any = true;
  }
  return any ? std::nullopt : std::optional(requests.size());
}

// Of what first_ended has said.
inline IndexedCompletion take_one(engine::Engine& engine, std::span<const Request> requests, std::size_t index) {
  if (index == requests.size()) return {.index = index, .completion = {.code = ErrorCode::stale_request}};
  return {.index = index, .completion = *engine.take_completion(requests[index])};
}

// `ended` says of how many, from the first on, that is known already.
inline bool all_ended(const engine::Engine& engine, std::span<const Request> requests, std::size_t& ended) {
  while (ended < requests.size() && engine.ended(requests[ended])) ++ended;
  return ended == requests.size();
}

// Of those that have all ended; the first code that is not ok. There are as many completions as requests, or none.
inline ErrorCode take_all(engine::Engine& engine, std::span<const Request> requests,
                          std::span<Completion> completions) {
  ErrorCode first = ErrorCode::ok;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Completion completion = *engine.take_completion(requests[i]);
    if (first == ErrorCode::ok) first = completion.code;
    if (!completions.empty()) completions[i] = completion;
  }
  return first;
}

} // namespace heddle::api

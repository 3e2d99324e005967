// A blocking collective call that has returned before its operation had ended, because its time was over: the operation goes on,
// and the next such call waits for it.
#pragma once

#include <heddle/heddle.hpp>

namespace heddle::api {

struct Unfinished {
  enum class Kind : std::uint8_t { barrier, alltoall, alltoallv };
  Kind kind{};
  ConstMemory out;
  ConstMemory in;
  Request request; // names nothing: there is none

  [[nodiscard]] bool under_way() const { return request.name != 0; }
  // Whether a call for `other` is one for this.
  [[nodiscard]] bool same_call(const Unfinished& other) const {
    const auto same = [](ConstMemory a, ConstMemory b) { return a.data() == b.data() && a.size() == b.size(); };
    return kind == other.kind && same(out, other.out) && same(in, other.in);
  }
};

} // namespace heddle::api

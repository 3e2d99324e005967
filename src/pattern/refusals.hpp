// Why a request does not fit, in words.
#pragma once

#include "pattern/plan.hpp"

#include <heddle/error.hpp>

namespace heddle::pattern {

// Of a send or put that its target has judged.
Error refusal(const Declared& item, Verdict verdict);
Error malformed(std::uint32_t rank);
// Of a receive for which nothing is sent.
Error sends_nothing(const Declared& receive);

} // namespace heddle::pattern

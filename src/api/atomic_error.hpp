// Why an atomic operation was not done, in words.
#pragma once

#include <heddle/error.hpp>
#include <heddle/onesided.hpp>

#include <cstdint>

namespace heddle::api {

// `size` of the job.
Error atomic_error(const Place& at, const Atomic& operation, ErrorCode code, std::uint32_t size);

} // namespace heddle::api

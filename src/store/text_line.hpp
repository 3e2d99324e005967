// The connection to somebody who speaks in text, by lines or blocks: a launcher's PMI, a memcached.
#pragma once

#include "base/clock.hpp"

#include <heddle/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::store {

class TextLine {
 public:
  // `who` is named in errors. The socket is not owned.
  TextLine(int socket, std::string who) : socket_(socket), who_(std::move(who)) {}

  // Each ends at its deadline with timed_out. After that, and after store_failed, nothing can be said or read: half a word
  // cannot be taken back.
  Result<void> say(std::string_view text, base::Deadline deadline);
  // Up to that end, which is taken off.
  Result<std::string> line(std::string_view end, base::Deadline deadline);
  // So many characters.
  Result<std::string> block(std::size_t characters, base::Deadline deadline);

  [[nodiscard]] bool usable() const { return socket_ >= 0; }
  void close() { socket_ = -1; }
  // As the calls do where the other side makes no sense.
  [[nodiscard]] std::unexpected<Error> broken(const std::string& how, ErrorCode code = ErrorCode::store_failed,
                                              int system_code = 0);

 private:
  Result<void> fill(base::Deadline deadline);

  int socket_;
  std::string who_;
  std::string inbox_;
};

} // namespace heddle::store

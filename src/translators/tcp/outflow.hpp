// What is on its way out of one connection. The socket takes what it can; the rest is copied here and follows.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <vector>

namespace heddle::translators::tcp {

class Outflow {
 public:
  // Takes all pieces, after all that waits, or throws bad_alloc and takes none. `socket` -1: there is no connection yet.
  void send(int socket, std::span<iovec> pieces);
  void flush(int socket);
  [[nodiscard]] std::size_t waiting() const { return bytes_.size() - first_; }
  void clear() {
    bytes_.clear();
    first_ = 0;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t first_ = 0; // of those that have not left
};

} // namespace heddle::translators::tcp

// What is on its way out of one connection. The socket takes what it can; the rest is copied here, or borrowed, and follows.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::translators::tcp {

class Outflow {
 public:
  // What waits is added to `in_all`, which outlives it, where there is one.
  explicit Outflow(std::size_t* in_all = nullptr) : in_all_(in_all) {}
  Outflow(const Outflow&) = delete;
  Outflow& operator=(const Outflow&) = delete;
  ~Outflow() { clear(); }

  // Takes all pieces, after all that waits, or throws bad_alloc and takes none. `socket` -1: there is no connection yet.
  void send(int socket, std::span<iovec> pieces);
  // The same for something large, where nothing waits: what the socket does not take now stays where it is, and must stay as it is until
  // it has left, or until `copy_borrowed`.
  void lend(int socket, std::span<const std::byte> start, std::span<const std::byte> large);
  [[nodiscard]] bool borrows() const { return !borrowed_.empty(); }
  // Needs no memory any more.
  void copy_borrowed();
  void flush(int socket);
  [[nodiscard]] std::size_t waiting() const { return bytes_.size() - first_ + borrowed_.size(); }
  // Since it was made or cleared: bytes that were taken, and that have left.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] std::uint64_t left() const { return taken_ - waiting(); }
  void clear() {
    taken_ = 0;
    bytes_.clear();
    first_ = 0;
    borrowed_ = {};
    unreadable_ = false;
    count();
  }
  // Memory that only a peer that took nothing has needed. To be called now and then: whoever streams needs it again at once.
  void give_back() {
    if (waiting() == 0 && bytes_.capacity() > kKept) bytes_ = std::vector<std::byte>(); // {} would keep it
  }
  [[nodiscard]] std::size_t capacity() const { return bytes_.capacity(); }
  static constexpr std::size_t kKept = 64 << 10;

 private:
  void make_room(std::size_t more);
  void count() {
    if (in_all_ != nullptr && waiting() != counted_) *in_all_ += waiting() - counted_;
    counted_ = waiting();
  }
  // As send_some. Memory that cannot be read, which a program has given and taken back, ends the connection: what was announced of it
  // cannot follow, and everything else would wait for it.
  std::size_t push(int socket, std::span<iovec> pieces);
  // Of those pieces, what comes after the first `sent` bytes.
  void keep(std::span<const iovec> pieces, std::size_t sent);

  std::size_t* in_all_;
  std::size_t counted_ = 0; // of what waits, there
  std::uint64_t taken_ = 0;
  std::vector<std::byte> bytes_;
  std::size_t first_ = 0;               // of those that have not left
  std::span<const std::byte> borrowed_; // after them
  bool unreadable_ = false;             // something of it: nothing leaves any more
};

} // namespace heddle::translators::tcp

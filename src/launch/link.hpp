// A connection between the launcher and an agent: frames in and out, without waiting.
#pragma once

#include <cstddef>
#include <optional>

#include "base/descriptor.hpp"
#include "launch/agent_wire.hpp"

namespace heddle::launch {

class Link {
 public:
  explicit Link(base::Descriptor socket);

  [[nodiscard]] int descriptor() const { return socket_.number(); }
  // Reads what is there. False: the connection is over, or what came is no frame; what came before can still be taken.
  bool read();
  // Why it is over, as the system says; 0: the other side has closed it.
  [[nodiscard]] int problem() const { return problem_; }
  // The next frame; its body lives until the next call of the link.
  std::optional<net::Frame> next();
  // Goes out after all before it, now or by flush().
  void send(net::Bytes frame);
  void flush();
  [[nodiscard]] std::size_t waiting() const { return out_.size() - sent_; }
  // Whether the other machine does not answer.
  [[nodiscard]] bool is_silent() const;

 private:
  base::Descriptor socket_;
  net::Bytes in_;
  std::size_t used_ = 0; // of in_, by frames that have been given out
  net::Bytes out_;
  std::size_t sent_ = 0;
  bool malformed_ = false;
  int problem_ = 0;
};

} // namespace heddle::launch

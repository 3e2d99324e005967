// The adapter that a process uses: which one, why, and what it can do.
#pragma once

#include "translators/verbs/address.hpp"
#include "translators/verbs/library.hpp"

#include <string>
#include <vector>

namespace heddle::translators::verbs {

struct Wanted {
  std::string library = kLibrary;
  std::string device = "automatic"; // as the option has them
  std::string gid = "automatic";
};

// One of a port's addresses on Ethernet.
struct Own {
  Gid gid{};
  std::uint8_t index = 0;
};

// Owns the opened device and its protection domain.
class Device {
 public:
  // unsupported, with the reason and the remedy: this machine has none that can be used. bad_option: the one named is not there.
  static Result<std::unique_ptr<Device>> open(const Wanted& wanted);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const Library& library() const { return *library_; }
  [[nodiscard]] ibv_context& context() const { return *context_; }
  [[nodiscard]] ibv_pd& domain() const { return *domain_; }
  [[nodiscard]] const ibv_device_attr& limits() const { return limits_; }
  [[nodiscard]] const ibv_port_attr& port() const { return port_; }
  [[nodiscard]] std::uint8_t port_number() const { return port_number_; }
  [[nodiscard]] bool ethernet() const { return port_.link_layer == IBV_LINK_LAYER_ETHERNET; }
  // Asks for the port anew: its state and LID may have changed.
  bool look_at_port();
  // On Ethernet the addresses that others may use, the preferred one first; otherwise the port's GID alone.
  [[nodiscard]] const std::vector<Own>& own() const { return own_; }
  // LID, GID and the like; nothing of the process.
  [[nodiscard]] Place place() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double rate() const; // bytes per nanosecond, 0: not known
  // As ibv_create_qp. An adapter that takes less data with a request than is wanted takes what it can, down to none.
  [[nodiscard]] ibv_qp* create_pair(ibv_qp_init_attr& wanted) const;

 private:
  Device() = default;
  // Whether the port is up; the reason otherwise.
  Result<void> take_port(std::uint8_t number);
  Result<void> find_addresses(const std::string& wanted);

  std::shared_ptr<const Library> library_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_device_attr limits_{};
  ibv_port_attr port_{};
  std::uint8_t port_number_ = 0;
  std::vector<Own> own_;
  mutable std::uint32_t most_inline_ = ~0U; // as far as is known
  std::string name_;
};

} // namespace heddle::translators::verbs

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
  std::size_t ports = 1; // at most
};

// One of a port's addresses on Ethernet.
struct Own {
  Gid gid{};
  std::uint8_t index = 0;
};

// One that is used.
struct Port {
  std::uint8_t number = 0;
  ibv_port_attr about{};
  // On Ethernet the addresses that others may use, the preferred one first; otherwise the port's GID alone.
  std::vector<Own> own;

  [[nodiscard]] bool ethernet() const { return about.link_layer == IBV_LINK_LAYER_ETHERNET; }
  [[nodiscard]] bool up() const { return about.state == IBV_PORT_ACTIVE; }
  [[nodiscard]] const Own& address(std::uint32_t path) const { return own[path % own.size()]; }
  [[nodiscard]] std::uint8_t mtu() const { return static_cast<std::uint8_t>(about.active_mtu); }
  [[nodiscard]] double rate() const; // bytes per nanosecond, 0: not known
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
  // The first is where the process is found. All are of the same kind, and on InfiniBand of the same subnet.
  [[nodiscard]] const std::vector<Port>& ports() const { return ports_; }
  [[nodiscard]] const Port& port(std::size_t which = 0) const { return ports_[which]; }
  [[nodiscard]] bool ethernet() const { return port().ethernet(); }
  // Asks for the port anew: its state and LID may have changed. Whether it is up.
  bool look_at_port(std::size_t which);
  // LID, GID and the like of the first port; nothing of the process.
  [[nodiscard]] Place place() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double rate() const; // of the slowest port
  // As ibv_create_qp. An adapter that takes less data with a request than is wanted takes what it can, down to none.
  [[nodiscard]] ibv_qp* create_pair(ibv_qp_init_attr& wanted) const;

 private:
  Device() = default;
  // The reason where it is not up.
  [[nodiscard]] Result<Port> take_port(std::uint8_t number, const std::string& wanted_address) const;
  Result<void> find_addresses(Port& port, const std::string& wanted) const;
  [[nodiscard]] bool is_alike(const Port& port) const; // of the kind and subnet of those that there are

  std::shared_ptr<const Library> library_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_device_attr limits_{};
  std::vector<Port> ports_;
  mutable std::uint32_t most_inline_ = ~0U; // as far as is known
  std::string name_;
};

} // namespace heddle::translators::verbs

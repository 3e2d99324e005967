// The areas that this process has opened, and who may have their keys.
#pragma once

#include "onesided/common.hpp"
#include "onesided/records.hpp"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace heddle::onesided {

struct OwnArea {
  std::span<std::byte> memory;
  Access access;
  AreaKind kind{};
  std::vector<ir::RemotePlace> places; // by port
  std::vector<bool> atomics;           // by port
  std::size_t allocated_at = 0;        // port whose translator gave the memory
  bool allocated = false;
  bool closing = false;            // nobody's any more, but somebody may still be in the middle of an access
  std::set<std::uint32_t> granted; // ranks that have a key
};

class OwnAreaTable {
 public:
  explicit OwnAreaTable(Common& common) : common_(common) {}
  // Closes all.
  ~OwnAreaTable();
  OwnAreaTable(const OwnAreaTable&) = delete;
  OwnAreaTable& operator=(const OwnAreaTable&) = delete;

  Result<std::span<std::byte>> allocate(std::uint64_t id, std::size_t bytes, const Access& access,
                                        AreaKind kind = AreaKind::plain);
  Result<void> expose(std::uint64_t id, std::span<std::byte> memory, const Access& access);
  Result<void> close(std::uint64_t id);
  [[nodiscard]] OwnArea* find(std::uint64_t id) {
    const auto found = areas_.find(id);
    return found == areas_.end() || found->second.closing ? nullptr : &found->second;
  }

  // A peer wants a key.
  void asked(Connection& connection, const AreaAsk& ask);
  // A peer sends pieces of a push. ok: they are in place; otherwise nothing has changed. None: it is malformed.
  std::optional<ErrorCode> scatter(const Connection& connection, const AreaScatter& head,
                                   std::span<const std::byte> runs);
  // A peer says that its push has landed.
  void signalled(Connection& connection, const AreaSignal& signal);

 private:
  [[nodiscard]] Result<void> check_new(std::uint64_t id, const Access& access) const;
  // Where areas are allocated.
  [[nodiscard]] std::size_t port_for_areas() const;
  // Opens the memory on every port that has no place for it yet.
  Result<void> open_on_ports(OwnArea& area, std::size_t except);
  // Fails where somebody is still inside, and can be called again.
  [[nodiscard]] Result<void> shut(OwnArea& area);
  // The area that a peer writes to with a key; null: it is closed, the key is another one's, or it is no area to be written to.
  [[nodiscard]] const OwnArea* opened_by(const Connection& connection, std::uint64_t id, std::uint64_t key);
  [[nodiscard]] std::size_t port_of(const Connection& connection) const;

  Common& common_;
  std::map<std::uint64_t, OwnArea> areas_;
};

} // namespace heddle::onesided

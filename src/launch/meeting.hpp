// How a process comes to the store of its job: to the one of `heddle run`; or, where others have started the job, to one that the job keeps
// itself (store/keeper.hpp), whose address rank 0 leaves on the launcher's board, or all know.
#pragma once

#include "auth/secret.hpp"
#include "base/clock.hpp"
#include "launch/identity.hpp"
#include "net/sockets.hpp"
#include "store/store.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace heddle::launch {

// Where a store that is kept here listens, if it serves several nodes: as option tcp.network says, "automatic" otherwise, and tcp.ports.
struct Listening {
  std::string network = "automatic";
  net::PortRange ports{};
};

struct Admission {
  std::unique_ptr<store::Store> store;
  std::string address;                // of the store; empty for a single process
  std::optional<auth::Secret> secret; // of the job
  store::Placement placement;         // of this process, as far as the launcher tells
};

// Joins the store of that job, or makes one for a single process. Again after leaving, too: what the board said holds as long as the
// process does. Messages of a process: those of its board (store/pmi.hpp, ...), one to the store, and the cards.
Result<Admission> enter_store(const JobIdentity& identity, const Listening& listening, base::Deadline deadline);

} // namespace heddle::launch

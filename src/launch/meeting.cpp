#include "launch/meeting.hpp"

#include "launch/hydra_signal.hpp"
#include "launch/note.hpp"
#include "launch/slurm.hpp"
#include "net/interfaces.hpp"
#include "store/address.hpp"
#include "store/client.hpp"
#include "store/in_memory.hpp"
#include "store/keeper.hpp"
#include "store/memcached.hpp"
#include "store/pmi.hpp"
#include "store/pmix.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>

namespace heddle::launch {

namespace {

using store::Client;
using store::Pinboard;
using store::Server;

constexpr std::string_view kNote = "keeper";
constexpr std::chrono::seconds kFarewell{5};  // for the launcher to confirm that it has heard
constexpr std::chrono::seconds kVacating{10}; // for the store of the program before to go

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Result<in6_addr> own_address(const std::string& network) {
  if (network != "automatic") {
    auto chosen = net::choose(network, net::interfaces());
    if (chosen) return chosen->front().host;
    chosen.error().fact = "option tcp.network: " + chosen.error().fact;
    return std::unexpected(std::move(chosen.error()));
  }
  return net::outward_address();
}

// Started here, and where it is.
Result<Client::Target> keep_store(const JobIdentity& identity, const Pinboard& board, std::uint32_t nodes,
                                  const Listening& listening, base::Deadline deadline) {
  Client::Target target{.job = store::new_job_id(), .secret = identity.secret};
  if (!target.secret) target.secret = auth::Secret::draw();
  Server::Config config{.size = board.size(), .job = target.job};
  if (nodes != 1) {
    const auto host = own_address(listening.network);
    if (!host) return std::unexpected(host.error());
    config.by_tcp = Server::Config::ByTcp{.host = *host, .ports = listening.ports, .secret = *target.secret};
  }
  auto address = store::start_keeper(config, deadline);
  if (!address) return std::unexpected(std::move(address.error()));
  target.address = std::move(*address);
  return target;
}

// By the board: rank 0 says where, and all know it after a fence.
Result<Client::Target> agree(const JobIdentity& identity, Pinboard& board, std::uint32_t nodes,
                             const Listening& listening, base::Deadline deadline) {
  std::optional<Result<Client::Target>> own;
  if (board.rank() == 0) {
    own = keep_store(identity, board, nodes, listening, deadline);
    // Who waits for a store learns why it waits in vain.
    const std::string note = *own ? note_of(**own, identity.secret.has_value()) : note_of(own->error());
    if (auto put = board.put(kNote, bytes_of(note), deadline); !put) return std::unexpected(std::move(put.error()));
  }
  if (auto fenced = board.fence(deadline); !fenced) return std::unexpected(std::move(fenced.error()));
  if (own) return std::move(*own);
  auto note = board.get(kNote, deadline);
  if (note) return read_note(*note, identity.secret);
  if (note.error().code == ErrorCode::bad_argument) // some launchers let the others pass
    note.error() = {.code = ErrorCode::peer_failed,
                    .fact = "rank 0 has ended before it said where the job's store is",
                    .remedy = "",
                    .peer = 0};
  return std::unexpected(std::move(note.error()));
}

// Between two tries of what somebody else has to make possible, who cannot tell.
class Tries {
 public:
  explicit Tries(base::Deadline deadline) : deadline_(deadline) {}
  // False where there is no time for another.
  bool pause() {
    if (base::Clock::now() + pause_ >= deadline_) return false;
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, std::chrono::milliseconds(100));
    return true;
  }

 private:
  base::Deadline deadline_;
  std::chrono::milliseconds pause_{2};
};

// The store at an address that all know; rank 0 is to listen there. The program that ran before in the same step of Slurm may still have
// its store there, which goes as soon as it sees the end of its rank 0.
Result<void> keep_at(const Client::Target& target, base::Deadline deadline) {
  Server::Config config{.size = target.size, .job = target.job, .first_leads = true, .at = target.address};
  if (target.address.starts_with(store::kByTcp)) {
    const auto there = net::resolve(std::string_view(target.address).substr(store::kByTcp.size()));
    if (!there) return std::unexpected(there.error());
    // At all of its addresses, of both families: a machine may know itself by another one than others do.
    config.by_tcp = Server::Config::ByTcp{
        .host = in6_addr{}, .ports = {.first = there->port, .last = there->port}, .secret = target.secret.value()};
  }
  for (Tries tries(std::min(deadline, base::deadline_in(kVacating)));;) {
    auto address = store::start_keeper(config, deadline);
    if (address) return {};
    if (address.error().system_code != EADDRINUSE || !tries.pause()) return std::unexpected(std::move(address.error()));
  }
}

// Whether it was only too early, or so late that the store of the program before went: all else stays as it is, such as another secret,
// another user's store or another job.
bool is_early(const Error& error) {
  constexpr std::array kNobodyThere{ECONNREFUSED, ENOENT, EHOSTUNREACH, ENETUNREACH};
  const bool nobody = std::ranges::find(kNobodyThere, error.system_code) != kNobodyThere.end();
  return error.code == ErrorCode::store_failed && (nobody || net::is_passing(error.system_code));
}

// Rank 0 may be later than this process.
Result<std::unique_ptr<Client>> connect_when_there(const Client::Target& target, base::Deadline deadline) {
  for (Tries tries(deadline);;) {
    auto client = Client::connect(target, deadline);
    if (client || !is_early(client.error()) || !tries.pause()) return client;
  }
}

// What this process has found out about its job, which holds for as long as it lives, and whom to tell of an abort. Its board is left
// with the first context; for further ones the job's own store does.
struct Found {
  pid_t process = 0; // a child of fork has found out nothing
  Client::Target target;
  store::Placement placement;
};

std::optional<Found>& found_before() {
  static std::optional<Found> found;
  return found;
}
std::mutex& found_mutex() {
  static std::mutex mutex;
  return mutex;
}

Result<std::shared_ptr<Pinboard>> open_memcached(const JobIdentity& identity, base::Deadline deadline) {
  if (!identity.secret)
    return std::unexpected(Error{
        .code = ErrorCode::no_launcher,
        .fact = "a memcached is open to whoever reaches it, and there is no secret to sign with what is put there",
        .remedy = "set HEDDLE_SECRET in all processes of the job, such as to what openssl rand -hex 32 says"});
  auto board = store::Memcached::open({.address = identity.store.substr(store::kByMemcached.size()),
                                       .job = identity.job,
                                       .rank = identity.rank,
                                       .size = identity.size,
                                       .secret = *identity.secret},
                                      deadline);
  if (!board) return std::unexpected(std::move(board.error()));
  return std::shared_ptr<Pinboard>(std::move(*board));
}

Result<std::shared_ptr<Pinboard>> open_board(const JobIdentity& identity, base::Deadline deadline) {
  if (identity.meeting == Meeting::memcached) return open_memcached(identity, deadline);
  if (identity.meeting == Meeting::pmix) {
    auto board = store::Pmix::open(deadline);
    if (!board) return std::unexpected(std::move(board.error()));
    return std::shared_ptr<Pinboard>(std::move(*board));
  }
  auto board = store::Pmi::open(identity.pmi, deadline);
  if (!board) return std::unexpected(std::move(board.error()));
  return std::shared_ptr<Pinboard>(std::move(*board));
}

// What to do where nobody is found at the store's place, by who has said where that is.
constexpr const char* kStartedByOurs = "start the program with: heddle run -n N PROGRAM";
constexpr const char* kToldByRank0 = "options tcp.network and tcp.ports say at which address and ports rank 0 listens";
constexpr const char* kAgreed =
    "see that rank 0 runs; or say where it is, with a port that is free there: HEDDLE_STORE=tcp:HOST:PORT";

std::unexpected<Error> with_remedy(Error error, const char* remedy) {
  const bool not_found = error.code == ErrorCode::store_failed || error.code == ErrorCode::unreachable;
  if (not_found && error.remedy.empty()) error.remedy = remedy;
  return std::unexpected(std::move(error));
}

Result<Admission> admit(Client::Target target, store::Placement placement, Result<std::unique_ptr<Client>> client,
                        const char* remedy) {
  if (!client) return with_remedy(std::move(client.error()), remedy);
  return Admission{.store = std::move(*client),
                   .address = std::move(target.address),
                   .secret = target.secret,
                   .placement = std::move(placement)};
}

Result<Admission> enter_by_board(const JobIdentity& identity, const Listening& listening, base::Deadline deadline) {
  const std::lock_guard lock(found_mutex());
  std::optional<Found>& found = found_before();
  if (found && found->process == ::getpid())
    return admit(found->target, found->placement, Client::connect(found->target, deadline), kToldByRank0);
  auto board = open_board(identity, deadline);
  if (!board) return std::unexpected(std::move(board.error()));
  if (auto sound = check_size((*board)->size(), identity.launcher); !sound)
    return std::unexpected(std::move(sound.error()));
  if (identity.launcher == kHydra) bear_hydra_signal();
  const store::Placement told = (*board)->placement(deadline);
  store::Placement placement = identity.placement;
  if (placement.node.empty()) placement.node = told.node;
  if (told.nodes != 0) placement.nodes = told.nodes;
  auto target = agree(identity, **board, placement.nodes, listening, deadline);
  if (!target) return std::unexpected(std::move(target.error()));
  target->rank = (*board)->rank();
  target->size = (*board)->size();
  target->abort_too = [board = *board, slurm = identity.launcher.starts_with("Slurm")](int status) {
    board->abort(status);
    if (slurm) cancel_slurm_step(base::Environment::of_process());
  };
  found = Found{.process = ::getpid(), .target = *target, .placement = placement};
  target->leave_too = [board = *board] { board->leave(base::deadline_in(kFarewell)); };
  return admit(*target, placement, Client::connect(*target, deadline), kToldByRank0);
}

Result<Admission> enter_by_agreement(const JobIdentity& identity, base::Deadline deadline) {
  const Client::Target target{.address = identity.store,
                              .job = identity.job,
                              .rank = identity.rank,
                              .size = identity.size,
                              .secret = identity.secret,
                              .abort_too = [](int) { cancel_slurm_step(base::Environment::of_process()); }};
  if (target.address.starts_with(store::kByTcp) && !target.secret)
    return std::unexpected(Error{
        .code = ErrorCode::no_launcher,
        .fact = "this job of " + identity.launcher + " has several nodes and no secret that says who belongs to it",
        .remedy = "use srun --mpi=pmi2 or --mpi=pmix; or before srun: export HEDDLE_SECRET=$(openssl rand -hex 32)"});
  const std::lock_guard lock(found_mutex());
  std::optional<Found>& found = found_before();
  const bool again = found && found->process == ::getpid();
  if (identity.rank == 0 && !again)
    if (auto kept = keep_at(target, deadline); !kept) return with_remedy(std::move(kept.error()), kAgreed);
  found = Found{.process = ::getpid(), .target = target, .placement = identity.placement};
  return admit(target, identity.placement, connect_when_there(target, deadline), kAgreed);
}

} // namespace

Result<Admission> enter_store(const JobIdentity& identity, const Listening& listening, base::Deadline deadline) {
  switch (identity.meeting) {
    case Meeting::alone:
      return Admission{.store = std::make_unique<store::InMemoryStore>(std::make_shared<store::Board>(1), 0),
                       .address = {},
                       .secret = identity.secret,
                       .placement = {}};
    case Meeting::store: {
      Client::Target target{.address = identity.store,
                            .job = identity.job,
                            .rank = identity.rank,
                            .size = identity.size,
                            .secret = identity.secret};
      auto client = Client::connect(target, deadline);
      return admit(std::move(target), {}, std::move(client), kStartedByOurs);
    }
    case Meeting::agreed: return enter_by_agreement(identity, deadline);
    case Meeting::pmi:
    case Meeting::pmix:
    case Meeting::memcached: break;
  }
  return enter_by_board(identity, listening, deadline);
}

} // namespace heddle::launch

#include "launch/meeting.hpp"

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
#include <csignal>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

namespace heddle::launch {

namespace {

using store::Client;
using store::Pinboard;
using store::Server;

constexpr std::string_view kNote = "keeper";
constexpr std::chrono::seconds kFarewell{5}; // for the launcher to confirm that it has heard

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// What rank 0 tells of the store that it has started: "+ JOB ADDRESS SECRET", the secret where they do not have it in common already; or
// "- " and why there is none.
std::string note_of(const Client::Target& target, bool all_know_secret) {
  return "+ " + target.job + " " + target.address + (all_know_secret ? "" : " " + target.secret->text());
}

Result<Client::Target> read_note(const store::Bytes& bytes, const std::optional<auth::Secret>& known) {
  const std::string text(store::as_characters(bytes));
  if (text.starts_with("- "))
    return std::unexpected(
        Error{.code = ErrorCode::store_failed, .fact = "rank 0: " + text.substr(2), .remedy = "", .peer = 0});
  std::istringstream words(text);
  std::string mark;
  std::string secret;
  Client::Target target;
  words >> mark >> target.job >> target.address >> secret;
  auto parsed = known ? *known : auth::Secret::parse(secret);
  if (mark != "+" || !parsed)
    return std::unexpected(
        Error{.code = ErrorCode::store_failed, .fact = "what rank 0 says of the job's store is spoilt"});
  target.secret = *parsed;
  return target;
}

Result<in6_addr> own_address(const std::string& network) {
  if (network != "automatic") {
    auto chosen = net::choose(network, net::interfaces());
    if (chosen) return chosen->front().host;
    chosen.error().fact = "option tcp.network: " + chosen.error().fact;
    return std::unexpected(std::move(chosen.error()));
  }
  if (const auto source = net::default_source()) return *source;
  for (const net::Interface& each : net::interfaces())
    if (!net::Endpoint{.host = each.host}.is_loopback()) return each.host;
  return net::loopback();
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
    const std::string note = *own ? note_of(**own, identity.secret.has_value())
                                  : "- " + own->error().fact; // who waits for it learns why it waits in vain
    if (auto put = board.put(kNote, bytes_of(note), deadline); !put) return std::unexpected(std::move(put.error()));
  }
  if (auto fenced = board.fence(deadline); !fenced) return std::unexpected(std::move(fenced.error()));
  if (own) return std::move(*own);
  const auto note = board.get(kNote, deadline);
  if (!note) return std::unexpected(note.error());
  return read_note(*note, identity.secret);
}

// The store at an address that all know; rank 0 is to listen there.
Result<void> keep_at(const Client::Target& target, base::Deadline deadline) {
  Server::Config config{.size = target.size, .job = target.job, .at = target.address};
  if (target.address.starts_with(store::kByTcp)) {
    const auto there = net::resolve(std::string_view(target.address).substr(store::kByTcp.size()));
    if (!there) return std::unexpected(there.error());
    // By whichever of its addresses: a machine may know itself by another name than others do.
    const in6_addr any = there->is_ipv4() ? net::parse_host("0.0.0.0").value() : in6_addr{};
    config.by_tcp = Server::Config::ByTcp{
        .host = any, .ports = {.first = there->port, .last = there->port}, .secret = target.secret.value()};
  }
  if (auto address = store::start_keeper(config, deadline); !address)
    return std::unexpected(std::move(address.error()));
  return {};
}

// Rank 0 may be later than this process.
Result<std::unique_ptr<Client>> connect_when_there(const Client::Target& target, base::Deadline deadline) {
  for (auto pause = std::chrono::milliseconds(2);; pause = std::min(2 * pause, std::chrono::milliseconds(100))) {
    auto client = Client::connect(target, deadline);
    const bool early = !client && client.error().code == ErrorCode::store_failed;
    if (!early || base::Clock::now() + pause >= deadline) return client;
    std::this_thread::sleep_for(pause); // nobody could wake it: there is no connection yet
  }
}

// What this process has found out about its job, which holds for as long as it lives. Its board is left with the first context; for
// further ones the job's own store does.
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

// Hydra tells who is left of a death by this signal, where it is told to let them live; who does not expect it dies of it.
void expect_news_by_signal() {
  struct sigaction now{};
  if (::sigaction(SIGUSR1, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  now.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &now, nullptr);
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
  expect_news_by_signal();
  return std::shared_ptr<Pinboard>(std::move(*board));
}

Result<Admission> admit(Client::Target target, store::Placement placement, Result<std::unique_ptr<Client>> client) {
  if (!client) return std::unexpected(std::move(client.error()));
  return Admission{.store = std::move(*client),
                   .address = std::move(target.address),
                   .secret = target.secret,
                   .placement = std::move(placement)};
}

Result<Admission> enter_by_board(const JobIdentity& identity, const Listening& listening, base::Deadline deadline) {
  const std::lock_guard lock(found_mutex());
  std::optional<Found>& found = found_before();
  if (found && found->process == ::getpid())
    return admit(found->target, found->placement, Client::connect(found->target, deadline));
  auto board = open_board(identity, deadline);
  if (!board) return std::unexpected(std::move(board.error()));
  const store::Placement told = (*board)->placement(deadline);
  store::Placement placement = identity.placement;
  if (placement.node.empty()) placement.node = told.node;
  if (told.nodes != 0) placement.nodes = told.nodes;
  auto target = agree(identity, **board, placement.nodes, listening, deadline);
  if (!target) return std::unexpected(std::move(target.error()));
  target->rank = (*board)->rank();
  target->size = (*board)->size();
  found = Found{.process = ::getpid(), .target = *target, .placement = placement};
  target->abort_too = [board = *board, slurm = identity.launcher.starts_with("Slurm")](int status) {
    board->abort(status);
    if (slurm) cancel_slurm_step(base::Environment::of_process());
  };
  target->leave_too = [board = *board] { board->leave(base::deadline_in(kFarewell)); };
  return admit(*target, placement, Client::connect(*target, deadline));
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
    if (auto kept = keep_at(target, deadline); !kept) return std::unexpected(std::move(kept.error()));
  found = Found{.process = ::getpid(), .target = target, .placement = identity.placement};
  return admit(target, identity.placement, connect_when_there(target, deadline));
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
      return admit(std::move(target), {}, std::move(client));
    }
    case Meeting::agreed: return enter_by_agreement(identity, deadline);
    case Meeting::pmi:
    case Meeting::pmix:
    case Meeting::memcached: break;
  }
  return enter_by_board(identity, listening, deadline);
}

} // namespace heddle::launch

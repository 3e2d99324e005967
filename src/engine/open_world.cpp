// Peers that come and go: an open world, without a launcher that knows them all. Their deaths are noticed by the networks
// (translators/shm/open_world.cpp, translators/tcp/endings.cpp).
//
// A peer that is removed here still writes to its ring until it has heard of that. So its connection parts in three steps:
//   1. what was under way ends, the rank names nobody any more, and this process writes nothing more to the peer: it detaches;
//   2. the network tells the peer, for whom this process has left: it detaches, too;
//   3. the network tells that here: nobody writes to the ring any more, and all that the connection held is let go of.
// A connection that is only being made is made first, then parted with.
#include "engine/engine.hpp"

#include <algorithm>
#include <string>

namespace heddle::engine {

namespace {

std::unexpected<Error> refuse(std::uint32_t rank, const char* what, const char* remedy) {
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "rank " + std::to_string(rank) + what,
                               .remedy = remedy,
                               .peer = kNoPeer});
}

} // namespace

Result<std::uint32_t> Engine::add_peer(Uid uid, const Contact& contact) try {
  if (uid == 0 || uid == state_.book.uid(state_.rank))
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the name is this context's own",
                                 .remedy = "add the names of others; rank 0 is the context itself"});
  const auto known = state_.book.find(uid);
  if (known && !has_failed(*known)) return *known;
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
  if (known) forget_or_remove(*known);
  return admit(uid, contact);
} catch (const std::bad_alloc&) {
  return std::unexpected(no_memory());
}

// It comes again, and gets another rank. One that had ended keeps the old one until the program removes it.
void Engine::forget_or_remove(std::uint32_t rank) {
  if (has_ended(rank))
    state_.book.forget(rank);
  else
    static_cast<void>(remove_peer(rank));
}

Result<std::uint32_t> Engine::admit(Uid uid, const Contact& contact) {
  if (!state_.make_room_for_ends(peers_ + 1)) throw std::bad_alloc();
  contacts_.reserve(contacts_.size() + 1);
  connections_.reserve(connections_.size() + 1);
  postponed_.reserve(postponed_.size() + 1);
  const std::uint32_t rank = state_.book.add(uid);
  contacts_.push_back(contact);
  connections_.push_back(nullptr);
  const auto undo = [&] {
    if (connections_.back() != nullptr) {
      connections_.back()->queue().translator().detach(ir::Peer{rank});
      owned_connections_.pop_back();
    }
    connections_.pop_back();
    contacts_.pop_back();
    state_.book.take_back();
  };
  try {
    Connection& made = make_connection(rank);
    if (find_parting(uid) != nullptr) {
      made.absent = true;
      postponed_.push_back(rank);
    } else if (auto area = made.queue().translator().attach(ir::Peer{rank}, contact.address); !area) {
      undo();
      return std::unexpected(std::move(area.error()));
    } else {
      made.attached = true;
      made.peer_area = *area;
    }
  } catch (const std::bad_alloc&) {
    undo();
    throw;
  }
  ++peers_;
  may_be_heard_of(rank);
  state_.say(LogLevel::info, [&] {
    return "rank " + std::to_string(rank) + " is reached by " +
           std::string(connections_[rank]->queue().translator().name());
  });
  return rank;
}

Connection* Engine::connection_from(const Initiator& initiator, const Port& port) {
  if (initiator.uid == 0 || initiator.uid == state_.book.uid(state_.rank)) return nullptr;
  if (!open_) {
    const auto member = state_.book.find(initiator.uid);
    return member ? connection_to(*member) : nullptr;
  }
  const auto comes_anew = [&](const Connection& old) {
    return old.number_there != Connection::kUnknown && old.number_there != initiator.number;
  };
  if (Connection* old = find_parting(initiator.uid)) {
    if (!comes_anew(*old)) return old; // an old request, to be turned down
    let_go(*old);                      // it has parted since
  }
  auto known = state_.book.find(initiator.uid);
  if (known && comes_anew(*connections_[*known])) peer_gone(*known, End::left); // of which no news has come yet
  if (known && !has_ended(*known)) return connection_to(*known);
  if (known) forget_or_remove(*known);
  const auto number = std::ranges::find(ports_, &port, [](const auto& each) { return each.get(); }) - ports_.begin();
  const auto rank = admit(initiator.uid, {.address = initiator.address, .port = static_cast<std::uint8_t>(number)});
  if (!rank) {
    state_.say(LogLevel::info, [&] { return "a request to connect cannot be answered: " + rank.error().message(); });
    return nullptr; // the network has turned it away
  }
  state_.say(LogLevel::info,
             [&] { return "a process that was not added asks to connect: it is rank " + std::to_string(*rank); });
  return connections_[*rank];
}

Result<void> Engine::remove_peer(std::uint32_t rank) {
  if (rank >= state_.book.size())
    return refuse(rank, " names no peer", "use what add_peer gave, or the source of a message");
  if (rank == state_.rank) return refuse(rank, " is this process", "remove others");
  Connection* connection = connections_[rank];
  if (connection == &removed_) return {};
  parting_.reserve(parting_.size() + 1);
  connections_[rank] = &removed_;
  state_.book.forget(rank);
  static_cast<void>(state_.make_room_for_ends(--peers_));
  std::erase(postponed_, rank);
  connection->fate = ErrorCode::cancelled;
  connection->held_back = false;
  const End before = connection->dead ? End::left : connection->failed() ? End::connection_lost : End::none;
  handlers_.tell(*connection, {.how = End::removed, .before = before, .instead = &removed_});
  assistant_.replace(*connection, removed_);
  state_.operations.visit_all([&](Operation& operation) { // those that wait for an answer of the network
    if (operation.connection == connection) operation.connection = &removed_;
  });
  const bool nobody_writes =
      connection->dead || connection->ending != End::none || (!connection->introduced && !connection->lock_asked);
  if (nobody_writes) {
    let_go(*connection);
    return {};
  }
  connection->parting = true;
  parting_.push_back(connection);
  if (connection->connected() || connection->failed()) part_with(*connection);
  return {};
}

void Engine::part_with(Connection& connection) {
  connector_.end(connection);
  connection.direct = {};
  connection.must_break_off = false;
  std::erase(readable_, &connection);
  std::erase(to_pump_, &connection);
  connection.pumped = false;
  connection.queue().translator().detach(ir::Peer{connection.rank});
  connection.attached = false;
}

void Engine::let_go(Connection& connection, End how) {
  const Uid uid = state_.book.uid(connection.rank);
  part_with(connection);
  take_back(connection);
  drop_connection(connection);
  const auto again = std::ranges::find(postponed_, uid, [this](std::uint32_t rank) { return state_.book.uid(rank); });
  if (again == postponed_.end() || find_parting(uid) != nullptr) return;
  Connection& next = *connections_[*again];
  postponed_.erase(again);
  next.absent = false;
  try {
    auto area = next.queue().translator().attach(ir::Peer{next.rank}, contacts_[next.rank].address);
    if (!area) {
      unreachable_.emplace(next.rank, std::move(area.error()));
      fail(next, how); // it has gone meanwhile
      return;
    }
    next.attached = true;
    next.peer_area = *area;
  } catch (const std::bad_alloc&) { // whoever called is about something else, and has no use for that
    lost(next, "there was no memory to attach it");
    return;
  }
  if (has_output(next)) open(next);
}

void Engine::drop_connection(Connection& connection) {
  std::erase(parting_, &connection);
  std::erase(absent_, &connection);
  unreachable_.erase(connection.rank);
  connector_.forget(connection);
  owned_connections_.remove_if([&](const Connection& each) { return &each == &connection; });
}

Connection* Engine::find_parting(Uid uid) {
  const auto found =
      std::ranges::find(parting_, uid, [this](const Connection* each) { return state_.book.uid(each->rank); });
  return found == parting_.end() ? nullptr : *found;
}

Connection* Engine::connection_of_command(std::uint32_t rank) {
  if (connections_[rank] != &removed_) return connections_[rank];
  const auto found = std::ranges::find(parting_, rank, &Connection::rank);
  return found == parting_.end() ? &removed_ : *found;
}

void Engine::process_gone(Uid uid, std::uint32_t number, End how) {
  for (const auto& port : ports_) Connector::free_lock_of(*port, incarnation_of(uid, number));
  // Its last words may still stand in a slot, and with them the number that tells its incarnations apart.
  const auto was = [&](Connection& connection) {
    if (connection.number_there == Connection::kUnknown) connector_.look_at(connection);
    return connection.number_there == number || how == End::died;
  };
  if (Connection* parting = find_parting(uid); parting != nullptr && was(*parting)) {
    if (find_parting(uid) == parting) let_go(*parting, how);
  } else if (const auto rank = state_.book.find(uid);
             rank && connections_[*rank] != nullptr && was(*connections_[*rank])) {
    peer_gone(*rank, how);
  }
}

} // namespace heddle::engine

// The public calls of an open world, in which processes find each other by name.
#include "api/make_networks.hpp"
#include "api/state.hpp"
#include "auth/secret.hpp"
#include "job/contact_name.hpp"
#include "job/network_choice.hpp"
#include "job/node.hpp"
#include "job/registry.hpp"
#include "options_file/options_file.hpp"
#include "store/in_memory.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace heddle {

Result<std::unique_ptr<Context::State>> Context::State::open(const Options& options, std::uint64_t uid) {
  base::occupy_standard_descriptors();
  const base::Environment environment = base::Environment::of_process();
  auto resolved = options_file::resolve_with_file(options, environment, job::sections());
  if (!resolved) return std::unexpected(std::move(resolved.error()));
  const auto secret = auth::Secret::of(environment);
  if (!secret) return std::unexpected(secret.error());
  Entrance entrance;
  entrance.uid = uid;
  entrance.store = std::make_unique<store::InMemoryStore>(std::make_shared<store::Board>(1), 0);
  entrance.node = job::node_identity(environment, "");
  entrance.host = job::own_host_name("");
  auto networks = api::make_networks(*resolved, {.uid = entrance.uid,
                                                 .node = entrance.node,
                                                 .secret = *secret,
                                                 .settings = &resolved->settings,
                                                 .log = base::Log(resolved->settings.log_level, 0)});
  if (!networks) return std::unexpected(std::move(networks.error()));
  std::erase_if(*networks, [](const auto& network) { return network->facets().naming == nullptr; });
  if (networks->empty())
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "none of the networks in option translators supports an open world",
                                 .remedy = "allow shm"});
  entrance.owned_networks = std::move(*networks);
  entrance.options = std::move(*resolved);
  return enter_and_meet(std::move(entrance));
}

Result<Name> Context::State::name() const {
  if (!is_open())
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "a process of a job has a rank, and no name",
                                 .remedy = "use Context::open where processes are to find each other by name"});
  return job::name_of(networks_, uid_);
}

Result<Rank> Context::State::add_peer(const Name& name) {
  if (!is_open())
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "a job has the processes that its launcher started",
                                 .remedy = "use Context::open where processes are to come and go"});
  const auto contact = job::ContactName::decode(name);
  const auto chosen = job::choose_network(networks_, uid_, contact);
  if (!chosen) return std::unexpected(chosen.error());
  const auto rank = engine_->add_peer(contact.uid, *chosen);
  if (!rank) return std::unexpected(rank.error());
  return Rank{*rank};
}

std::unexpected<Error> Context::State::refuse_in_open_world(const char* what) const {
  return std::unexpected(
      Error{.code = ErrorCode::unsupported,
            .fact = std::string(what) + " needs ranks that all processes agree on, and an open world has none",
            .remedy = "join a job, or build it from messages"});
}

Result<Context> Context::open(const Options& options) {
  return unless_out_of_memory([&]() -> Result<Context> {
    auto state = State::open(options, job::draw_uid());
    if (!state) return std::unexpected(std::move(state.error()));
    return Context(std::move(*state));
  });
}

Result<Name> Context::name() const {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  return unless_out_of_memory([&] { return state_->name(); });
}

Result<Rank> Context::add_peer(const Name& name) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  return unless_out_of_memory([&] { return state_->add_peer(name); });
}

Result<void> Context::remove_peer(Rank rank) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  return unless_out_of_memory([&]() -> Result<void> {
    if (!state_->is_open())
      return std::unexpected(Error{.code = ErrorCode::unsupported,
                                   .fact = "the processes of a job cannot be removed",
                                   .remedy = "let them leave"});
    return state_->engine().remove_peer(static_cast<std::uint32_t>(rank));
  });
}

} // namespace heddle

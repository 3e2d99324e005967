#include "launch/identity.hpp"

#include <array>
#include <optional>
#include <string_view>

#include "base/number_text.hpp"
#include "launch/slurm.hpp"
#include "store/memcached.hpp"

namespace heddle::launch {
namespace {

using base::Environment;

struct Trace {
  std::string_view variable;
  std::string_view launcher;
};

// Of launchers that are not served, or only with more than this.
constexpr std::array<Trace, 7> kTraces{{{"PALS_RANKID", "PALS"},
                                        {"MV2_COMM_WORLD_RANK", "MVAPICH's mpirun"},
                                        {"PMIX_RANK", "a PMIx launcher"},
                                        {"OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"},
                                        {"PMI_RANK", "a PMI launcher"},
                                        {"MPI_LOCALRANKID", kHydra},
                                        {"SLURM_PROCID", "Slurm"}}};

constexpr std::string_view kRemedy =
    "start the program with: heddle run -n N PROGRAM, srun or mpiexec (docs/launching.md); or set the option single "
    "for a "
    "job of one process";

std::unexpected<Error> no_launcher(std::string fact, std::string_view remedy = kRemedy) {
  return std::unexpected(Error{.code = ErrorCode::no_launcher, .fact = std::move(fact), .remedy = std::string(remedy)});
}

std::optional<std::uint32_t> as_number(std::string_view text) {
  return base::number_in<std::uint32_t>(text);
}
std::optional<std::uint32_t> number_of(const Environment& environment, std::string_view name) {
  const auto text = environment.lookup(name);
  return text ? as_number(*text) : std::nullopt;
}

std::string text_of(const Environment& environment, std::string_view name) {
  return std::string(environment.lookup(name).value_or(""));
}

// "PMI_FD=13", cut where it is long.
std::string seen(const Environment& environment, std::string_view name) {
  return std::string(name) + "=" + text_of(environment, name).substr(0, 40);
}

std::string_view pmi_variable(const Environment& environment) {
  return environment.lookup("PMI_FD") ? "PMI_FD" : environment.lookup("PMI_PORT") ? "PMI_PORT" : "";
}

// Whether all processes of a job are on one node, by two numbers that launchers give.
std::uint32_t nodes_by(const Environment& environment, std::string_view here, std::string_view all) {
  const auto some = number_of(environment, here);
  return some && some == number_of(environment, all) ? 1 : 0;
}

std::optional<Error> of_batch_script(const Environment& environment) {
  if (!is_of_slurm_script(environment)) return std::nullopt;
  return Error{.code = ErrorCode::no_launcher,
               .fact = "started by Slurm (" + seen(environment, "SLURM_PROCID") +
                       "), but by the script of a job, not as one of its tasks",
               .remedy = "start it there by: srun --mpi=pmi2 PROGRAM, or heddle run PROGRAM (docs/launching.md)"};
}

Result<JobIdentity> without_launcher(const Environment& environment, const base::Settings& settings) {
  for (const Trace& trace : kTraces) {
    if (!environment.lookup(trace.variable)) continue;
    // A shell inside an allocation may well start a job of one process; half of another launcher's variables is a job that has lost its way.
    const bool slurm = trace.variable == "SLURM_PROCID";
    if (slurm && settings.single) continue;
    if (slurm)
      if (auto script = of_batch_script(environment)) return std::unexpected(std::move(*script));
    return no_launcher("started by " + std::string(trace.launcher) + " (" + seen(environment, trace.variable) +
                       "), but there is no way to meet the other processes (neither PMI_FD, PMI_PORT, PMIX_NAMESPACE "
                       "nor SLURM_STEP_ID is set, nor HEDDLE_RANK)");
  }
  if (settings.single) return JobIdentity{};
  return no_launcher("not started by a launcher (HEDDLE_RANK is not set)");
}

Result<JobIdentity> of_heddle_run(const Environment& environment, const base::Settings& settings) {
  const auto rank_text = environment.lookup("HEDDLE_RANK");
  const auto size_text = environment.lookup("HEDDLE_SIZE");
  const auto job = environment.lookup("HEDDLE_JOB");
  constexpr std::string_view kIncomplete =
      "HEDDLE_RANK, HEDDLE_SIZE, HEDDLE_JOB and HEDDLE_STORE are set by heddle run";
  if (!rank_text) return no_launcher("HEDDLE_RANK is not set, though other variables of the launcher are", kIncomplete);
  if (!size_text) return no_launcher("HEDDLE_SIZE is not set, though other variables of the launcher are", kIncomplete);
  if (!job) return no_launcher("HEDDLE_JOB is not set, though other variables of the launcher are", kIncomplete);
  if (settings.store.empty()) {
    return no_launcher("HEDDLE_STORE is not set, though other variables of the launcher are", kIncomplete);
  }
  const auto rank = as_number(*rank_text);
  const auto size = as_number(*size_text);
  if (!rank || !size || *rank >= *size) {
    return no_launcher("HEDDLE_RANK=" + std::string(rank_text->substr(0, 40)) +
                           " and HEDDLE_SIZE=" + std::string(size_text->substr(0, 40)) +
                           " are not a rank and a size: expected 0 <= rank < size",
                       kIncomplete);
  }
  return JobIdentity{.meeting = Meeting::store,
                     .rank = *rank,
                     .size = *size,
                     .job = std::string(*job),
                     .store = settings.store,
                     .launcher = "heddle run",
                     .evidence = seen(environment, "HEDDLE_RANK")};
}

Result<JobIdentity> of_pmi(const Environment& environment, std::uint32_t version) {
  const std::string_view variable = pmi_variable(environment);
  if (variable.empty())
    return no_launcher("PMI was asked for by option store, but neither PMI_FD nor PMI_PORT is set",
                       "start the program with mpiexec.hydra or srun --mpi=pmi2");
  JobIdentity identity{.meeting = Meeting::pmi, .size = 0};
  identity.evidence = seen(environment, variable);
  const std::string type = text_of(environment, "SLURM_MPI_TYPE");
  identity.launcher = type.starts_with("pmi")                 ? "Slurm (srun --mpi=" + type + ")"
                      : environment.lookup("MPI_LOCALRANKID") ? std::string(kHydra)
                                                              : "a PMI launcher";
  store::Pmi::Place& place = identity.pmi;
  place.version = version;
  place.job = text_of(environment, "PMI_JOBID");
  const auto rank = number_of(environment, "PMI_RANK");
  const auto size = number_of(environment, "PMI_SIZE");
  if (variable == "PMI_FD") {
    const auto descriptor = number_of(environment, "PMI_FD");
    if (!descriptor || *descriptor > 1 << 20 || !rank || !size || *rank >= *size)
      return no_launcher(seen(environment, "PMI_FD") + ", " + seen(environment, "PMI_RANK") + " and " +
                             seen(environment, "PMI_SIZE") + " are not a descriptor, a rank and a size",
                         "all three are set by mpiexec.hydra and srun --mpi=pmi2");
    place.descriptor = static_cast<int>(*descriptor);
    identity.rank = place.rank = *rank;
    identity.size = place.size = *size;
  } else {
    place.port = text_of(environment, "PMI_PORT");
    place.id = text_of(environment, "PMI_ID");
    const auto number = as_number(place.id);
    if (!number)
      return no_launcher("PMI_PORT is set, and " + seen(environment, "PMI_ID") + " is no number",
                         "both are set by mpiexec.hydra -pmi-port");
    identity.rank = *number;
  }
  identity.placement.nodes = nodes_by(environment, "MPI_LOCALNRANKS", "PMI_SIZE");
  return identity;
}

Result<JobIdentity> of_pmix(const Environment& environment) {
  const auto rank = number_of(environment, "PMIX_RANK");
  if (!rank || !environment.lookup("PMIX_NAMESPACE"))
    return no_launcher(seen(environment, "PMIX_RANK") + " and " + seen(environment, "PMIX_NAMESPACE") +
                           " are not what a PMIx launcher sets",
                       "start the program with mpirun or srun --mpi=pmix");
  return JobIdentity{
      .meeting = Meeting::pmix,
      .rank = *rank,
      .size = 0,
      .placement = {.nodes = nodes_by(environment, "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"), .node = {}},
      .launcher = environment.lookup("OMPI_COMM_WORLD_RANK")           ? "Open MPI's mpirun"
                  : environment.lookup("SLURM_PMIXP_ABORT_AGENT_PORT") ? "Slurm (srun --mpi=pmix)"
                                                                       : "a PMIx launcher",
      .evidence = seen(environment, "PMIX_NAMESPACE")};
}

Result<JobIdentity> of_slurm(const SlurmStep& step, const base::Settings& settings) {
  JobIdentity identity{.meeting = Meeting::agreed,
                       .rank = step.rank,
                       .size = step.size,
                       .job = "slurm-" + step.name,
                       .store = settings.store,
                       .launcher = "Slurm (srun --mpi=none)",
                       .evidence = "SLURM_PROCID=" + std::to_string(step.rank)};
  if (!identity.store.empty()) return identity;
  const auto place = step.meeting_place();
  if (!place)
    return no_launcher(
        "the first node of this step of Slurm is not known: SLURM_STEP_NODELIST is no list that can be read here",
        "say where rank 0 is: HEDDLE_STORE=tcp:HOST:PORT, with a port that is free there; or use srun --mpi=pmi2");
  identity.store = *place;
  return identity;
}

// Option store with a launcher that has a board of its own: only a memcached can be meant instead. The launcher says who this is.
Result<JobIdentity> of_memcached(const Environment& environment, Result<JobIdentity> launched,
                                 const base::Settings& settings) {
  if (!launched) return launched;
  if (!settings.store.starts_with(store::kByMemcached))
    return no_launcher("option store is '" + settings.store.substr(0, 80) + "', and " + launched->launcher + " (" +
                           launched->evidence + ") has a store of its own",
                       "take HEDDLE_STORE away; or say memcached:HOST:PORT");
  const auto step = SlurmStep::of(environment);
  if (launched->size == 0) launched->size = number_of(environment, "OMPI_COMM_WORLD_SIZE").value_or(0);
  if (launched->size == 0 && step && step->rank == launched->rank) launched->size = step->size;
  if (!launched->pmi.port.empty() || launched->rank >= launched->size)
    return no_launcher(launched->launcher + " (" + launched->evidence + ") says rank and size only on its own board",
                       "set HEDDLE_RANK, HEDDLE_SIZE and HEDDLE_JOB to meet in a memcached");
  launched->job = text_of(environment, "HEDDLE_JOB");
  if (launched->job.empty() && step && step->size == launched->size) launched->job = "slurm-" + step->name;
  if (launched->job.empty())
    return no_launcher("HEDDLE_JOB is not set: in a memcached each job needs a name of its own",
                       "set it for all processes of the job, such as to what openssl rand -hex 8 says");
  launched->store = settings.store;
  launched->meeting = Meeting::memcached;
  return launched;
}

std::unexpected<Error> two_at_once(const std::string& one, const std::string& other, std::string_view remedy) {
  return no_launcher("two launchers have left their marks: " + one + " and " + other, remedy);
}

// Who is taken, without the secret and what Slurm knows besides.
Result<JobIdentity> choose(const Environment& environment, const base::Settings& settings) {
  const std::string& store = settings.store;
  const bool ours =
      environment.lookup("HEDDLE_RANK") || environment.lookup("HEDDLE_SIZE") || environment.lookup("HEDDLE_JOB");
  const std::string pmi(pmi_variable(environment));
  const bool pmix = environment.lookup("PMIX_NAMESPACE").has_value();
  if (store == "pmi") return of_pmi(environment, 0);
  if (store == "pmi1") return of_pmi(environment, 1);
  if (store == "pmi2") return of_pmi(environment, 2);
  if (store == "pmix") return of_pmix(environment);
  const bool by_memcached = store.starts_with(store::kByMemcached); // who says so says who it is, too
  if (ours && !by_memcached && (!pmi.empty() || pmix))
    return two_at_once(
        "HEDDLE_RANK", pmi.empty() ? "PMIX_NAMESPACE" : pmi,
        "start it with one of them; or say which by HEDDLE_STORE=pmi or pmix, or take away the variables "
        "of the other");
  const bool named = by_memcached && !environment.lookup("HEDDLE_RANK") && !environment.lookup("HEDDLE_SIZE") &&
                     (!pmi.empty() || pmix); // a name is all that is ours
  if (ours && !named) return of_heddle_run(environment, settings);
  if (!pmi.empty() && pmix)
    return two_at_once(seen(environment, pmi), seen(environment, "PMIX_NAMESPACE"),
                       "say which by HEDDLE_STORE=pmi or HEDDLE_STORE=pmix");
  if (!pmi.empty() || pmix) {
    auto launched = pmix ? of_pmix(environment) : of_pmi(environment, 0);
    return store.empty() ? std::move(launched) : of_memcached(environment, std::move(launched), settings);
  }
  if (const auto step = SlurmStep::of(environment)) return of_slurm(*step, settings);
  return without_launcher(environment, settings);
}

} // namespace

Result<void> check_size(std::uint32_t size, const std::string& launcher) {
  if (size <= kLargestJob) return {};
  return no_launcher(launcher + " says that the job has " + std::to_string(size) + " processes",
                     "expected " + std::to_string(kLargestJob) + " at most");
}

Result<JobIdentity> detect(const Environment& environment, const base::Settings& settings) {
  auto identity = choose(environment, settings);
  if (!identity || identity->single()) return identity;
  if (auto sound = check_size(identity->size, identity->launcher + " (" + identity->evidence + ")"); !sound)
    return std::unexpected(std::move(sound.error()));
  const bool names_it = identity->meeting == Meeting::store || identity->meeting == Meeting::agreed;
  if (names_it && identity->store.starts_with(store::kByMemcached)) {
    if (identity->meeting == Meeting::store) identity->launcher = "a launcher that sets HEDDLE_RANK";
    identity->meeting = Meeting::memcached;
  }
  auto secret = auth::Secret::of(environment);
  if (!secret) return std::unexpected(std::move(secret.error()));
  identity->secret = *secret;
  if (identity->meeting == Meeting::store) return identity;
  // Also where others use Slurm to start their own: then it says of the node what they do not.
  if (const auto node = environment.lookup("SLURMD_NODENAME")) identity->placement.node = *node;
  if (const auto step = SlurmStep::of(environment); step && step->size == identity->size && step->nodes > 0)
    identity->placement.nodes = step->nodes;
  return identity;
}

} // namespace heddle::launch

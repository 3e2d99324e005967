#include "launch/identity.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "store/client.hpp"
#include "store/in_memory.hpp"

namespace heddle::launch {
namespace {

struct Trace {
  std::string_view variable;
  std::string_view launcher;
};

// Most specific first: Open MPI's mpirun sets PMIX_RANK too, srun may set PMI_RANK.
constexpr std::array<Trace, 7> kTraces{{{"OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"},
                                        {"SLURM_PROCID", "Slurm"},
                                        {"PALS_RANKID", "PALS"},
                                        {"MV2_COMM_WORLD_RANK", "MVAPICH's mpirun"},
                                        {"PMIX_RANK", "a PMIx launcher"},
                                        {"PMI_RANK", "a PMI launcher (Hydra's mpiexec)"},
                                        {"MPI_LOCALRANKID", "Hydra's mpiexec"}}};

constexpr std::string_view kRemedy =
    "start the program with: heddle run -n N PROGRAM; or set the option single for a job of one process";

std::unexpected<Error> no_launcher(std::string fact, std::string_view remedy = kRemedy) {
  return std::unexpected(Error{.code = ErrorCode::no_launcher, .fact = std::move(fact), .remedy = std::string(remedy)});
}

std::optional<std::uint32_t> as_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<JobIdentity> without_launcher(const base::Environment& environment, const base::Settings& settings) {
  if (settings.single) return JobIdentity{};
  for (const Trace& trace : kTraces) {
    if (const auto value = environment.lookup(trace.variable)) {
      return no_launcher("started by " + std::string(trace.launcher) + " (" + std::string(trace.variable) + "=" +
                         std::string(value->substr(0, 40)) +
                         "), but there is no Heddle store (HEDDLE_RANK and HEDDLE_STORE are not set)");
    }
  }
  return no_launcher("not started by a launcher (HEDDLE_RANK is not set)");
}

} // namespace

Result<JobIdentity> detect(const base::Environment& environment, const base::Settings& settings) {
  const auto rank_text = environment.lookup("HEDDLE_RANK");
  const auto size_text = environment.lookup("HEDDLE_SIZE");
  const auto job = environment.lookup("HEDDLE_JOB");
  if (!rank_text && !size_text && !job) return without_launcher(environment, settings);

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
  const auto secret = auth::Secret::of(environment);
  if (!secret) return std::unexpected(secret.error());
  return JobIdentity{
      .rank = *rank, .size = *size, .job = std::string(*job), .store = settings.store, .secret = *secret};
}

Result<std::unique_ptr<store::Store>> open_store(const JobIdentity& identity, base::Deadline deadline) {
  if (identity.single()) return std::make_unique<store::InMemoryStore>(std::make_shared<store::Board>(1), 0);
  auto client = store::Client::connect({.address = identity.store,
                                        .job = identity.job,
                                        .rank = identity.rank,
                                        .size = identity.size,
                                        .secret = identity.secret},
                                       deadline);
  if (!client) return std::unexpected(std::move(client).error());
  return std::move(*client);
}

} // namespace heddle::launch

#include "launch/identity.hpp"

#include "launch/meeting.hpp"

#include <gtest/gtest.h>

namespace heddle::launch {
namespace {

using base::Environment;
using base::Settings;

Settings with_store() {
  Settings settings;
  settings.store = "unix:@heddle-x";
  return settings;
}

TEST(Identity, ReadsWhatHeddleRunSets) {
  const auto identity =
      detect(Environment::of({{"HEDDLE_RANK", "2"}, {"HEDDLE_SIZE", "4"}, {"HEDDLE_JOB", "x"}}), with_store());
  ASSERT_TRUE(identity) << identity.error().message();
  EXPECT_EQ(identity->rank, 2U);
  EXPECT_EQ(identity->size, 4U);
  EXPECT_EQ(identity->job, "x");
  EXPECT_EQ(identity->store, "unix:@heddle-x");
  EXPECT_FALSE(identity->single());
}

TEST(Identity, IsSingleOnlyOnRequest) {
  Settings settings;
  EXPECT_EQ(detect(Environment{}, settings).error().code, ErrorCode::no_launcher);
  settings.single = true;
  const auto identity = detect(Environment{}, settings);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->size, 1U);
  EXPECT_TRUE(identity->single());
}

TEST(Identity, JoinsTheLaunchersJobEvenWhereSingleIsAllowed) {
  Settings settings = with_store();
  settings.single = true;
  const auto identity =
      detect(Environment::of({{"HEDDLE_RANK", "1"}, {"HEDDLE_SIZE", "2"}, {"HEDDLE_JOB", "x"}}), settings);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->size, 2U);
}

TEST(Identity, NamesTheLauncherItCannotServe) {
  for (const char* variable : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID"}) {
    const auto other = detect(Environment::of({{variable, "3"}}), Settings{});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::no_launcher);
    EXPECT_TRUE(other.error().fact.contains(std::string(variable) + "=3")) << other.error().fact;
  }
}

TEST(Identity, FindsPmiByADescriptor) {
  const auto identity = detect(
      Environment::of(
          {{"PMI_FD", "13"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}}),
      Settings{});
  ASSERT_TRUE(identity) << identity.error().message();
  EXPECT_EQ(identity->meeting, Meeting::pmi);
  EXPECT_EQ(identity->rank, 2U);
  EXPECT_EQ(identity->size, 3U);
  EXPECT_EQ(identity->pmi.descriptor, 13);
  EXPECT_EQ(identity->placement.nodes, 1U);
  EXPECT_EQ(identity->launcher, "Hydra's mpiexec");
  EXPECT_EQ(identity->evidence, "PMI_FD=13");
}

TEST(Identity, FindsPmiByAPort) {
  const auto identity = detect(Environment::of({{"PMI_PORT", "10.0.0.1:4000"}, {"PMI_ID", "5"}}), Settings{});
  ASSERT_TRUE(identity) << identity.error().message();
  EXPECT_EQ(identity->pmi.port, "10.0.0.1:4000");
  EXPECT_EQ(identity->pmi.id, "5");
  EXPECT_EQ(identity->size, 0U);
}

TEST(Identity, RefusesHalfOfPmi) {
  EXPECT_FALSE(detect(Environment::of({{"PMI_FD", "13"}, {"PMI_RANK", "2"}}), Settings{}));
  EXPECT_FALSE(detect(Environment::of({{"PMI_FD", "x"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}), Settings{}));
  EXPECT_FALSE(detect(Environment::of({{"PMI_FD", "13"}, {"PMI_RANK", "3"}, {"PMI_SIZE", "3"}}), Settings{}));
  EXPECT_FALSE(detect(Environment::of({{"PMI_PORT", "10.0.0.1:4000"}}), Settings{}));
  EXPECT_FALSE(detect(Environment::of({{"PMIX_NAMESPACE", "x"}}), Settings{}));
}

const std::vector<Environment::Variable> kTask{{"SLURM_PROCID", "1"},
                                               {"SLURM_STEP_ID", "0"},
                                               {"SLURM_STEP_NUM_TASKS", "4"},
                                               {"SLURM_JOB_ID", "7"},
                                               {"SLURM_CLUSTER_NAME", "c"},
                                               {"SLURM_STEP_NUM_NODES", "2"},
                                               {"SLURM_STEP_NODELIST", "n[3-4]"},
                                               {"SLURMD_NODENAME", "n4"}};

std::vector<Environment::Variable> task_and(const std::vector<Environment::Variable>& more) {
  std::vector<Environment::Variable> all = kTask;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Identity, FindsATaskOfSlurm) {
  const auto identity = detect(Environment::of(kTask), Settings{});
  ASSERT_TRUE(identity) << identity.error().message();
  EXPECT_EQ(identity->meeting, Meeting::agreed);
  EXPECT_EQ(identity->rank, 1U);
  EXPECT_EQ(identity->size, 4U);
  EXPECT_EQ(identity->placement.nodes, 2U);
  EXPECT_EQ(identity->placement.node, "n4");
  EXPECT_TRUE(identity->store.starts_with("tcp:n3:2")) << identity->store;
  Settings told;
  told.store = "tcp:elsewhere:4000";
  EXPECT_EQ(detect(Environment::of(kTask), told)->store, "tcp:elsewhere:4000");
}

TEST(Identity, TakesABatchScriptForNoTask) {
  auto script = kTask;
  script[1].second = "4294967291";
  EXPECT_FALSE(detect(Environment::of(script), Settings{}));
}

TEST(Identity, TellsAProgramOfABatchScriptToUseSrun) {
  std::vector<Environment::Variable> script{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}};
  for (const char* step : {"", "4294967291"}) { // none, or one that is none of tasks
    if (*step != 0) script.emplace_back("SLURM_STEP_ID", step);
    const auto identity = detect(Environment::of(script), Settings{});
    ASSERT_FALSE(identity);
    EXPECT_EQ(identity.error().fact,
              "started by Slurm (SLURM_PROCID=0), but by the script of a job, not as one of its tasks");
    EXPECT_TRUE(identity.error().remedy.contains("srun")) << identity.error().remedy;
  }
}

TEST(Identity, TakesHalfOfALaunchersVariablesForNoJobOfOne) {
  Settings settings;
  settings.single = true;
  for (const char* variable : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}) {
    const auto half = detect(Environment::of({{variable, "3"}}), settings);
    ASSERT_FALSE(half) << variable;
    EXPECT_TRUE(half.error().fact.contains(std::string(variable) + "=3")) << half.error().fact;
  }
  // A shell of salloc's, or a script of sbatch's, which asks for it:
  const auto shell = detect(Environment::of({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}}), settings);
  ASSERT_TRUE(shell) << shell.error().message();
  EXPECT_TRUE(shell->single());
}

TEST(Identity, AsksForAPlaceWhereTheNodesOfAStepCannotBeRead) {
  auto odd = kTask;
  for (auto& [name, value] : odd)
    if (name == "SLURM_STEP_NODELIST") value = "rack[1-2]n[1-4]";
  const auto nowhere = detect(Environment::of(odd), Settings{});
  ASSERT_FALSE(nowhere);
  EXPECT_TRUE(nowhere.error().remedy.contains("HEDDLE_STORE=tcp:HOST:PORT")) << nowhere.error().message();
  Settings told;
  told.store = "tcp:rack1n1:4000";
  EXPECT_TRUE(detect(Environment::of(odd), told));
  for (auto& [name, value] : odd)
    if (name == "SLURM_STEP_NUM_NODES") value = "1";
  EXPECT_EQ(detect(Environment::of(odd), Settings{})->store, "unix:@heddle-c-7.0");
}

TEST(Identity, TakesRankAndSizeFromTheLauncherAlsoForAMemcached) {
  const std::vector<Environment::Variable> hydra{{"PMI_FD", "13"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}};
  const std::vector<Environment::Variable> named{
      {"PMI_FD", "13"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"HEDDLE_JOB", "j"}};
  Settings settings;
  settings.store = "memcached:host:11211";
  const auto by_pmi = detect(Environment::of(named), settings);
  ASSERT_TRUE(by_pmi) << by_pmi.error().message();
  EXPECT_EQ(by_pmi->meeting, Meeting::memcached);
  EXPECT_EQ(by_pmi->rank, 2U);
  EXPECT_EQ(by_pmi->size, 3U);
  EXPECT_EQ(by_pmi->job, "j");
  EXPECT_EQ(by_pmi->store, "memcached:host:11211");
  const auto by_pmix =
      detect(Environment::of(
                 {{"PMIX_NAMESPACE", "x"}, {"PMIX_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"HEDDLE_JOB", "j"}}),
             settings);
  ASSERT_TRUE(by_pmix) << by_pmix.error().message();
  EXPECT_EQ(by_pmix->meeting, Meeting::memcached);
  EXPECT_EQ(by_pmix->rank, 1U);
  EXPECT_EQ(by_pmix->size, 4U);
  const auto unnamed = detect(Environment::of(hydra), settings);
  ASSERT_FALSE(unnamed);
  EXPECT_TRUE(unnamed.error().fact.starts_with("HEDDLE_JOB is not set")) << unnamed.error().fact;
  const auto by_port = detect(Environment::of({{"PMI_PORT", "h:1"}, {"PMI_ID", "0"}, {"HEDDLE_JOB", "j"}}), settings);
  ASSERT_FALSE(by_port);
  EXPECT_TRUE(by_port.error().remedy.contains("HEDDLE_RANK")) << by_port.error().message();
  settings.store = "tcp:host:4000";
  const auto by_tcp = detect(Environment::of(hydra), settings);
  ASSERT_FALSE(by_tcp);
  EXPECT_EQ(by_tcp.error().fact,
            "option store is 'tcp:host:4000', and a PMI launcher (PMI_FD=13) has a store of its own");
}

TEST(Identity, TakesTheLauncherThatSlurmHasStartedBeforeSlurm) {
  const auto hydra =
      detect(Environment::of(task_and({{"PMI_FD", "13"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "8"}})), Settings{});
  ASSERT_TRUE(hydra);
  EXPECT_EQ(hydra->meeting, Meeting::pmi);
  EXPECT_EQ(hydra->placement.nodes, 0U); // of another job than the step
  EXPECT_EQ(hydra->placement.node, "n4");
  const auto ours = detect(Environment::of(task_and({{"HEDDLE_RANK", "0"}, {"HEDDLE_SIZE", "1"}, {"HEDDLE_JOB", "x"}})),
                           with_store());
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->meeting, Meeting::store);
}

TEST(Identity, MeetsInAMemcachedWhereToldTo) {
  Settings settings;
  settings.store = "memcached:host:11211";
  const auto by_hand = detect(
      Environment::of({{"HEDDLE_RANK", "0"}, {"HEDDLE_SIZE", "1"}, {"HEDDLE_JOB", "x"}, {"PMI_FD", "13"}}), settings);
  ASSERT_TRUE(by_hand) << by_hand.error().message();
  EXPECT_EQ(by_hand->meeting, Meeting::memcached);
  const auto task = detect(Environment::of(kTask), settings);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->meeting, Meeting::memcached);
  EXPECT_EQ(task->job, "slurm-c-7.0");
}

TEST(Identity, RefusesTwoLaunchersAtOnceUnlessOneIsNamed) {
  const Environment both = Environment::of(
      {{"PMI_FD", "13"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMIX_NAMESPACE", "x.1"}, {"PMIX_RANK", "3"}});
  const auto refused = detect(both, Settings{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fact, "two launchers have left their marks: PMI_FD=13 and PMIX_NAMESPACE=x.1");
  EXPECT_EQ(refused.error().remedy, "say which by HEDDLE_STORE=pmi or HEDDLE_STORE=pmix");
  Settings named;
  named.store = "pmi";
  EXPECT_EQ(detect(both, named)->meeting, Meeting::pmi);
  named.store = "pmix";
  EXPECT_EQ(detect(both, named)->rank, 3U);
  const auto nested =
      detect(Environment::of({{"HEDDLE_RANK", "0"}, {"HEDDLE_SIZE", "1"}, {"HEDDLE_JOB", "x"}, {"PMI_FD", "13"}}),
             with_store());
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().fact, "two launchers have left their marks: HEDDLE_RANK and PMI_FD");
}

TEST(Identity, NamesWhatIsMissingOfAnIncompleteEnvironment) {
  const auto missing = [](std::vector<Environment::Variable> variables, const Settings& settings) {
    return detect(Environment::of(std::move(variables)), settings).error().fact.substr(0, 11);
  };
  EXPECT_EQ(missing({{"HEDDLE_SIZE", "2"}, {"HEDDLE_JOB", "x"}}, with_store()), "HEDDLE_RANK");
  EXPECT_EQ(missing({{"HEDDLE_RANK", "0"}, {"HEDDLE_JOB", "x"}}, with_store()), "HEDDLE_SIZE");
  EXPECT_EQ(missing({{"HEDDLE_RANK", "0"}, {"HEDDLE_SIZE", "2"}}, with_store()), "HEDDLE_JOB ");
  EXPECT_EQ(missing({{"HEDDLE_RANK", "0"}, {"HEDDLE_SIZE", "2"}, {"HEDDLE_JOB", "x"}}, Settings{}), "HEDDLE_STOR");
}

TEST(Identity, RefusesNumbersThatAreNone) {
  for (const auto& [rank, size] :
       {std::pair{"2", "2"}, {"-1", "2"}, {"", "2"}, {"0", "0"}, {"0", "2x"}, {"0", "99999999999"}}) {
    EXPECT_FALSE(
        detect(Environment::of({{"HEDDLE_RANK", rank}, {"HEDDLE_SIZE", size}, {"HEDDLE_JOB", "x"}}), with_store()))
        << rank << " of " << size;
  }
}

TEST(Identity, RefusesAJobOfMoreProcessesThanThereCanBe) {
  const auto identity = detect(Environment::of({{"PMI_FD", "3"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4294967295"}}), {});
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().fact, "a PMI launcher (PMI_FD=3) says that the job has 4294967295 processes");
  EXPECT_EQ(identity.error().remedy, "expected 1048576 at most");
}

TEST(Identity, OpensAStoreOfItsOwnForASingleProcess) {
  const auto admission = enter_store(JobIdentity{}, {}, base::Deadline::max());
  ASSERT_TRUE(admission);
  EXPECT_EQ(admission->store->size(), 1U);
}

} // namespace
} // namespace heddle::launch

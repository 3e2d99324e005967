#include "launch/identity.hpp"

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
  const auto identity = detect(Environment::of({{"SLURM_PROCID", "3"}, {"PMI_RANK", "3"}}), Settings{});
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().code, ErrorCode::no_launcher);
  EXPECT_EQ(identity.error().fact,
            "started by Slurm (SLURM_PROCID=3), but there is no Heddle store (HEDDLE_RANK and HEDDLE_STORE are not "
            "set)");
  for (const char* variable : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}) {
    const auto other = detect(Environment::of({{variable, "0"}}), Settings{});
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().fact.find(variable), std::string::npos);
  }
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

TEST(Identity, OpensAStoreOfItsOwnForASingleProcess) {
  const auto store = open_store(JobIdentity{}, base::Deadline::max());
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->size(), 1U);
}

} // namespace
} // namespace heddle::launch

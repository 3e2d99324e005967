#include "job/inspection.hpp"

#include <gtest/gtest.h>

namespace heddle::job {
namespace {

using base::Environment;

TEST(Inspection, HandsATranslatorItsOwnOptions) {
  const auto found = inspect({.translator_options = {{"shm.cross_memory", "off"}}}, Environment{});
  ASSERT_TRUE(found) << found.error().message();
  const TranslatorReport& shm = found->translators.front();
  ASSERT_TRUE(shm.capabilities) << shm.refusal.message();
  EXPECT_FALSE(shm.capabilities->reads_any_memory);
  EXPECT_NE(shm.remark.find("option shm.cross_memory is off"), std::string::npos) << shm.remark;
}

TEST(Inspection, RefusesATranslatorThatIsNamedTwice) {
  for (const char* names : {"shm,shm", "shm,,shm,", "shm,shm,shm,shm,shm,shm,shm,shm,shm"}) {
    const auto found = inspect({.translators = names}, Environment{});
    ASSERT_FALSE(found) << names;
    EXPECT_EQ(found.error().message(),
              "bad_option: option translators names 'shm' twice (remedy: name each once, in order of preference)");
  }
}

} // namespace
} // namespace heddle::job

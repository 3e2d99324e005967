#include "job/registry.hpp"

#include "base/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace heddle::job {
namespace {

TEST(Registry, HasASectionForEachTranslator) {
  ASSERT_EQ(sections().size(), registry().size());
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < registry().size(); ++i) {
    EXPECT_EQ(sections()[i].name, registry()[i].name);
    EXPECT_TRUE(names.insert(registry()[i].name).second) << registry()[i].name;
  }
}

TEST(Registry, CanReadEveryDefaultThatATranslatorDeclares) {
  for (const base::Section& section : sections())
    for (const base::SectionOption& option : section.options) {
      SCOPED_TRACE(std::string(section.name) + "." + std::string(option.name));
      EXPECT_TRUE(base::Values(section).assign(option, option.initial));
      EXPECT_EQ(option.kind == base::SectionOption::Kind::choice, !option.words.empty());
      for (const std::string_view word : option.words) EXPECT_TRUE(option.expected.contains(word)) << word;
    }
}

TEST(Registry, SetsWhatSharedMemoryDeclares) {
  const Options code{.translator_options = {{"shm.cross_memory", "off"}}};
  const auto resolved = base::resolve(code, base::Environment{}, {}, sections());
  ASSERT_TRUE(resolved) << resolved.error().message();
  const auto& option = *std::ranges::find(resolved->list, "shm.cross_memory", &base::ResolvedOption::name);
  EXPECT_EQ(option.value, "off");
  EXPECT_EQ(option.origin, "code");
}

} // namespace
} // namespace heddle::job

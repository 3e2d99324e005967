#include "store/pmi_text.hpp"

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

using Nodes = std::vector<std::uint32_t>;

TEST(PmiText, ReadsFieldsInAnyOrder) {
  const PmiFields one = pmi_fields("cmd=get_result rc=0 msg=success value=a=b", ' ');
  EXPECT_EQ(one.at("cmd"), "get_result");
  EXPECT_EQ(one.at("value"), "a=b");
  EXPECT_EQ(pmi_fields("value=a=b msg=success rc=0 cmd=get_result", ' '), one);
  const PmiFields two = pmi_fields("cmd=kvs-get-response;found=TRUE;value=x;rc=0;", ';');
  EXPECT_EQ(two.size(), 4U);
  EXPECT_EQ(two.at("found"), "TRUE");
  EXPECT_TRUE(pmi_fields("", ' ').empty());
  EXPECT_TRUE(pmi_fields("  nothing  ", ' ').empty());
}

TEST(PmiText, ReadsWhereRanksRun) {
  EXPECT_EQ(pmi_nodes("(vector,(0,1,4))", 4), (Nodes{0, 0, 0, 0}));
  EXPECT_EQ(pmi_nodes("(vector,(0,1,1),(1,1,2))", 3), (Nodes{0, 1, 1}));
  EXPECT_EQ(pmi_nodes("(vector,(0,2,2))", 4), (Nodes{0, 0, 1, 1}));
  EXPECT_EQ(pmi_nodes("(vector,(0,2,1))", 4), (Nodes{0, 1, 0, 1})); // begins anew
  EXPECT_EQ(pmi_nodes("(vector,(0,1,9))", 2), (Nodes{0, 0}));
}

TEST(PmiText, TakesNothingFromWhatIsNoMapping) {
  for (const char* text :
       {"", "unknown", "(vector", "(vector,", "(vector,(0,1", "(vector,(0,0,0))", "(vector,(a,b,c))", "(vector,(0,1,1"})
    EXPECT_TRUE(pmi_nodes(text, 3).empty()) << text;
}

} // namespace
} // namespace heddle::store

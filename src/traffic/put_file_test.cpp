#include "traffic/put_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::traffic {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string fact(std::string_view text) {
  const auto puts = parse_puts(text);
  return puts ? "no error" : puts.error().fact;
}

TEST(PutFile, IsReadAsCsv) {
  const auto puts = parse_puts("\xef\xbb\xbf# halves\r\nbytes, to ,from\r\n64KiB,3,0\r\n\r\n \"8\" , 2,1\r\n");
  ASSERT_TRUE(puts) << puts.error().message();
  ASSERT_EQ(puts->size(), 2U);
  EXPECT_EQ((*puts)[0].bytes->value, 65536U);
  EXPECT_EQ((*puts)[0].to->value, 3U);
  EXPECT_EQ((*puts)[1].from->value, 1U);
  EXPECT_EQ((*puts)[1].to->place.line, 5U);
  EXPECT_EQ((*puts)[1].to->place.column, 8U);
}

TEST(PutFile, IsReadAsJson) {
  const auto puts = parse_puts(
      "[\n {\"direction\": \"north-west\", \"bytes\": 8},\n "
      "{\"to\":1,\"bytes\":\"1MiB\",\"from\":null}]\n");
  ASSERT_TRUE(puts) << puts.error().message();
  ASSERT_EQ(puts->size(), 2U);
  EXPECT_EQ((*puts)[0].direction->value, "north-west");
  EXPECT_EQ((*puts)[1].bytes->value, 1U << 20U);
  EXPECT_FALSE((*puts)[1].from);
}

TEST(PutFile, NamesLineAndColumnInCsv) {
  EXPECT_THAT(fact("from,too\n0,1\n"), StartsWith("line 1, column 6: no put has a 'too', did you mean to?"));
  EXPECT_THAT(fact("from;to;bytes\n0;1;8\n"), HasSubstr("expected commas"));
  EXPECT_THAT(fact("to,to\n1,1\n"), HasSubstr("line 1, column 4: two columns are called to"));
  EXPECT_THAT(fact("to,bytes\n1,8\n-2,8\n"), StartsWith("line 3, column 1: to is '-2': expected a number from 0"));
  EXPECT_THAT(fact("to,bytes\n1,1e3\n"), StartsWith("line 2, column 3: bytes is '1e3': expected a size"));
  EXPECT_THAT(fact("to,bytes\n1,99999999999999999999999\n"), StartsWith("line 2, column 3: bytes"));
  EXPECT_THAT(fact("to,bytes\n99999999999,1\n"), StartsWith("line 2, column 1: to is"));
  EXPECT_THAT(fact("to,bytes\n1\n"), StartsWith("line 2, column 1: 1 values for 2 columns"));
  EXPECT_THAT(fact("to,bytes\n1,2,3\n"), StartsWith("line 2, column 5: 3 values for 2 columns"));
  EXPECT_THAT(fact(std::string_view("to,bytes\n1,\0\n", 13)), StartsWith("line 2, column 3: a zero byte"));
  EXPECT_THAT(fact("to,bytes\n\"1,2\n"), StartsWith("line 2, column 1: a quote is opened"));
  EXPECT_THAT(fact("bytes\n8\n"), StartsWith("line 2, column 1: a put needs to or direction"));
  EXPECT_THAT(fact("to,direction\n1,east\n"), HasSubstr("not both"));
  EXPECT_THAT(fact("from,direction\n1,east\n"), HasSubstr("has no from"));
  EXPECT_THAT(fact(""), HasSubstr("no put"));
  EXPECT_THAT(fact("to,bytes\n"), HasSubstr("no put"));
}

TEST(PutFile, NamesLineAndColumnInJson) {
  EXPECT_THAT(fact("[{\"to\": 1},\n {\"to\": -1}]"), StartsWith("line 2, column 9: to is '-1'"));
  EXPECT_THAT(fact("[{\"to\": 1.5}]"), StartsWith("line 1, column 9: to is '1.5'"));
  EXPECT_THAT(fact("[{\"to\": [1]}]"), StartsWith("line 1, column 9: found '[': expected a number or a string"));
  EXPECT_THAT(fact("[{\"to\": true}]"), HasSubstr("expected a number or a string"));
  EXPECT_THAT(fact("[{\"to\": 1,}]"), StartsWith("line 1, column 11: found '}': expected a name"));
  EXPECT_THAT(fact("[{\"to\": 1}"), StartsWith("line 1, column 11: the text ends: expected , or ]"));
  EXPECT_THAT(fact("[{\"to\": 1}] x"), StartsWith("line 1, column 13: found 'x': expected nothing after"));
  EXPECT_THAT(fact("[{\"to\": 1, \"to\": 2}]"), StartsWith("line 1, column 18: to is given twice"));
  EXPECT_THAT(fact("[{\"tot\": 1}]"), HasSubstr("did you mean to?"));
  EXPECT_THAT(fact("{\"to\": 1}"), HasSubstr("expected an array"));
  EXPECT_THAT(fact("[[]]"), HasSubstr("expected an object"));
  EXPECT_THAT(fact("[{\"to"), HasSubstr("the text ends"));
  EXPECT_THAT(fact("[{\"t\no\": 1}]"), StartsWith("line 1, column 5"));
  EXPECT_THAT(fact("[]"), HasSubstr("no put"));
  EXPECT_THAT(fact("[{}]"), StartsWith("line 1, column 2: a put needs to or direction"));
}

TEST(PutFile, CountsColumnsInCharacters) {
  EXPECT_THAT(fact("direction,bytes\nö\xc3\xb6st,x\n"), StartsWith("line 2, column 6: bytes is 'x'"));
}

} // namespace
} // namespace heddle::traffic

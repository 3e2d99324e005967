#include "traffic/job_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::traffic {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string job_fact(std::string_view text) {
  const auto job = parse_job(text);
  return job ? "no error" : job.error().fact;
}

TEST(JobFile, IsReadInTheOrderOfEachRank) {
  const auto job = parse_job(
      "rank,does,with,bytes,tag,us\n1,receive,,64KiB,,\n0,compute,,,,12.5\n0,send,1,64KiB,7,\n1,wait,,,,\n0,wait,,,,"
      "\n");
  ASSERT_TRUE(job) << job.error().message();
  ASSERT_EQ(job->ranks.size(), 2U);
  ASSERT_EQ(job->ranks[0].size(), 3U);
  EXPECT_EQ(job->ranks[0][0].kind, JobStep::Kind::compute);
  EXPECT_EQ(job->ranks[0][0].us, 12.5);
  EXPECT_EQ(job->ranks[0][1].with, 1U);
  EXPECT_EQ(job->ranks[0][1].bytes, 65536U);
  EXPECT_EQ(job->ranks[0][1].tag, 7U);
  EXPECT_FALSE(job->ranks[1][0].with) << "from anybody";
}

TEST(JobFile, IsReadAsJsonToo) {
  const auto job = parse_job(R"([{"rank": 0, "does": "alltoall", "bytes": 64}, {"rank": 0, "does": "barrier"}])");
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->ranks[0][0].kind, JobStep::Kind::alltoall);
  EXPECT_EQ(job->ranks[0][1].kind, JobStep::Kind::barrier);
}

TEST(JobFile, IsWrittenAsItIsRead) {
  const std::string text = std::string(job_names()) +
                           "0,send,1,64,7,\n0,wait,,,,\n0,compute,,,,0.125\n0,barrier,,,,\n0,alltoall,,8,,\n"
                           "1,receive,,64,0,\n1,receive,0,64,7,\n";
  const auto job = parse_job(text);
  ASSERT_TRUE(job) << job.error().message();
  std::string written(job_names());
  for (const auto& steps : job->ranks)
    for (const JobStep& step : steps) written += to_text(step);
  EXPECT_EQ(written, text);
}

TEST(JobFile, NamesLineAndColumn) {
  const auto row = [](const std::string& line) { return job_fact("rank,does,with,bytes,tag,us\n" + line + "\n"); };
  EXPECT_THAT(row("0,sent,1,8,,"), StartsWith("line 2, column 3: does is 'sent', did you mean send?"));
  EXPECT_THAT(row("0,send,,8,,"), StartsWith("line 2, column 1: send needs with"));
  EXPECT_THAT(row("0,send,1,,,"), StartsWith("line 2, column 1: send needs bytes"));
  EXPECT_THAT(row("0,wait,1,,,"), StartsWith("line 2, column 8: wait has no with"));
  EXPECT_THAT(row("0,compute,,,,-1"), StartsWith("line 2, column 14: us is '-1'"));
  EXPECT_THAT(row("0,compute,,,,nan"), StartsWith("line 2, column 14: us is 'nan'"));
  EXPECT_THAT(row("0,send,1,8,-1,"), StartsWith("line 2, column 12: tag is '-1'"));
  EXPECT_THAT(row("0,send,3,8,,"), StartsWith("line 2, column 8: rank 3 does nothing in this file"));
  EXPECT_THAT(row("100000,wait,,,,"), StartsWith("line 2, column 1: rank is larger than 99999"));
  EXPECT_THAT(row(",wait,,,,"), HasSubstr("a step needs rank"));
  EXPECT_THAT(row("0,,,,,"), HasSubstr("a step needs does"));
  EXPECT_THAT(job_fact("rank,dose\n"), StartsWith("line 1, column 6: no step has a 'dose', did you mean does?"));
  EXPECT_THAT(job_fact(""), HasSubstr("no step"));
  EXPECT_THAT(job_fact("[{\"rank\": 0, \"rank\": 1, \"does\": \"wait\"}]"), HasSubstr("rank is given twice"));
}

} // namespace
} // namespace heddle::traffic

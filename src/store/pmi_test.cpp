// The client against a launcher that speaks by a script: what real ones (tests/launchers) do only when something is wrong with them.
#include "store/pmi.hpp"

#include "store/scripted_launcher_for_tests.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace heddle::store {
namespace {

base::Deadline patiently() {
  return base::deadline_in(std::chrono::seconds(60));
}

const Step kInit{"cmd=init pmi_version=1", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"};
const Step kSpace{"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=space\n"};
const Step kFence{"cmd=barrier_in", "cmd=barrier_out\n"};
// "00" in a note of one byte.
const Step kPut{"cmd=put kvsname=space key=heddle.k.0 value=0002:00\n", "cmd=put_result rc=0 msg=success\n"};
const Step kGet{"cmd=get kvsname=space key=heddle.k.0", "cmd=get_result rc=0 msg=success value=0002:00\n"};
const Step kFinalize{"cmd=finalize", "cmd=finalize_ack\n"};

void exchange(Pmi& board) {
  const auto put = board.put("k", Bytes(1), patiently());
  ASSERT_TRUE(put) << put.error().message();
  const auto fence = board.fence(patiently());
  ASSERT_TRUE(fence) << fence.error().message();
  const auto got = board.get("k", patiently());
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, Bytes(1));
  board.leave(patiently());
}

TEST(Pmi, TakesTheFieldsOfAnAnswerInAnyOrder) {
  const ScriptedLauncher launcher({{"cmd=init", "rc=0 pmi_subversion=1 cmd=response_to_init pmi_version=1\n"},
                                   {"cmd=get_my_kvsname", "kvsname=space rc=0 cmd=my_kvsname\n"},
                                   {kPut.hears, "msg=success cmd=put_result rc=0\n"},
                                   kFence,
                                   {kGet.hears, "value=0002:00 rc=0 cmd=get_result msg=success\n"},
                                   kFinalize});
  const auto board = Pmi::open(launcher.place(), patiently());
  ASSERT_TRUE(board) << board.error().message();
  EXPECT_EQ((*board)->rank(), 1U);
  EXPECT_EQ((*board)->size(), 2U);
  exchange(**board);
}

TEST(Pmi, WaitsForTheRestOfHalfAnAnswer) {
  const ScriptedLauncher launcher({kInit, kSpace, kPut, kFence, kGet, kFinalize}, Then::goes, 1);
  const auto board = Pmi::open(launcher.place(), patiently());
  ASSERT_TRUE(board) << board.error().message();
  exchange(**board);
}

std::string padded(const std::string& answer, bool left) {
  std::string length = std::to_string(answer.size());
  const std::string spaces(6 - length.size(), ' ');
  return (left ? spaces + length : length + spaces) + answer;
}

TEST(Pmi, TakesVersion2PaddedOnEitherSide) {
  for (const bool left : {true, false}) { // Hydra, Slurm
    const auto frame = [left](const std::string& answer) { return padded(answer, left); };
    const ScriptedLauncher launcher(
        {{"cmd=init pmi_version=1", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n"}, // 1 is not spoken
         {"cmd=init pmi_version=2", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},
         {"cmd=fullinit;", frame("cmd=fullinit-response;rank=1;size=2;appnum=0;rc=0;")},
         {"cmd=job-getid;", frame("rc=0;jobid=space;cmd=job-getid-response;")},
         {"cmd=kvs-put;key=heddle.k.0;value=0002:00;", frame("cmd=kvs-put-response;rc=0;")},
         {"cmd=kvs-fence;", frame("cmd=kvs-fence-response;rc=0;")},
         {"cmd=kvs-get;jobid=space;", frame("cmd=kvs-get-response;found=TRUE;value=0002:00;rc=0;")},
         {"cmd=finalize;", frame("cmd=finalize-response;rc=0;")}},
        Then::goes, left ? 1 << 20 : 3);
    const auto board = Pmi::open(launcher.place(), patiently());
    ASSERT_TRUE(board) << board.error().message();
    EXPECT_EQ((*board)->version(), 2U);
    exchange(**board);
  }
}

// As in a program that a process of the job has started.
TEST(Pmi, SaysThatItsDescriptorIsNone) {
  const ScriptedLauncher launcher({});
  Pmi::Place place = launcher.place();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  for (const int none : {pipe[0], 1'000'000}) {
    place.descriptor = none;
    const auto board = Pmi::open(place, patiently());
    ASSERT_FALSE(board);
    EXPECT_EQ(board.error().fact, "PMI_FD=" + std::to_string(none) + " is no socket here");
  }
  for (const int end : pipe) ::close(end);
}

TEST(Pmi, RefusesALauncherThatSpeaksAnotherVersion) {
  const Step no{"cmd=init", "cmd=response_to_init pmi_version=3 pmi_subversion=0 rc=-1\n"};
  const ScriptedLauncher launcher({no, no});
  const auto board = Pmi::open(launcher.place(), patiently());
  ASSERT_FALSE(board);
  EXPECT_EQ(board.error().code, ErrorCode::store_failed);
  EXPECT_TRUE(board.error().fact.contains("speaks no version that is known here")) << board.error().fact;
}

TEST(Pmi, SaysThatTheLauncherIsLostInAFence) {
  const ScriptedLauncher launcher({kInit, kSpace}, Then::goes);
  const auto board = Pmi::open(launcher.place(), patiently());
  ASSERT_TRUE(board) << board.error().message();
  const auto fence = (*board)->fence(patiently());
  ASSERT_FALSE(fence);
  EXPECT_EQ(fence.error().code, ErrorCode::store_failed);
  EXPECT_TRUE(fence.error().fact.contains("has closed the connection")) << fence.error().fact;
  EXPECT_FALSE((*board)->put("k", Bytes(1), patiently()));
  (*board)->leave(patiently());
}

TEST(Pmi, WaitsNoLongerThanItsDeadlineForALauncherThatStalls) {
  const ScriptedLauncher launcher({kInit, kSpace}, Then::stalls);
  const auto board = Pmi::open(launcher.place(), patiently());
  ASSERT_TRUE(board) << board.error().message();
  const auto fence = (*board)->fence(base::deadline_in(std::chrono::milliseconds(20)));
  ASSERT_FALSE(fence);
  EXPECT_EQ(fence.error().code, ErrorCode::timed_out);
  EXPECT_EQ(fence.error().fact, "not every rank reached the launcher's fence in time");
  const auto got = (*board)->get("k", patiently()); // an answer that comes now would be the fence's
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::store_failed);
}

TEST(Pmi, SaysWhenAnAnswerMakesNoSense) {
  const auto error_after = [](const Step& last, std::uint32_t version) {
    Script script{kInit, last};
    if (version == 2) script[0] = {"cmd=init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"};
    const ScriptedLauncher launcher(script);
    const auto board = Pmi::open(launcher.place(version), patiently());
    EXPECT_FALSE(board);
    return board ? std::string() : board.error().fact;
  };
  EXPECT_TRUE(error_after({"cmd=get_my_kvsname", "cmd=barrier_out\n"}, 1)
                  .contains("answers 'barrier_out', expected 'my_kvsname'"));
  EXPECT_TRUE(error_after({"cmd=fullinit", "hello, world"}, 2).contains("gives an answer without a length"));
  EXPECT_TRUE(error_after({"cmd=fullinit", "999999cmd=fullinit-response;"}, 2).contains("without a length"));
}

} // namespace
} // namespace heddle::store

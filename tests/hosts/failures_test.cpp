// Jobs on several machines that cannot start, or lose a part: one line that says what, and nothing is left anywhere.
#include "tests/hosts/on_hosts.hpp"

#include <csignal>
#include <fstream>
#include <map>

namespace heddle::tests {
namespace {

using std::chrono::seconds;

class FailingHosts {
 protected:
  // A remote shell that does something before it is the usual one: "$1" is the host, the rest the command there.
  static std::string other_shell(const Machines& machines, const std::string& before) {
    const std::string path = machines.folder() / "other_shell";
    std::ofstream(path) << "#!/bin/sh\n" << before << "\nexec " << machines.folder().string() << "/shell \"$@\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  static Lines of_heddle(const std::string& said) {
    Lines lines = lines_of(said);
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("heddle"); });
    return lines;
  }
  static void wait_joined(Command& command, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string line = command.line();
      ASSERT_TRUE(line.starts_with("joined ")) << line;
    }
  }
  static pid_t parent_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    int parent = 0;
    std::sscanf(text.c_str() + text.rfind(')') + 1, " %*c %d", &parent);
    return parent;
  }

  const std::string kMember = test_program("member_program");
};

class FailuresOnHosts : public OnHosts, protected FailingHosts {};
class FailuresOnSeparateHosts : public OnSeparateHosts, protected FailingHosts {};

INSTANTIATE_TEST_SUITE_P(Forms, FailuresOnHosts, kBothForms, name_of_form);

// --- jobs that do not start ---

TEST_P(FailuresOnHosts, AHostThatIsNotReached) {
  Command command(machines_->run("m2:2", {"--shell", "/bin/false", "--", "/bin/true"}), machines_->variables());
  EXPECT_EQ(command.rest(),
            "heddle run: unreachable: host m2 is not reached: the remote shell '/bin/false' ended with status 1 "
            "(remedy: try: /bin/false m2 " HEDDLE_PROGRAM " --version)\n");
  EXPECT_EQ(command.status(), 2);
}

TEST_P(FailuresOnHosts, OneHostThatIsNotReached) {
  auto command =
      run(1, {"--shell", other_shell(*machines_, "[ $1 = m1 ] || exit 255"), "--", "/bin/sh", "-c", "echo started"});
  const Lines said = lines_of(command->rest());
  ASSERT_EQ(said.size(), 1U) << testing::PrintToString(said);
  EXPECT_TRUE(said[0].starts_with("heddle run: unreachable: host m2 is not reached: ")) << said[0];
  EXPECT_EQ(command->status(), 2);
}

TEST_P(FailuresOnHosts, ARemoteShellThatIsMissing) {
  auto command = run(1, {"--shell", "/nonexistent/shell -x", "--", "/bin/true"});
  EXPECT_EQ(
      command->rest(),
      "heddle run: bad_argument: the remote shell '/nonexistent/shell' cannot be started (remedy: name another by "
      "--shell; errno 2 No such file or directory)\n");
  EXPECT_EQ(command->status(), 2);
}

TEST_P(FailuresOnHosts, AnAgentThatIsMissingOnOneHost) {
  auto command = run(
      1, {"--shell", other_shell(*machines_, "[ $1 = m1 ] || set -- $1 /nonexistent/heddle agent"), "--", "/bin/true"});
  const Lines said = of_heddle(command->rest());
  ASSERT_EQ(said.size(), 1U) << testing::PrintToString(said);
  EXPECT_TRUE(said[0].starts_with("heddle run: unreachable: host m2 is not reached: ")) << said[0];
  EXPECT_NE(said[0].find("ended with status 127"), std::string::npos) << said[0];
  EXPECT_EQ(command->status(), 2);
}

TEST_P(FailuresOnHosts, AnotherVersionOnOneHost) {
  auto command =
      run(1, {"--shell", other_shell(*machines_, "[ $1 = m1 ] || set -- $1 " + test_program("other_version_program")),
              "--", "/bin/sh", "-c", "echo started"});
  const Lines said = lines_of(command->rest());
  ASSERT_EQ(said.size(), 1U) << testing::PrintToString(said);
  EXPECT_TRUE(said[0].starts_with("heddle run: bad_argument: host m2 has Heddle 9.9.9, this one is ")) << said[0];
  EXPECT_EQ(command->status(), 2);
}

TEST_P(FailuresOnHosts, AProgramThatIsMissingOnOneHost) {
  const auto folder = machines_->folder() / "programs";
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink("/bin/sleep", folder / "a_tool");
  auto command = run(
      2, {"--shell", other_shell(*machines_, "PATH=/usr/bin:/bin; [ $1 = m2 ] || PATH=" + folder.string() + ":$PATH"),
          "--", "a_tool", "1000"});
  EXPECT_EQ(command->rest(),
            "heddle run: bad_argument: host m2: the program 'a_tool' cannot be started (errno 2 No such file or "
            "directory)\n");
  EXPECT_EQ(command->status(), 2);
}

TEST_F(FailuresOnSeparateHosts, AWorkingDirectoryThatIsMissingOnOneHost) {
  const auto folder = machines_->folder() / "here" / "alone";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(machines_->in(2, "mount -t tmpfs tmpfs " + folder.parent_path().string()));
  Command command(machines_->run_in(folder, machines_->hosts(2), {"--", "/bin/sleep", "1000"}), machines_->variables());
  EXPECT_EQ(command.rest(), "heddle run: bad_argument: host m2: the working directory " + folder.string() +
                                " cannot be entered (errno 2 No such file or directory)\n");
  EXPECT_EQ(command.status(), 2);
}

TEST_P(FailuresOnHosts, AWorkingDirectoryThatHasGone) {
  const auto folder = machines_->folder() / "gone";
  std::filesystem::create_directory(folder);
  auto words = machines_->run(machines_->hosts(1), {"--", "/bin/true"});
  words.erase(words.begin(), words.begin() + 4); // the launcher's command itself
  Command command(machines_->at_launcher(folder, around("rmdir " + folder.string() + "; exec \"$0\" \"$@\"", words)),
                  machines_->variables());
  EXPECT_EQ(
      of_heddle(command.rest()),
      Lines{"heddle run: bad_argument: the working directory has no name that other machines could enter (errno 2 No "
            "such file or directory)"});
}

TEST_P(FailuresOnHosts, AnInterruptWhileAHostIsAwaited) {
  auto command = run(1, {"--shell", other_shell(*machines_, "[ $1 = m1 ] || { echo trying >&2; exec sleep 1000; }"),
                         "--", "/bin/sh", "-c", "echo started"});
  EXPECT_EQ(command->line(), "trying");
  command->signal(SIGINT);
  EXPECT_EQ(command->rest(), "heddle run: cancelled: interrupted before the job had started\n");
  EXPECT_EQ(command->status(), 2);
}

TEST_P(FailuresOnHosts, MoreProcessesThanTheHostsTake) {
  auto command = run(2, {"-n", "5", "--", "/bin/true"});
  EXPECT_EQ(lines_of(command->rest()).size(), 1U);
  EXPECT_EQ(command->status(), 2);
}

// --- jobs that lose a part ---

TEST_P(FailuresOnHosts, AnAgentThatIsKilled) {
  auto command = run(2, {"--grace", "60", "--", "/bin/sh", "-c", "sleep 1000 & exec \"$0\" notice", kMember});
  wait_joined(*command, 4);
  const pid_t victim = machines_->process_of(3);
  ASSERT_GT(victim, 0);
  ::kill(parent_of(victim), SIGKILL);
  const Lines said = sorted(lines_of(command->rest()));
  ASSERT_EQ(said.size(), 3U) << testing::PrintToString(said); // the other machine's two are told once
  EXPECT_EQ(said[0], "heddle: error: rank 2 is lost with host m2: its agent has ended; the others are ended in 60 s");
  EXPECT_EQ(said[1], "told of 2");
  EXPECT_EQ(said[2], "told of 2");
  EXPECT_EQ(command->status(), 128 + SIGKILL);
}

TEST_P(FailuresOnHosts, ALauncherThatIsKilled) {
  auto command = run(2, {"--", "/bin/sh", "-c", "sleep 1000 & exec \"$0\" hang", kMember});
  wait_joined(*command, 4);
  command->signal(SIGKILL);
  EXPECT_EQ(command->rest(), ""); // ends when nobody is left who could write
  EXPECT_EQ(machines_->left_after(seconds(10)), Lines{});
}

TEST_P(FailuresOnHosts, ALauncherThatIsKilledWhileItStarts) {
  auto command = run(1, {"--shell", other_shell(*machines_, "[ $1 = m1 ] || { echo trying >&2; exec sleep 1000; }"),
                         "--", "/bin/sh", "-c", "echo started"});
  EXPECT_EQ(command->line(), "trying");
  command->signal(SIGKILL);
  command->status();
}

TEST_P(FailuresOnHosts, ALauncherThatIsStoppedForAWhileIsNotDead) {
  auto command = run(1, {"--", "/bin/sh", "-c", "echo ready; sleep 1; echo done"});
  EXPECT_EQ(command->line(), "ready");
  EXPECT_EQ(command->line(), "ready");
  command->signal(SIGSTOP);
  ASSERT_GT(machines_->process_of(1), 0);
  while (machines_->process_of(0) != 0 || machines_->process_of(1) != 0) {
  } // the agents cannot report it
  command->signal(SIGCONT);
  EXPECT_EQ(command->rest(), "done\ndone\n");
  EXPECT_EQ(command->status(), 0);
}

TEST_F(FailuresOnSeparateHosts, AMachineThatIsKilled) {
  auto command = run(2, {"--grace", "60", "--", kMember, "notice"});
  wait_joined(*command, 4);
  machines_->kill(2);
  const Lines said = sorted(lines_of(command->rest()));
  ASSERT_EQ(said.size(), 3U) << testing::PrintToString(said);
  EXPECT_EQ(said[0], "heddle: error: rank 2 is lost with host m2: its agent has ended; the others are ended in 60 s");
  EXPECT_EQ(said[1], "told of 2");
  EXPECT_EQ(command->status(), 128 + SIGKILL);
}

TEST_F(FailuresOnSeparateHosts, AMachineWithoutPower) {
  // They do not mind being told.
  auto command = run(2, {"--", "/bin/sh", "-c", "trap '' TERM; \"$0\" hang", kMember});
  wait_joined(*command, 4);
  const auto began = std::chrono::steady_clock::now();
  machines_->pull_cable(2);
  machines_->kill(2);
  EXPECT_EQ(command->rest(),
            "heddle: error: rank 2 is lost with host m2: it has not answered for 7 s; the others are ended in 0 s\n");
  EXPECT_EQ(machines_->living(), Lines{});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("nothing is left after %.1f s\n", took.count());
  EXPECT_LT(took.count(), 15); // ten, on a machine that is not busy with anything else
  EXPECT_EQ(command->status(), 128 + SIGKILL);
}

TEST_F(FailuresOnSeparateHosts, ALauncherWithoutPower) {
  auto command = run(2, {"--", kMember, "hang"});
  wait_joined(*command, 4);
  const auto began = std::chrono::steady_clock::now();
  machines_->pull_cable(0);
  command->signal(SIGKILL);
  EXPECT_EQ(machines_->left_after(seconds(15)), Lines{});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("nothing is left after %.1f s\n", took.count());
}

} // namespace
} // namespace heddle::tests

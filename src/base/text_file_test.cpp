#include "base/text_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

namespace heddle::base {
namespace {

class TextFiles : public testing::Test {
 protected:
  TextFiles() : path_(testing::TempDir() + "heddle_text_file_" + std::to_string(::getpid())) {}
  ~TextFiles() override { std::filesystem::remove(path_); }

  std::string path_;
};

std::string fact_of(const std::string& path, const TextFile& file) {
  const auto text = read_text_file(path, file);
  return text ? "read" : text.error().fact;
}

TEST_F(TextFiles, ReadsAWholeFileUpToTheLimit) {
  const std::string content(100'000, 'x');
  std::ofstream(path_) << content;
  const auto text = read_text_file(path_, {.what = "list", .most = content.size()});
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, content);
  EXPECT_EQ(fact_of(path_, {.what = "list", .most = 65536}),
            "list '" + path_ + "' is larger than 64KiB, more than any such file needs");
}

TEST_F(TextFiles, RefusesWhatIsNoFile) {
  EXPECT_EQ(fact_of("/dev/zero", {.what = "list", .most = 1000}), "list '/dev/zero' is not a regular file");
  EXPECT_EQ(fact_of("/", {.what = "list", .most = 1000}), "list '/' is a folder: expected a file");
  EXPECT_EQ(fact_of("/dev/zero", {.what = "list", .most = 1000, .pipes = true}),
            "list '/dev/zero' is not a regular file");
  EXPECT_EQ(fact_of(std::string("a\0b", 3), {.what = "list", .most = 1000}),
            std::string("list 'a\0b' has a zero character in its name", 43));
  const auto missing = read_text_file(path_, {.what = "list", .most = 1000});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().system_code, ENOENT);
}

TEST_F(TextFiles, DoesNotWaitForAPipeThatNobodyWritesTo) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(fact_of(path_, {.what = "list", .most = 1000}), "list '" + path_ + "' is not a regular file");
  const auto nothing = read_text_file(path_, {.what = "list", .most = 1000, .pipes = true});
  ASSERT_TRUE(nothing) << nothing.error().message();
  EXPECT_EQ(*nothing, "");
}

TEST_F(TextFiles, ReadsAPipeToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([end = ends[1]] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(::write(end, "abc", 3), 3);
    ::close(end);
  });
  const auto text = read_text_file("/dev/fd/" + std::to_string(ends[0]), {.what = "list", .most = 1000, .pipes = true});
  writer.join();
  ::close(ends[0]);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "abcabcabc");
}

} // namespace
} // namespace heddle::base

// tools/portability on a tree whose lines are known.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;

class Portability : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "heddle-portability-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] nlohmann::json count() const { return count_of(root_); }
  [[nodiscard]] static fs::path project() { return fs::path(__FILE__).parent_path() / "../.."; }
  [[nodiscard]] static nlohmann::json count_of(const fs::path& root) {
    const std::string tool = (project() / "tools/portability").string();
    FILE* pipe = ::popen(("'" + tool + "' --root '" + root.string() + "'").c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), got);
    EXPECT_EQ(::pclose(pipe), 0);
    return nlohmann::json::parse(text, nullptr, false);
  }

  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST_F(Portability, CountsWhatIsKnown) {
  write("include/heddle/heddle.hpp", "// the interface\n\nint a;\nint b;\n");                    // 2 of 4
  write("src/api/api.cpp", "#include \"engine/engine.hpp\"\n#include \"routing/route.hpp\"\n");  // 2
  write("src/engine/engine.hpp", "int engine; // with a comment\n/* and\n   one of lines */\n"); // 1 of 3
  write("src/engine/engine_test.cpp", "int test;\n");                                            // none
  write("src/routing/route.hpp", "int route;\n");                                                // planning: 1
  write("src/unused/unused.hpp", "int unused;\n");                                               // none
  write("src/memory/memory.hpp", "int memory;\nint more;\n");                                    // of near alone: 2
  write("src/job/registry.cpp", "\nint list[] = {\n    entry_of<class Near>,\n    entry_of<class Far>,\n};\n");
  write("src/api/more.cpp", "#include \"job/registry.hpp\"\nconst char* preferred = \"near,other\";\n"); // 2
  write("src/translators/translator.hpp", "int shared;\n");
  write("src/engine/marked.hpp",
        "// for far: begin\nint gate;\n\n// about it\nint more; // a remark for all\n// for far: end\nint none;\n"
        "int one; // for far\nint other; // a remark; for near\n"); // 5
  write("src/translators/near/near.cpp",
        "#include \"engine/engine.hpp\"\n#include \"memory/memory.hpp\"\n#include \"translators/translator.hpp\"\nint "
        "near;\n");
  write("src/translators/near/near_test.cpp", "int test;\n");
  write("src/translators/far/far.cpp", "#include \"translators/translator.hpp\"\n\n// far\nint far;\n"); // 2 of 4
  write("src/translators/simulated/star/star.cpp", "int star;\n");
  write("src/translators/simulated/shared.cpp", "int shared;\nint by_all;\n");
  write("src/sim/sim.cpp", "int sim;\nint time;\nint queue;\n");

  const nlohmann::json found = count();
  ASSERT_FALSE(found.is_discarded());
  const auto& parts = found["parts"];
  EXPECT_EQ(parts["include"], (nlohmann::json{{"code", 2}, {"all", 4}}));
  EXPECT_EQ(parts["api"]["code"], 4);
  EXPECT_EQ(parts["engine"], (nlohmann::json{{"code", 6}, {"all", 12}}));
  EXPECT_EQ(parts["translators"]["code"], 1);
  EXPECT_EQ(parts["job"]["code"], 4);
  EXPECT_EQ(parts.size(), 5U) << "neither routing nor what nobody uses: " << parts;
  EXPECT_EQ(found["planning"]["code"], 1);
  const auto& near = found["networks"]["near"];
  EXPECT_EQ(near["own"]["code"], 6) << "its folder, and the room that it alone uses";
  EXPECT_EQ(near["rooms"], nlohmann::json{"memory"});
  EXPECT_EQ(near["outside"], 3) << "in the registry, where it is preferred, and what is marked";
  const auto& far = found["networks"]["far"];
  EXPECT_EQ(far["own"], (nlohmann::json{{"code", 2}, {"all", 4}}));
  EXPECT_EQ(far["outside"], 4) << "in the registry, and three marked lines";
  EXPECT_EQ(found["networks"].size(), 2U);
  EXPECT_EQ(found["simulated"]["star"]["own"]["code"], 1);
  EXPECT_EQ(found["shared_by_simulated"]["code"], 2);
  EXPECT_EQ(found["simulator"]["code"], 3);
}

// As `heddle reproduce portability` has it. The report's own network for InfiniBand is half of its library.
TEST_F(Portability, OfVerbsIsBelow15Percent) {
  const nlohmann::json found = count_of(project());
  ASSERT_FALSE(found.is_discarded());
  double library = 0;
  for (const auto& part : found["parts"]) library += part["code"].get<double>();
  const double own = found["networks"]["verbs"]["own"]["code"];
  EXPECT_GT(own, 1000) << "it is counted";
  EXPECT_LT(own / (library + own), 0.15) << own << " lines of " << library + own;
}

TEST_F(Portability, RefusesAMarkThatDoesNotEnd) {
  write("src/job/registry.cpp", "int list[] = {\n    entry_of<class Far>,\n};\n");
  write("src/engine/marked.hpp", "// for far: begin\nint gate;\n");
  write("src/translators/far/far.cpp", "int far;\n");
  write("src/translators/simulated/shared.cpp", "int shared;\n");
  const std::string tool = (fs::path(__FILE__).parent_path() / "../../tools/portability").string();
  EXPECT_NE(std::system(("'" + tool + "' --root '" + root() + "' 2>/dev/null").c_str()), 0);
}

} // namespace
} // namespace heddle::tests

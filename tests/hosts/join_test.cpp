// How long many processes on several machines take to meet: stated, not judged.
#include "tests/hosts/on_hosts.hpp"
#include "tests/job/job.hpp"

#include <cstdio>

namespace heddle::tests {
namespace {

class JoiningOnHosts : public WithMachines, public testing::WithParamInterface<Form> {
 protected:
  void SetUp() override { make(GetParam(), 4); }
};
INSTANTIATE_TEST_SUITE_P(Forms, JoiningOnHosts, kBothForms, name_of_form);

TEST_P(JoiningOnHosts, AHundredProcessesMeet) {
  for (const std::uint32_t on_each : {8U, 16U, 32U}) {
    if (kSlowdown > 1 && on_each > 8) return;
    auto command = run(on_each, {"--", test_program("join_program"), std::to_string(machine_ns())});
    const std::string said = command->rest();
    EXPECT_EQ(command->status(), 0) << said;
    EXPECT_EQ(lines_of(said).size(), 1U) << said;
    std::printf("%3u processes: %s", 4 * on_each, said.c_str());
  }
}

} // namespace
} // namespace heddle::tests

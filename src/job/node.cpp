#include "job/node.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

namespace heddle::job {

namespace {

std::string link_target(const char* path) {
  std::array<char, 256> text{};
  const ssize_t length = ::readlink(path, text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

// FNV-1a: the same in every process, unlike std::hash.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf2'9ce4'8422'2325ULL;
  for (const char character : text) value = (value ^ static_cast<unsigned char>(character)) * 0x0000'0100'0000'01b3ULL;
  return value;
}

} // namespace

std::uint64_t node_identity(const base::Environment& environment, std::string_view told) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return hash(boot + link_target("/proc/self/ns/pid") + std::string(environment.lookup("HEDDLE_NODE").value_or("")) +
              "/" + std::string(told));
}

} // namespace heddle::job

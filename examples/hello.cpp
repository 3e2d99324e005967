// Two processes exchange a message: heddle run -n 2 hello
#include <heddle/heddle.hpp>

#include <iostream>
#include <string>

int main() {
  auto job = heddle::Context::join();
  if (!job) {
    std::cerr << job.error().message() << '\n';
    return 1;
  }
  const bool first = job->rank() == heddle::Rank{0};
  const heddle::Rank other{first ? 1U : 0U};
  const std::string greeting = "hello from rank " + std::to_string(first ? 0 : 1);
  std::string heard(64, ' ');

  const auto received = job->receive({.source = other, .tag = heddle::Tag{7}}, heard);
  const auto sent = job->send(other, heddle::Tag{7}, greeting);
  if (!received || !sent) return 1;
  heard.resize(job->wait(*received).bytes);
  std::cout << heard + '\n';
  return job->wait(*sent).code == heddle::ErrorCode::ok ? 0 : 1;
}

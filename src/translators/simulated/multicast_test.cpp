// Puts to groups on simulated RHiNET.
#include "sim/description.hpp"
#include "translators/simulated/infiniband/infiniband.hpp"
#include "translators/simulated/rhinet/rhinet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace heddle::translators::simulated {
namespace {

// Peers of a job, each with memory that all may write to.
class Job {
 public:
  Job(const char* fabric, std::uint32_t size, std::uint32_t per_node = 1)
      : interconnect_(*sim::make_network(*sim::parse_fabric(fabric)), nodes(size, per_node)) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      peers_.push_back(std::make_unique<Rhinet>(interconnect_, ir::Peer{rank}));
      memory_.push_back(*peers_.back()->allocate(4096));
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(peers_[0]->attach(ir::Peer{rank}, peers_[rank]->address()));
    }
  }

  ir::Peer group(std::uint32_t first, std::uint32_t last) {
    std::vector<ir::GroupMember> members;
    for (std::uint32_t rank = first; rank <= last; ++rank) members.push_back({ir::Peer{rank}, memory_[rank].place});
    auto made = peers_[0]->make_group(members);
    EXPECT_TRUE(made);
    return *made;
  }
  // The status of a signalled put of `text` from peer 0.
  ir::Status put(ir::Peer to, std::string text, std::uint64_t offset) {
    ir::Command command{};
    command.operation = ir::Operation::put;
    command.flags = ir::Flags::signalled;
    command.peer = to;
    command.cookie = 5;
    command.remote.offset = offset;
    command.local = reinterpret_cast<std::byte*>(text.data());
    command.bytes = text.size();
    EXPECT_EQ(peers_[0]->submit({&command, 1}), 1U);
    EXPECT_TRUE(interconnect_.settle());
    std::array<ir::Event, 8> events;
    std::size_t found = 0;
    ir::Status status{};
    for (const ir::Event& event : std::span(events).first(peers_[0]->poll(events))) {
      if (event.kind != ir::EventKind::completed) continue;
      EXPECT_EQ(event.peer, to);
      EXPECT_EQ(event.cookie, 5U);
      status = event.status;
      ++found;
    }
    EXPECT_EQ(found, 1U) << "one event for all";
    return status;
  }
  std::string text_at(std::uint32_t rank, std::uint64_t offset) const {
    return reinterpret_cast<const char*>(memory_[rank].memory.data() + offset);
  }

  static std::vector<std::uint32_t> nodes(std::uint32_t size, std::uint32_t per_node) {
    std::vector<std::uint32_t> result;
    for (std::uint32_t rank = 0; rank < size; ++rank) result.push_back(rank / per_node);
    return result;
  }
  Interconnect interconnect_;
  std::vector<std::unique_ptr<Rhinet>> peers_;
  std::vector<ir::ExposedMemory> memory_;
};

TEST(SimulatedMulticast, WritesToEveryMemberAndNobodyElse) {
  Job job("rhinet:star:9", 9);
  EXPECT_NE(job.peers_[0]->facets().groups, nullptr);
  EXPECT_EQ(job.put(job.group(2, 7), "for many", 128), ir::Status::ok);
  for (std::uint32_t rank = 0; rank < 9; ++rank) {
    EXPECT_EQ(job.text_at(rank, 128), rank >= 2 && rank <= 7 ? "for many" : "") << rank;
  }
}

TEST(SimulatedMulticast, ReachesPeersThatShareANodeAndTheSenderItself) {
  Job job("rhinet:star:3", 6, 2);
  EXPECT_EQ(job.put(job.group(0, 4), "all", 0), ir::Status::ok);
  for (std::uint32_t rank = 0; rank < 6; ++rank) EXPECT_EQ(job.text_at(rank, 0), rank <= 4 ? "all" : "");
}

TEST(SimulatedMulticast, TakesHardlyLongerToManyThanToTwo) {
  Job job("rhinet:star:65", 65);
  const auto time = [&](std::uint32_t last) {
    const ir::Peer group = job.group(1, last);
    const sim::Picoseconds start = job.interconnect_.now();
    ir::Command command{};
    command.operation = ir::Operation::put;
    command.peer = group;
    std::string text(64, 'x');
    command.local = reinterpret_cast<std::byte*>(text.data());
    command.bytes = text.size();
    EXPECT_EQ(job.peers_[0]->submit({&command, 1}), 1U);
    while (job.text_at(last, 0).empty()) EXPECT_TRUE(job.interconnect_.step());
    const sim::Picoseconds taken = job.interconnect_.now() - start;
    EXPECT_TRUE(job.interconnect_.settle());
    for (std::uint32_t rank = 1; rank <= last; ++rank) {
      EXPECT_EQ(job.text_at(rank, 0).size(), 64U);
      std::memset(job.memory_[rank].memory.data(), 0, 64);
    }
    return static_cast<double>(taken.count());
  };
  const double two = time(2);
  EXPECT_LT(time(64), 1.2 * two);
}

TEST(SimulatedMulticast, SaysWhenAMemberRefusesOrIsGone) {
  Job job("rhinet:star:5", 5);
  const ir::Peer group = job.group(1, 4);
  EXPECT_EQ(job.put(group, "past the end", 4090), ir::Status::refused);
  for (std::uint32_t rank = 1; rank < 5; ++rank) EXPECT_EQ(job.text_at(rank, 4090), "");
  job.interconnect_.kill(ir::Peer{3});
  EXPECT_EQ(job.put(group, "less one", 0), ir::Status::peer_lost);
  EXPECT_EQ(job.text_at(4, 0), "less one") << "the others have it all the same";
  EXPECT_EQ(job.text_at(3, 0), "");
}

TEST(SimulatedMulticast, RefusesGroupsThatMakeNoSense) {
  Job job("rhinet:star:3", 3);
  EXPECT_FALSE(job.peers_[0]->make_group({}));
  const ir::GroupMember twice[] = {{ir::Peer{1}, {}}, {ir::Peer{1}, {}}};
  EXPECT_FALSE(job.peers_[0]->make_group(twice));
  const ir::GroupMember unknown[] = {{ir::Peer{7}, {}}};
  EXPECT_FALSE(job.peers_[0]->make_group(unknown));
  const ir::GroupMember not_attached[] = {{ir::Peer{0}, {}}};
  EXPECT_FALSE(job.peers_[1]->make_group(not_attached));
  const ir::Peer group = job.group(1, 2);
  job.peers_[0]->drop_group(group);
  EXPECT_EQ(job.put(group, "late", 0), ir::Status::peer_lost);
}

TEST(SimulatedMulticast, IsNotOfferedWhereSwitchesDoNotCopy) {
  Interconnect interconnect(*sim::make_network(*sim::parse_fabric("infiniband:2-ary-2-tree")), {0, 1});
  Infiniband peer(interconnect, ir::Peer{0});
  EXPECT_EQ(peer.facets().groups, nullptr);
}

} // namespace
} // namespace heddle::translators::simulated

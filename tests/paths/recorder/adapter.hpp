// What the recorder's adapter is made of, where it delivers: all of its objects are in one process, and what is sent is there at once.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace recorder {

// Some objects are read past what the header says of them.
template <typename Base>
struct Object {
  Base base;
  std::byte past[256];
};

struct Adapter : Object<verbs_context> {
  std::uint32_t lid, lmc, addresses; // of the first port; addresses: on Ethernet
  std::uint32_t ports;
  bool delivers;
  std::deque<ibv_async_event> events;

  static Adapter& of(ibv_context* context) { return *reinterpret_cast<Adapter*>(verbs_get_ctx(context)); }
  [[nodiscard]] ibv_gid gid(std::uint32_t port, std::uint32_t index) const;
  [[nodiscard]] std::uint32_t lid_of(std::uint32_t port) const { return lid + 64 * (port - 1); }
};
struct Region : Object<ibv_mr> {
  std::uint64_t address; // of its first byte, for who names it
  unsigned access;
};
struct Completions : Object<ibv_cq> {
  std::deque<ibv_wc> all;
  bool rings;
};
struct Receive {
  std::uint64_t id;
  ibv_sge into;
};
struct Rooms : Object<ibv_srq> {
  std::deque<Receive> all;
};
struct Handle : Object<ibv_ah> {
  ibv_ah_attr way;
};
struct Work {
  ibv_send_wr wanted;
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> contents; // where they are inline
};
struct Pair : Object<ibv_qp> {
  ibv_ah_attr way;
  std::uint32_t far;
  bool signals_all;
  std::uint32_t most_inline;
  std::deque<Receive> receives;
  std::deque<Work> works;
};

// transport.cpp: what an adapter's own table holds.
int poll(ibv_cq* queue, int most, ibv_wc* to);
int ring(ibv_cq* queue, int solicited);
int send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad);
int receive(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** bad);
int receive_shared(ibv_srq* rooms, ibv_recv_wr* first, ibv_recv_wr** bad);

// All that there are, so that what is sent finds where it goes.
void add(Adapter& adapter);
void remove(Adapter& adapter);
void add(Region& region);
void remove(Region& region);
void add(Pair& pair);
void remove(Pair& pair);

} // namespace recorder

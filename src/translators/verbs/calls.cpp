#include "translators/verbs/calls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace heddle::translators::verbs {

namespace {

constexpr std::uint32_t kDoorKey = 0x1864'6564; // same in all processes; the secret is what protects
constexpr std::size_t kRouteHeader = 40;

std::unexpected<Error> cannot(const char* what, int number) {
  return std::unexpected(Error{.code = ErrorCode::system_failed, .fact = what, .system_code = number});
}

} // namespace

Place end_of(const Call& call) {
  Place place = call.from;
  if (place.addresses != 0) {
    place.gid = call.gid;
  } else {
    place.lid = call.lid;
    place.lmc = call.lmc;
  }
  return place;
}

Result<std::unique_ptr<Door>> Door::open(const Device& device, Memory& memory, ibv_cq& queue,
                                         const std::optional<auth::Secret>& secret) {
  std::unique_ptr<Door> door(new Door(device, secret.value_or(auth::Secret{})));
  Memory::Pool pool(memory, (kRooms + kMostCalling) * kRoomBytes, 1);
  door->rooms_ = pool.take();
  if (door->rooms_.data == nullptr) return std::unexpected(memory.refusal("cannot lock", pool.piece_bytes(), errno));
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = &queue;
  wanted.cap = {.max_send_wr = kMostCalling,
                .max_recv_wr = kRooms,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = sizeof(Call)};
  wanted.qp_type = IBV_QPT_UD;
  const Library& library = device.library();
  door->pair_ = device.create_pair(wanted);
  if (door->pair_ == nullptr) return cannot("the adapter gives no queue pair for calls", errno);
  door->inline_bytes_ = wanted.cap.max_inline_data;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device.port().number;
  attributes.qkey = kDoorKey;
  int error = library.modify_qp(door->pair_, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attributes.qp_state = IBV_QPS_RTR;
  if (error == 0) error = library.modify_qp(door->pair_, &attributes, IBV_QP_STATE);
  attributes.qp_state = IBV_QPS_RTS;
  if (error == 0) error = library.modify_qp(door->pair_, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (error != 0) return cannot("the queue pair for calls cannot be made ready", error);
  for (std::uint64_t room = 0; room < kRooms; ++room) door->listen(room);
  return door;
}

Door::~Door() {
  if (pair_ != nullptr) device_.library().destroy_qp(pair_);
  for (auto& [place, way] : ways_) device_.library().destroy_ah(way);
}

void Door::listen(std::uint64_t room) {
  ibv_sge into{.addr = reinterpret_cast<std::uintptr_t>(rooms_.data + room * kRoomBytes),
               .length = kRoomBytes,
               .lkey = rooms_.key};
  ibv_recv_wr wanted{};
  wanted.wr_id = kHeard | room;
  wanted.sg_list = &into;
  wanted.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  ::ibv_post_recv(pair_, &wanted, &bad);
}

std::array<char, 32> Door::proof_of(Call call) const {
  call.proof = {};
  const std::string signature = secret_.sign({reinterpret_cast<const char*>(&call), sizeof call});
  std::array<char, 32> proof;
  std::copy_n(signature.begin(), proof.size(), proof.begin());
  return proof;
}

ibv_ah* Door::way_to(const Place& place) {
  const auto [found, added] = ways_.try_emplace({place.gid, place.lid}, nullptr);
  if (found->second != nullptr) return found->second;
  ibv_ah_attr vector =
      address_vector({.port = device_.port().number, .gid_index = device_.port().address(0).index}, place, 0);
  found->second = device_.library().create_ah(&device_.domain(), &vector);
  ibv_ah* made = found->second;
  if (made == nullptr) ways_.erase(found);
  return made;
}

Door::Called Door::call(const Place& there, Call call) {
  if (calling_ == kMostCalling) return Called::later;
  ibv_ah* way = way_to(there);
  if (way == nullptr) return Called::no_way;
  call.proof = proof_of(call);
  // Of as many rooms as there may be calls on their way, which leave in order.
  std::byte* const room = rooms_.data + (kRooms + calls_ % kMostCalling) * kRoomBytes;
  std::memcpy(room, &call, sizeof call);
  ibv_sge from{.addr = reinterpret_cast<std::uintptr_t>(room), .length = sizeof call, .lkey = rooms_.key};
  ibv_send_wr wanted{};
  wanted.wr_id = kCalled;
  wanted.sg_list = &from;
  wanted.num_sge = 1;
  wanted.opcode = IBV_WR_SEND;
  wanted.send_flags = IBV_SEND_SIGNALED;
  if (inline_bytes_ >= sizeof call) wanted.send_flags |= IBV_SEND_INLINE;
  wanted.wr.ud = {.ah = way, .remote_qpn = there.door, .remote_qkey = kDoorKey};
  ibv_send_wr* bad = nullptr;
  if (::ibv_post_send(pair_, &wanted, &bad) != 0) return Called::later;
  ++calls_;
  ++calling_;
  return Called::yes;
}

std::optional<Call> Door::hear(const ibv_wc& completion) {
  const std::uint64_t room = completion.wr_id & ~kHeard;
  std::optional<Call> heard;
  if (completion.status == IBV_WC_SUCCESS && completion.byte_len == kRouteHeader + sizeof(Call)) {
    heard.emplace();
    std::memcpy(&*heard, rooms_.data + room * kRoomBytes + kRouteHeader, sizeof(Call));
    const bool sound = Place::unpack(heard->from.pack()) && heard->lmc <= kMostLmc;
    if (heard->mark != Call::kMark || heard->proof != proof_of(*heard) || !sound) heard.reset();
  }
  if (completion.status == IBV_WC_SUCCESS) listen(room);
  return heard;
}

} // namespace heddle::translators::verbs

// A link that is open: records well and badly made, answers that come late or never.
#include "tests/engine/by_hand.hpp"

namespace heddle::tests {
namespace {

TEST_F(ByHand, GarbageInTheRingLosesTheConnection) {
  using Lay = void (*)(std::byte*);
  const std::vector<std::pair<const char*, Lay>> cases = {
      {"no lead word", [](std::byte* ring) { std::memset(ring, 0x5a, 64); }},
      {"unknown kind", [](std::byte* ring) { lay(ring, 0, static_cast<RecordKind>(77), 0, 0); }},
      {"longer than the ring", [](std::byte* ring) { lay(ring, 0, RecordKind::eager, 0, 0, 0xffff'fff0U); }},
      {"longer than what is left", [](std::byte* ring) { lay(ring, 0, RecordKind::eager, 0, 0, kRingBytes - 16); }},
      {"synchronous without its head", [](std::byte* ring) { lay(ring, 0, RecordKind::eager_synchronous, 0, 0, 4); }},
      {"short request to send",
       [](std::byte* ring) { lay(ring, 0, RecordKind::request_to_send, 0, engine::RequestToSend{}, 39); }},
      {"short unsolicited request to send",
       [](std::byte* ring) { lay(ring, 0, RecordKind::request_to_send_unsolicited, 0, engine::RequestToSend{}, 8); }},
      {"unsolicited request to send nothing",
       [](std::byte* ring) { lay(ring, 0, RecordKind::request_to_send_unsolicited, 0, engine::RequestToSend{}); }},
      {"short finished", [](std::byte* ring) { lay(ring, 0, RecordKind::finish, 0, engine::Finish{}, 8); }},
      {"long clear_to_send",
       [](std::byte* ring) { lay(ring, 0, RecordKind::clear_to_send, 0, engine::ClearToSend{}, 48); }},
      {"short assist", [](std::byte* ring) { lay(ring, 0, RecordKind::assist, 0, engine::AssistRequest{}, 16); }},
      {"short assist_done", [](std::byte* ring) { lay(ring, 0, RecordKind::assist_done, 0, engine::AssistDone{}, 0); }},
      {"assist_done of nothing",
       [](std::byte* ring) { lay(ring, 0, RecordKind::assist_done, 0, engine::AssistDone{}); }},
      {"assist_done of no cell",
       [](std::byte* ring) { lay(ring, 0, RecordKind::assist_done, 0, engine::AssistDone{.cell = 1ULL << 40U}); }},
      {"fragment of no operation", [](std::byte* ring) { lay(ring, 0, RecordKind::fragment, 0x12345678, 0, 8); }},
      {"fragment of a posted receive", [](std::byte* ring) { lay(ring, 0, RecordKind::fragment, 1ULL << 32U, 0, 8); }},
  };
  for (const auto& [name, write] : cases) {
    SCOPED_TRACE(name);
    make(kSelf);
    translator_.commands_.clear();
    std::byte* ring = connect_as_responder();
    std::array<std::byte, 64> into;
    ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}, .tag = Tag{99}}, into, Notify::event(3)).has_value());
    write(ring);
    expect_connection_lost();
  }
}

TEST_F(ByHand, ADeathIsReportedThoughTheLastWordsAreGarbage) {
  std::byte* ring = connect_as_responder();
  lay(ring, 0, RecordKind::finish, 0, engine::Finish{}, 8);
  engine_->peer_failed(kPeer); // reads the ring first, which loses the connection
  const auto told = events();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].kind, Event::Kind::connection_lost);
  EXPECT_EQ(told[1].kind, Event::Kind::peer_failed);
  EXPECT_EQ(engine_->deaths(), 1U);
  engine_->peer_failed(kPeer);
  EXPECT_TRUE(events().empty());
}

TEST_F(ByHand, WordsAboutOperationsThatAreGoneAreIgnored) {
  std::byte* ring = connect_as_responder();
  std::uint64_t at = lay(ring, 0, RecordKind::finish, 0, engine::Finish::of(0x7'0000'0001, 5));
  at = lay(ring, at, RecordKind::clear_to_send, 0, engine::ClearToSend{.sender = ~std::uint64_t{0}});
  lay(ring, at, RecordKind::assist, 0, engine::AssistRequest{.sender = 12, .cell = 3, .chunk = 1});
  progress();
  EXPECT_TRUE(events().empty());
  const FakeTranslator::Written done = next(); // the helper has nothing to do
  EXPECT_EQ(Lead::unpack(done.word()).kind, RecordKind::assist_done);
}

TEST_F(ByHand, ClearToSendOfMoreThanThereIsLosesTheConnection) {
  std::byte* ring = connect_as_responder();
  std::vector<std::byte> data(5000);
  ASSERT_TRUE(engine_->send({.to = Rank{kPeer}, .tag = Tag{1}, .notify = Notify::event(1)}, data).has_value());
  engine::RequestToSend request;
  std::memcpy(&request, next().bytes.data() + 16, sizeof request);
  EXPECT_EQ(request.bytes, 5000U);
  lay(ring, 0, RecordKind::clear_to_send, 0,
      engine::ClearToSend{.sender = request.sender, .receiver = 1, .bytes = 5001});
  expect_connection_lost();
}

TEST_F(ByHand, AHelperThatSaysNothingOfItsChunksFails) {
  std::byte* ring = connect_as_responder();
  std::vector<std::byte> into(5 * 4096);
  ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}}, into, Notify::event(1)).has_value());
  const std::uint64_t at = lay(ring, 0, RecordKind::request_to_send, 0,
                               engine::RequestToSend{.sender = 7, .bytes = into.size(), .key = 5, .readable = 1});
  progress();
  answer(next().command, 0); // the first chunk
  bool asked = false;
  for (int i = 0; i < 20 && !translator_.commands_.empty(); ++i) {
    const FakeTranslator::Written command = next();
    if (command.command.operation == ir::Operation::put) {
      asked = true;                      // the request for help
      area_->cells[0].next.fetch_add(1); // the peer claims one
    } else {
      answer(command.command, 0);
    }
  }
  ASSERT_TRUE(asked);
  EXPECT_TRUE(events().empty());
  lay(ring, at, RecordKind::assist_done, 0, engine::AssistDone{.cell = 0, .bytes = 0});
  expect_connection_lost();
}

TEST_F(ByHand, ReportsItsPositionEvenWhenBackPressureRefusedItAndTheRingIsIdle) {
  std::byte* ring = connect_as_responder();
  std::array<std::byte, 1024> body{};
  std::uint64_t at = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}}, body, Notify::event(1)).has_value());
    at = lay(ring, at, RecordKind::eager, 0, body);
  }
  translator_.refuse = true;
  progress();
  EXPECT_EQ(events().size(), 4U);
  EXPECT_TRUE(translator_.commands_.empty());
  translator_.refuse = false;
  progress(100);
  const FakeTranslator::Written report = next();
  EXPECT_EQ(report.command.remote.key, ir::MemoryKey{kPeerConsumed});
  EXPECT_EQ(report.word(), at);
}

TEST_F(ByHand, ARefusedFirstReadIsAskedForAsFragments) {
  std::byte* ring = connect_as_responder();
  std::vector<std::byte> into(5000);
  ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}}, into, Notify::event(1)).has_value());
  std::uint64_t at = lay(ring, 0, RecordKind::request_to_send, 0,
                         engine::RequestToSend{.sender = 7, .bytes = 5000, .key = 5, .readable = 1});
  progress();
  const FakeTranslator::Written read = next();
  EXPECT_EQ(read.command.operation, ir::Operation::get);
  answer(read.command, 0, ir::Status::refused);
  const FakeTranslator::Written clear = next();
  EXPECT_EQ(Lead::unpack(clear.word()).kind, RecordKind::clear_to_send);
  engine::ClearToSend body;
  std::memcpy(&body, clear.bytes.data() + 16, sizeof body);
  EXPECT_EQ(body.sender, 7U);
  EXPECT_EQ(body.bytes, 5000U);
  std::array<std::byte, 1000> part;
  for (int i = 0; i < 5; ++i) {
    part.fill(static_cast<std::byte>(i + 1));
    at = lay(ring, at, RecordKind::fragment, body.receiver, part);
  }
  progress();
  const auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].completion.code, ErrorCode::ok);
  for (std::size_t i = 0; i < into.size(); ++i) ASSERT_EQ(into[i], static_cast<std::byte>(i / 1000 + 1));
}

TEST_F(ByHand, TheDeathOrDepartureOfAPeerThatWasCutOffIsStillTold) {
  for (const bool dies : {true, false}) {
    make(kSelf);
    translator_.commands_.clear();
    std::byte* ring = connect_as_responder();
    std::memset(ring, 0x5a, 64);
    expect_connection_lost();
    EXPECT_EQ(engine_->send({.to = Rank{kPeer}}, ConstLayout()).error().fact,
              "the connection to rank 2 is lost: its ring holds no valid record");
    for (int i = 0; i < 2; ++i) dies ? engine_->peer_failed(kPeer) : engine_->peer_left(kPeer);
    expect_end(dies ? Event::Kind::peer_failed : Event::Kind::peer_left,
               dies ? ErrorCode::peer_failed : ErrorCode::peer_left);
  }
}

TEST_F(ByHand, DeathIsToldOnceAndGivesTheCommonSlotFree) {
  area_->common.lock.store(engine::incarnation_of(uid_of(kPeer), kSelf));
  engine_->peer_failed(kPeer);
  EXPECT_EQ(area_->common.lock.load(), 0U);
  engine_->peer_failed(kPeer);
  translator_.events_.push_back({.kind = ir::EventKind::peer_failed, .peer = ir::Peer{kPeer}});
  progress(100);
  expect_peer_failed();
  area_->common.lock.store(4); // another's lock is not touched
  engine_->peer_failed(0);
  EXPECT_EQ(area_->common.lock.load(), 4U);
}

} // namespace
} // namespace heddle::tests

// What can be sent from and received into: decided when a program is compiled.
#include <heddle/heddle.hpp>
#include <heddle/pattern.hpp>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tests {
namespace {

template <typename Source>
concept CanBeSent = requires(Context& context, Source&& source) {
  context.send(Rank{0}, Tag{0}, std::forward<Source>(source));
  context.send_unsolicited(Rank{0}, Tag{0}, std::forward<Source>(source));
};
template <typename Source>
concept CanBeReceivedInto =
    requires(Context& context, Source&& source) { context.receive({}, std::forward<Source>(source)); };
template <typename Source>
concept CanBePushed = requires(OneSided& calls, Tracker& tracker, Source&& source) {
  calls.push(Place{}, std::forward<Source>(source), tracker);
  { calls.push(Place{}, std::forward<Source>(source)) } -> std::same_as<ErrorCode>;
};
template <typename Source>
concept CanBePulledInto = requires(OneSided& calls, Tracker& tracker, Source&& source) {
  calls.pull(Place{}, std::forward<Source>(source), tracker);
  { calls.pull(Place{}, std::forward<Source>(source)) } -> std::same_as<ErrorCode>;
};
template <typename Source>
concept CanBeExposed =
    requires(OneSided& calls, Source&& source) { calls.expose(AreaId{0}, std::forward<Source>(source)); };
template <typename Source>
concept CanBeExchanged = requires(Context& context, std::span<std::byte> in, Source&& source) {
  context.start_alltoall(std::forward<Source>(source), in);
};

template <typename Source>
constexpr bool kReadable = CanBeSent<Source> && CanBePushed<Source> && CanBeExchanged<Source>;
template <typename Source>
constexpr bool kUnreadable = !CanBeSent<Source> && !CanBePushed<Source> && !CanBeExchanged<Source>;
template <typename Source>
constexpr bool kWritable = CanBeReceivedInto<Source> && CanBePulledInto<Source> && CanBeExposed<Source>;
template <typename Source>
constexpr bool kUnwritable = !CanBeReceivedInto<Source> && !CanBePulledInto<Source> && !CanBeExposed<Source>;

struct Point {
  double x = 0;
  double y = 0;
};
struct Named { // not trivially copyable
  std::string name;
};
using Ints = std::vector<int>;

// With a name: ranges of anything trivially copyable, and single objects.
static_assert(kReadable<Ints&> && kWritable<Ints&>);
static_assert(kReadable<std::vector<Point>&> && kWritable<std::vector<Point>&>);
static_assert(kReadable<std::string&> && kWritable<std::string&>);
static_assert(kReadable<std::array<float, 3>&> && kWritable<std::array<float, 3>&>);
static_assert(kReadable<int (&)[4]> && kWritable<int (&)[4]>);
static_assert(kReadable<double&> && kWritable<double&>);
static_assert(kReadable<Point&> && kWritable<Point&>);
static_assert(kReadable<Rank&> && kWritable<Rank&>);

// Views may be temporaries: what they refer to is elsewhere.
static_assert(kReadable<std::span<int>> && kWritable<std::span<int>>);
static_assert(kReadable<std::span<int, 4>> && kWritable<std::span<int, 4>>);
static_assert(kReadable<std::span<std::byte>&> && kWritable<std::span<std::byte>&>);
static_assert(kReadable<std::string_view>);
static_assert(kReadable<const char (&)[6]>); // "hello", with its last zero
static_assert(kReadable<Memory> && kWritable<Memory> && kReadable<ConstMemory>);
static_assert(CanBeSent<Layout> && CanBeReceivedInto<Layout> && CanBeSent<ConstLayout>);

// What is const can be sent, and not received into.
static_assert(kReadable<const Ints&> && kUnwritable<const Ints&>);
static_assert(kReadable<const std::string&> && kUnwritable<const std::string&>);
static_assert(kReadable<const double&> && kUnwritable<const double&>);
static_assert(kReadable<const int (&)[4]> && kUnwritable<const int (&)[4]>);
static_assert(kReadable<std::span<const int>> && kUnwritable<std::span<const int>>);
static_assert(kReadable<std::array<const int, 2>&> && kUnwritable<std::array<const int, 2>&>);
static_assert(kUnwritable<std::string_view> && kUnwritable<ConstMemory> && !CanBeReceivedInto<ConstLayout>);

// Temporaries would be gone before they are sent.
static_assert(kUnreadable<std::string> && kUnwritable<std::string>);
static_assert(kUnreadable<const std::string> && kUnreadable<Ints> && kUnwritable<Ints>);
static_assert(kUnreadable<std::array<int, 2>> && kUnwritable<std::array<int, 2>>);
static_assert(kUnreadable<int> && kUnwritable<int> && kUnreadable<Point> && kUnreadable<const Point>);

// Bytes of these are not what they mean.
static_assert(kUnreadable<std::vector<std::string>&> && kUnwritable<std::vector<std::string>&>);
static_assert(kUnreadable<Named&> && kUnwritable<Named&> && kUnreadable<std::span<Named>>);
static_assert(kUnreadable<std::unique_ptr<int>&> && kUnwritable<std::unique_ptr<int>&>);
static_assert(kUnreadable<int*&> && kUnreadable<const char*&> && kUnreadable<std::nullptr_t&>);
// These are not contiguous.
static_assert(kUnreadable<std::list<int>&> && kUnreadable<std::deque<int>&> && kUnreadable<std::vector<bool>&>);
static_assert(kUnwritable<std::list<int>&> && kUnwritable<std::deque<int>&> && kUnwritable<std::vector<bool>&>);

// Lists that are not copied must last, too.
template <typename List>
concept CanBePieces = requires(List&& list) { ConstLayout::pieces(std::forward<List>(list)); };
static_assert(CanBePieces<std::vector<ConstPiece>&> && CanBePieces<std::span<const ConstPiece>>);
static_assert(!CanBePieces<std::vector<ConstPiece>> && !CanBePieces<std::array<ConstPiece, 1>>);
template <typename Bits>
concept CanBeABitmap = requires(Bits&& bits) { Selection::bitmap(std::forward<Bits>(bits), 4); };
static_assert(CanBeABitmap<std::vector<std::uint64_t>&> && CanBeABitmap<std::span<const std::uint64_t>>);
static_assert(!CanBeABitmap<std::vector<std::uint64_t>> && !CanBeABitmap<std::vector<std::uint32_t>&>);
template <typename Twin>
concept CanBeATwin = requires(Twin&& twin) { Selection::changed(std::forward<Twin>(twin)); };
static_assert(CanBeATwin<Ints&> && !CanBeATwin<Ints>);

TEST(Layout, DescribesTheBytesOfWhatItIsMadeOf) {
  std::vector<Point> points(3);
  const std::string text = "four";
  double number[5] = {};
  Point point;
  EXPECT_EQ(Layout(points).bytes(), 3 * sizeof(Point));
  EXPECT_EQ(static_cast<const void*>(Layout(points).data()), points.data());
  EXPECT_EQ(ConstLayout(text).bytes(), 4U);
  EXPECT_EQ(Layout(number).bytes(), sizeof number);
  EXPECT_EQ(Layout(point).bytes(), sizeof point);
  EXPECT_EQ(static_cast<const void*>(Layout(point).data()), &point);
  EXPECT_EQ(ConstLayout(std::span(points).subspan(1)).data(), reinterpret_cast<const std::byte*>(&points[1]));
  EXPECT_EQ(ConstLayout(Layout(points)).bytes(), 3 * sizeof(Point));
  EXPECT_EQ(ConstMemory(Memory(point)).size(), sizeof point);
  EXPECT_EQ(ConstMemory(std::string_view()).size(), 0U);
}

} // namespace
} // namespace heddle::tests

// A hash table of intrusive first-in first-out chains, keyed by (source, tag): constant time however many entries share a
// key or have others. Entries of one bucket stand in the order they came in, so the first that fits is the oldest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace heddle::engine {

struct MatchKey {
  std::uint32_t source = 0;
  std::uint64_t tag = 0;
  friend bool operator==(const MatchKey&, const MatchKey&) = default;
};

template <typename Item>
struct Hook {
  Item* next = nullptr;
  Item* previous = nullptr;
};

// Access says where the links of an item are, `Hook<Item>& hook(Item&)`, and its key, `MatchKey key(const Item&)`. An item's key stays as it
// is while it is in the table.
template <typename Item, typename Access>
class KeyTable {
 public:
  explicit KeyTable(Access access = {}) : access_(access), buckets_(std::size_t{1} << kFirstBits) {}

  void push_back(Item& item) {
    if (++count_ > most_) [[unlikely]]
      grow();
    append(buckets_[bucket_of(access_.key(item))], item);
  }
  void remove(Item& item) { unlink(buckets_[bucket_of(access_.key(item))], item); }
  // The oldest item of that key, or null.
  [[nodiscard]] Item* find(const MatchKey& key) const {
    Item* item = buckets_[bucket_of(key)].head;
    while (item != nullptr && !(access_.key(*item) == key)) item = access_.hook(*item).next;
    return item;
  }
  // The same, taken out. In one go: the commonest step of matching.
  [[nodiscard]] Item* take(const MatchKey& key) {
    Bucket& bucket = buckets_[bucket_of(key)];
    Item* item = bucket.head;
    while (item != nullptr && !(access_.key(*item) == key)) item = access_.hook(*item).next;
    if (item != nullptr) unlink(bucket, *item);
    return item;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const Access& access() const { return access_; }
  // Items that a find of that key compares at most. For tests.
  [[nodiscard]] std::size_t chain_length(const MatchKey& key) const {
    std::size_t length = 0;
    for (Item* item = buckets_[bucket_of(key)].head; item != nullptr; item = access_.hook(*item).next) ++length;
    return length;
  }

 private:
  static constexpr unsigned kFirstBits = 8;
  static constexpr std::size_t kChain = 2; // items per bucket, on average
  struct Bucket {
    Item* head = nullptr;
    Item* tail = nullptr;
  };

  [[nodiscard]] std::size_t bucket_of(const MatchKey& key) const {
    // Fibonacci hashing: only the top bits of the product depend on all bits of the key. The source is spread over the
    // whole word first, so that it meets no tag that is made of a rank in some field.
    const std::uint64_t mixed = key.tag ^ (key.source * 0xc2b2'ae3d'27d4'eb4fULL);
    return static_cast<std::size_t>((mixed * 0x9e37'79b9'7f4a'7c15ULL) >> shift_);
  }
  void unlink(Bucket& bucket, Item& item) {
    Hook<Item>& hook = access_.hook(item);
    (hook.previous == nullptr ? bucket.head : access_.hook(*hook.previous).next) = hook.next;
    (hook.next == nullptr ? bucket.tail : access_.hook(*hook.next).previous) = hook.previous;
    --count_;
  }
  void append(Bucket& bucket, Item& item) {
    Hook<Item>& hook = access_.hook(item);
    hook.next = nullptr;
    hook.previous = bucket.tail;
    (bucket.tail == nullptr ? bucket.head : access_.hook(*bucket.tail).next) = &item;
    bucket.tail = &item;
  }
  [[gnu::noinline]] void grow() {
    std::vector<Bucket> old;
    try {
      old.resize(buckets_.size() * 2);
    } catch (const std::bad_alloc&) { // longer chains do as well, only slower
      most_ *= 2;
      return;
    }
    old.swap(buckets_);
    most_ = buckets_.size() * kChain;
    --shift_;
    for (Bucket& bucket : old)
      for (Item* item = bucket.head; item != nullptr;) {
        Item* next = access_.hook(*item).next;
        append(buckets_[bucket_of(access_.key(*item))], *item);
        item = next;
      }
  }

  [[no_unique_address]] Access access_;
  std::vector<Bucket> buckets_;      // a power of two
  unsigned shift_ = 64 - kFirstBits; // leaves as many bits as number them
  std::size_t count_ = 0;
  std::size_t most_ = kChain << kFirstBits; // before the table grows
};

} // namespace heddle::engine

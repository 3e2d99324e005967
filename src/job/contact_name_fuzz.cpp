// What somebody may give as the name of a peer: any text, any bytes, a true name that was damaged on its way, or one made up by
// somebody who knows how. A name that is read back as it was written comes of it, or an error.
#include "job/contact_name.hpp"

#include "base/fuzz_input.hpp"
#include "translators/shm/shm.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace heddle::fuzz {
namespace {

using job::ContactName;

void demand_refused(const Result<Name>& name) {
  demand(!name, "a damaged name is refused");
  demand(name.error().code == ErrorCode::bad_argument, "as a bad argument");
  demand_message(name.error());
}

void demand_same(const Name& name) {
  const auto from_text = Name::from_text(name.text());
  const auto from_bytes = Name::from_bytes(name.bytes());
  demand(from_text && *from_text == name, "a name is read back from its text");
  demand(from_bytes && *from_bytes == name, "and from its bytes");
  const ContactName contact = ContactName::decode(name);
  for (const ContactName::Entry& entry : contact.networks) {
    demand(entry.address.size <= entry.address.bytes.size(), "a short address has an end");
    demand(entry.letter != 0 && contact.find(entry.letter) == &entry, "and one network");
  }
}

ContactName made_up(Input& input) {
  ContactName contact{.uid = input.word()};
  for (std::uint32_t count = input.below(4); count > 0; --count) {
    ContactName::Entry entry{.letter = static_cast<char>('a' + 4 * count + input.below(4)),
                             .address = {.size = static_cast<std::uint8_t>(input.below(25))}};
    for (std::size_t i = 0; i < entry.address.size; ++i) entry.address.bytes[i] = input.take<std::byte>();
    contact.networks.push_back(entry);
  }
  return contact;
}

void round_trip(const ContactName& contact) {
  const auto name = contact.encode();
  if (!name) return demand_message(name.error());
  demand_same(*name);
  const ContactName back = ContactName::decode(*name);
  demand(back.uid == contact.uid && back.networks.size() == contact.networks.size(), "a name says who was put into it");
  for (std::size_t i = 0; i < back.networks.size(); ++i)
    demand(back.networks[i].letter == contact.networks[i].letter &&
               std::ranges::equal(back.networks[i].address.used(), contact.networks[i].address.used()),
           "and where");
}

void damage(const ContactName& contact, Input& input) {
  const auto made = contact.encode();
  if (!made) return demand_message(made.error());
  const Name& name = *made;
  auto bytes = name.bytes();
  std::string text = name.text();
  const std::uint32_t at = input.below(Name::kBytes);
  const auto change = static_cast<std::byte>(1 + input.below(255));
  bytes[at] ^= change;
  demand_refused(Name::from_bytes(bytes));
  demand_refused(Name::from_bytes(std::span(bytes).first(at)));
  text[2 * at] = static_cast<char>(text[2 * at] + 1 + static_cast<char>(input.below(200)));
  if (Name::from_text(text)) demand(text[2 * at] >= 'A' && text[2 * at] <= 'F', "but for its digits' case");
  demand_refused(Name::from_text(text.substr(0, at)));
}

// As Context::add_peer does with a name. Its own address, changed or cut: other processes' files are none of the fuzzer's business.
void add(Input& input) {
  static const auto own =
      translators::Shm::create({.uid = 7, .ring_memory = 1 << 20, .log = base::Log(LogLevel::silent)});
  demand(own.has_value(), "shared memory is there");
  ContactName contact{.uid = input.word(), .networks = {{.letter = 's', .address = (*own)->short_address()}}};
  ir::ShortAddress& address = contact.networks.front().address;
  for (std::uint32_t changes = input.below(4); changes > 0; --changes) {
    const std::uint64_t word = input.word();
    const std::size_t at = sizeof(std::int32_t) * (1 + input.below(5)); // all but the process
    std::memcpy(address.bytes.data() + at, &word, sizeof(std::int32_t));
  }
  if (input.below(8) == 0) address.size = static_cast<std::uint8_t>(input.below(25));
  const ContactName given = ContactName::decode(*contact.encode());
  const auto whole = (*own)->whole_address(given.uid, given.networks.front().address.used());
  if (!whole) return demand_message(whole.error());
  if (const auto reached = (*own)->reaches(*whole); !reached) return demand_message(reached.error());
  if (const auto attached = (*own)->attach(ir::Peer{1}, *whole); !attached) demand_message(attached.error());
  (*own)->detach(ir::Peer{1});
  std::array<ir::Event, 4> events;
  (void)(*own)->poll(events); // its line in the guest book is free again
}

} // namespace

void contact_name(Input& input) {
  switch (input.below(5)) {
    case 0: {
      const auto name = Name::from_text(input.text());
      return name ? demand_same(*name) : demand_message(name.error());
    }
    case 1: {
      const auto name = Name::from_bytes(input.bytes(input.left()));
      return name ? demand_same(*name) : demand_message(name.error());
    }
    case 2: return round_trip(made_up(input));
    case 3: return damage(made_up(input), input);
    default: return add(input);
  }
}

} // namespace heddle::fuzz

// What somebody may give as the name of a peer: any text, any bytes, a true name that was damaged on its way, or one made up by
// somebody who knows how. A name that is read back as it was written comes of it, or an error.
#include "job/contact_name.hpp"

#include "base/fuzz_input.hpp"
#include "translators/shm/shm.hpp"

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
  demand(contact.translator.size() <= ContactName::kLongestTranslator, "a translator's name has an end");
}

ContactName made_up(Input& input) {
  ContactName contact{.uid = input.word(), .translator = std::string(input.text(input.below(16))), .address = {}};
  for (std::byte& each : contact.address) each = input.take<std::byte>();
  return contact;
}

void round_trip(const ContactName& contact) {
  const Name name = contact.encode();
  demand_same(name);
  const ContactName back = ContactName::decode(name);
  const std::string_view translator = std::string_view(contact.translator).substr(0, ContactName::kLongestTranslator);
  demand(back.uid == contact.uid && back.address == contact.address &&
             back.translator == translator.substr(0, translator.find('\0')),
         "a name says what was put into it");
}

void damage(const ContactName& contact, Input& input) {
  const Name name = contact.encode();
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

// As Context::add_peer does with a name. Its own address, changed: other processes' files are none of the fuzzer's business.
void add(Input& input) {
  static const auto own =
      translators::Shm::create({.uid = 7, .ring_memory = 1 << 20, .log = base::Log(LogLevel::silent)});
  demand(own.has_value(), "shared memory is there");
  ContactName contact{.uid = input.word(), .translator = "shm", .address = (*own)->address()};
  for (std::uint32_t changes = input.below(4); changes > 0; --changes) {
    const std::uint64_t word = input.word();
    const std::size_t at = sizeof(std::int32_t) * (1 + input.below(9)); // all but the process
    std::memcpy(contact.address.data() + at, &word, sizeof(std::int32_t));
  }
  const ContactName given = ContactName::decode(contact.encode());
  if (const auto reached = (*own)->reaches(given.address); !reached) return demand_message(reached.error());
  if (const auto attached = (*own)->attach(ir::Peer{1}, given.address); !attached) demand_message(attached.error());
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

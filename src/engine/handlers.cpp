#include "engine/handlers.hpp"

#include "base/reserve.hpp"

#include <new>

namespace heddle::engine {

void Handlers::remove(const void* owner) {
  for (RecordRow& row : records_)
    if (row.owner == owner) row = {};
  for (CommandRow& row : commands_)
    if (row.owner == owner) row = {};
  std::erase_if(end_rows_, [owner](const EndRow& row) { return row.owner == owner; });
}

// Where memory is short the record stays in its ring: what it does, it does after it has all that it needs.
Taken Handlers::take(Connection& connection, Lead lead, const std::byte* record) const try {
  const RecordRow& row = records_[static_cast<std::size_t>(lead.kind)];
  if (row.take == nullptr) return Taken::malformed;
  if (row.begins == Begins::yes && !base::Reserve::may_begin()) return Taken::later;
  return row.take(row.owner, connection, lead, load_tag(record), record + kRecordHeadBytes);
} catch (const std::bad_alloc&) {
  return Taken::later;
}

} // namespace heddle::engine

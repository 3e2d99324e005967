// Address vectors: names of peers. A peer is talked to when it is first used, not when it is inserted.
#include "provider/endpoint.hpp"
#include "provider/queue.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::provider {

namespace {

AddressVector& vector_of(fid_av* fid) {
  return *reinterpret_cast<AddressVector*>(fid);
}

int insert_addresses(fid_av* fid, const void* addresses, size_t count, fi_addr_t* places, uint64_t flags,
                     void* context) try {
  AddressVector& vector = vector_of(fid);
  const bool told_each = (flags & FI_SYNC_ERR) != 0;
  if ((flags & ~(FI_MORE | FI_SYNC_ERR)) != 0) return -FI_EBADFLAGS;
  const Lock lock(*vector.domain);
  int inserted = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto* bytes = static_cast<const std::byte*>(addresses) + i * Name::kBytes;
    auto name = Name::from_bytes({bytes, Name::kBytes});
    if (told_each) static_cast<int*>(context)[i] = name ? 0 : FI_EINVAL;
    fi_addr_t place = FI_ADDR_NOTAVAIL;
    if (name && !vector.free.empty() && places != nullptr) {
      place = vector.free.back();
      vector.free.pop_back();
      vector.names[place] = *name;
    } else if (name) {
      place = vector.names.size();
      vector.names.emplace_back(*name);
    } else {
      refuse(name.error());
    }
    if (places != nullptr) places[i] = place;
    inserted += name ? 1 : 0;
    for (Endpoint* endpoint : vector.domain->endpoints)
      if (name && endpoint->enabled && endpoint->addresses == &vector) endpoint->greet(place);
  }
  if (!vector.tells_later || vector.queue == nullptr) return inserted;
  const fi_eq_entry event{.fid = &fid->fid, .context = context, .data = static_cast<std::uint64_t>(inserted)};
  const ssize_t written = fi_eq_write(vector.queue, FI_AV_COMPLETE, &event, sizeof event, 0);
  return written < 0 ? static_cast<int>(written) : 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int remove_addresses(fid_av* fid, fi_addr_t* places, size_t count, uint64_t /*flags*/) try {
  AddressVector& vector = vector_of(fid);
  const Lock lock(*vector.domain);
  for (size_t i = 0; i < count; ++i) {
    const fi_addr_t place = places[i];
    if (place >= vector.names.size() || !vector.names[place]) return -FI_EINVAL;
    vector.names[place].reset();
    vector.free.push_back(place);
    for (Endpoint* endpoint : vector.domain->endpoints)
      if (endpoint->addresses == &vector) endpoint->forget(place);
  }
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int look_up_address(fid_av* fid, fi_addr_t place, void* address, size_t* bytes) {
  AddressVector& vector = vector_of(fid);
  const Lock lock(*vector.domain);
  if (place >= vector.names.size() || !vector.names[place]) return -FI_EINVAL;
  std::memcpy(address, vector.names[place]->bytes().data(), std::min(*bytes, Name::kBytes));
  *bytes = Name::kBytes;
  return 0;
}

const char* text_of(fid_av* /*fid*/, const void* address, char* buffer, size_t* bytes) {
  const auto name = Name::from_bytes({static_cast<const std::byte*>(address), Name::kBytes});
  const std::string text = "fi_addr_heddle://" + (name ? name->text() : std::string("?"));
  const size_t length = std::min(*bytes == 0 ? 0 : *bytes - 1, text.size());
  if (*bytes > 0) {
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  *bytes = text.size() + 1;
  return buffer;
}

int close_addresses(fid* fid) {
  auto& vector = *reinterpret_cast<AddressVector*>(fid);
  {
    const Lock lock(*vector.domain);
    if (vector.users > 0) return -FI_EBUSY;
    --vector.domain->users;
  }
  delete &vector;
  return 0;
}

int bind_addresses(fid* fid, struct fid* other, uint64_t /*flags*/) {
  if (other->fclass != FI_CLASS_EQ) return -FI_EINVAL;
  reinterpret_cast<AddressVector*>(fid)->queue = reinterpret_cast<fid_eq*>(other);
  return 0;
}

fi_ops address_fid_operations = {.size = sizeof(fi_ops),
                                 .close = close_addresses,
                                 .bind = bind_addresses,
                                 .control = no_control,
                                 .ops_open = no_ops};
fi_ops_av address_operations = {
    .size = sizeof(fi_ops_av),
    .insert = insert_addresses,
    .insertsvc = [](fid_av*, const char*, const char*, fi_addr_t*, uint64_t, void*) { return -FI_ENOSYS; },
    .insertsym = [](fid_av*, const char*, size_t, const char*, size_t, fi_addr_t*, uint64_t,
                    void*) { return -FI_ENOSYS; },
    .remove = remove_addresses,
    .lookup = look_up_address,
    .straddr = text_of,
    .av_set = [](fid_av*, fi_av_set_attr*, fid_av_set**, void*) { return -FI_ENOSYS; }};

} // namespace

int open_addresses(fid_domain* domain_fid, fi_av_attr* attributes, fid_av** fid, void* context) try {
  auto& domain = *reinterpret_cast<Domain*>(domain_fid);
  if (attributes != nullptr) {
    if (attributes->name != nullptr) return -FI_ENOSYS; // shared between processes
    if (attributes->type > FI_AV_TABLE || attributes->rx_ctx_bits != 0) return -FI_EINVAL;
    if ((attributes->flags & ~FI_EVENT) != 0) return -FI_ENOSYS;
    if (attributes->type == FI_AV_UNSPEC) attributes->type = FI_AV_MAP;
  }
  auto vector = std::make_unique<AddressVector>();
  vector->domain = &domain;
  vector->tells_later = attributes != nullptr && (attributes->flags & FI_EVENT) != 0;
  vector->fid = {.fid = {.fclass = FI_CLASS_AV, .context = context, .ops = &address_fid_operations},
                 .ops = &address_operations};
  const Lock lock(domain);
  ++domain.users;
  *fid = &vector.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

} // namespace heddle::provider

#include "sim/rhinet/timing.hpp"

namespace heddle::sim {

LineTimes fill_behind(Picoseconds start, const LineTimes& due, const LineTimes& left) {
  LineTimes in;
  Picoseconds held{0}; // wait states so far
  for (std::size_t word = 0; word < kLineWords; ++word) {
    in[word] = std::max(start + due[word] + held, left[word]);
    held = in[word] - start - due[word];
  }
  return in;
}

LineTimes drain(Picoseconds start, Picoseconds cycle, const LineTimes& in) {
  LineTimes out;
  Picoseconds free = start;
  for (std::size_t word = 0; word < kLineWords; ++word) {
    out[word] = std::max(free + cycle, in[word]);
    free = out[word];
  }
  return out;
}

// Without remedy 1 a line is fetched while the last words of the one before leave, and moved on when it is there. With it both
// buses work at once and the slower counts. The receiver is the mirror image, and pauses to decode each packet.
RhinetBandwidth sustained_bandwidth(const RhinetParameters& given) {
  const RhinetTiming timing(given);
  const auto per_second = [](std::uint32_t bytes, Picoseconds time) {
    return static_cast<double>(bytes) * 1e12 / static_cast<double>(time.count());
  };
  const Picoseconds local = timing.local(false, kLineWords);
  const Picoseconds write = timing.pci_write(kLineWords);
  Picoseconds send = std::max(timing.read_line(), local);
  Picoseconds receive = std::max(local, write);
  if (!timing.overlap) {
    send = timing.local(false, kLineWords - timing.given.almost_empty_words) + timing.read_line();
    receive = local + timing.pci * timing.given.into_pci + write - timing.pci * timing.given.almost_empty_words;
  }
  const std::uint32_t lines = given.mtu / kLineBytes;
  const Picoseconds pause = timing.receive_decode() + timing.dma_request_to_local() + timing.local(true, 0);
  return {.sender = per_second(kLineBytes, send),
          .receiver = per_second(given.mtu, receive * lines + pause),
          .network = static_cast<double>(given.rate.bytes_per_second) * given.mtu / (given.mtu + given.header_bytes),
          .pci = per_second(kLineBytes, timing.read_line())};
}

} // namespace heddle::sim

// The clocks of RHiNET-1's interface and what each step of a push takes. Pure arithmetic over RhinetParameters, which count the cycles.
//
//   host memory =PCI bus= PCI controller [FIFO] =local bus= primitive controller -> sending FIFO -> network -> ...
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/rhinet.hpp"

namespace heddle::sim {

// The data of a packet moves through the interface in lines: what the PCI controller's FIFO holds. A shorter piece takes
// the time of a whole line (the report gives one latency for 8 and for 64 bytes), but only its own words are written to memory.
inline constexpr std::uint32_t kLineBytes = 64; // 0.90 us from PCI to local bus are 64 bytes in two bursts
inline constexpr std::uint32_t kWordBytes = 4;  // PCI and local bus, 32 bits
inline constexpr std::uint32_t kLineWords = kLineBytes / kWordBytes;

inline constexpr std::int64_t kBytesOfWord = 4; // a word passes the network one byte after the other

struct RhinetTiming {
  RhinetParameters given;
  Picoseconds pci;
  Picoseconds controller;
  Picoseconds network;
  bool overlap;
  bool read_multiple;

  explicit RhinetTiming(const RhinetParameters& parameters)
      : given(parameters),
        pci(given.pci_cycle),
        controller(given.controller_cycle),
        network(given.rate.time(1)),
        overlap(given.overlap),
        read_multiple(given.read_multiple) {}

  // The host's write of a primitive, until it shows on the local bus.
  [[nodiscard]] Picoseconds primitive_write() const { return pci * (given.pci_start + given.primitive_words); }
  // From there to the request for DMA.
  [[nodiscard]] Picoseconds decode() const {
    return controller * (given.local_start + given.primitive_words + given.decode) + next_packet();
  }
  // The same for the next packet of one primitive.
  [[nodiscard]] Picoseconds next_packet() const { return controller * (given.translate + given.prepare); }
  [[nodiscard]] Picoseconds header_out() const { return controller * given.header_out + network * given.into_network; }
  // From the request to an engine that is ready on the PCI side, and to data on the local bus where that goes first.
  [[nodiscard]] Picoseconds dma_request() const {
    return controller * given.dma_request + pci * (given.into_pci + given.dma_set_up);
  }
  [[nodiscard]] Picoseconds dma_request_to_local() const { return dma_request() + controller * given.into_controller; }
  // From the local bus's last word to the flag on PCI: the request for it, then its one word.
  [[nodiscard]] Picoseconds to_flag_request() const { return controller * given.notice_end; }
  [[nodiscard]] Picoseconds flag_to_pci() const {
    return dma_request_to_local() + controller * (given.local_start + 1) + pci * given.into_pci;
  }
  [[nodiscard]] Picoseconds pci_write(std::int64_t words) const { return pci * (given.write_start + words); }
  // At the receiver: from the first word in the FIFO to the request for DMA.
  [[nodiscard]] Picoseconds receive_decode() const {
    return network * kBytesOfWord + controller * (given.into_controller + given.local_start + given.header_words +
                                                  given.area + given.translate + given.prepare);
  }
  [[nodiscard]] Picoseconds through() const { return controller * given.through + network * given.into_network; }

  // When word `word` of a line read from memory is there, after the start of its transaction.
  [[nodiscard]] Picoseconds read(std::int64_t word) const {
    const std::int64_t bursts = read_multiple ? 1 : word / given.burst_words + 1;
    return pci * (bursts * given.read_latency + word + 1);
  }
  [[nodiscard]] Picoseconds read_line() const { return read(kLineWords - 1); }
  // The local bus for the words of a line; only the first line of a packet has to start it.
  [[nodiscard]] Picoseconds local(bool first, std::int64_t words) const {
    return controller * ((first ? given.local_start : 0) + words);
  }
};

// When the words of one line pass one point.
using LineTimes = std::array<Picoseconds, kLineWords>;

// A FIFO that is filled and emptied at once (remedy 1). Filling starts at `start`, its word w is due `due[w]` later, and
// waits for the place that word w of the line before leaves at `left[w]`. Answers with when each word is in.
LineTimes fill_behind(Picoseconds start, const LineTimes& due, const LineTimes& left);
// The local bus behind it, from `start` on: word by word, none before it is in.
LineTimes drain(Picoseconds start, Picoseconds cycle, const LineTimes& in);

// Sustained bytes per second of long flows, from the slowest part; the closed form of what the simulation does.
// A line takes: the sending interface, the receiving interface, the network with its share of the header.
struct RhinetBandwidth {
  double sender = 0;
  double receiver = 0;
  double network = 0;
  double pci = 0; // the PCI bus alone, were everything else free: a line per read_line()
  [[nodiscard]] double limit() const { return std::min({sender, receiver, network}); }
};
RhinetBandwidth sustained_bandwidth(const RhinetParameters& given);

} // namespace heddle::sim

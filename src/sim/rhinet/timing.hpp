// The clocks of RHiNET-1's interface and what each step of a push takes, in cycles. Pure arithmetic over RhinetParameters.
//
//   host memory =PCI bus= PCI controller [FIFO] =local bus= primitive controller -> sending FIFO -> network -> ...
//
// Where a figure comes from: [R] the report says it; [T] it follows from a difference of two of the twelve times the report measured,
// split into the steps that the report describes; [C] chosen so that 4 KiB move at the 37 MB/s that the report measured.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/rhinet.hpp"

namespace heddle::sim {

// The data of a packet moves through the interface in lines: what the PCI controller's FIFO holds. A shorter piece takes
// the time of a whole line (the report gives one latency for 8 and for 64 bytes), but only its own words are written to memory.
inline constexpr std::uint32_t kLineBytes = 64; // [T] 0.90 us from PCI to local bus are 64 bytes in two bursts
inline constexpr std::uint32_t kWordBytes = 4;  // [R] PCI and local bus, 32 bits
inline constexpr std::uint32_t kLineWords = kLineBytes / kWordBytes;

namespace cycles {
// Of the PCI bus.
inline constexpr std::int64_t kPciStart = 2;       // address, and the target's answer
inline constexpr std::int64_t kPrimitiveWords = 8; // [R] the arguments of push, and the word that starts it
inline constexpr std::int64_t kDmaSetUp = 10;      // [T] address and count into the engine, request, grant
inline constexpr std::int64_t kReadLatency = 7;    // [T] of each burst from memory, its address included
inline constexpr std::int64_t kBurstWords = 8;     // [R] a plain read is broken off every 32 bytes
inline constexpr std::int64_t kWriteStart = 1;     // address
inline constexpr std::int64_t kIntoPci = 2;        // [T] flip-flops between two clocks
// Of the primitive controller and its local bus.
inline constexpr std::int64_t kLocalStart = 2;       // [T] of a transaction
inline constexpr std::int64_t kDecode = 4;           // [T] which primitive, may this process
inline constexpr std::int64_t kArea = 8;             // [T] area id and offset to address, at the receiver
inline constexpr std::int64_t kTranslate = 8;        // [T] TLB
inline constexpr std::int64_t kPrepare = 6;          // [T] route, header, DMA address
inline constexpr std::int64_t kHeaderWords = 4;      // header over the local bus, at the receiver
inline constexpr std::int64_t kHeaderOut = 2;        // [T] header into the sending FIFO
inline constexpr std::int64_t kDmaRequest = 4;       // [T] over the path beside the local bus that starts DMA [R]
inline constexpr std::int64_t kThrough = 3;          // [T] a word from local bus to sending FIFO
inline constexpr std::int64_t kNoticeEnd = 5;        // [T] from the last word to the request for the flag
inline constexpr std::int64_t kIntoController = 2;   // [T] flip-flops between two clocks
inline constexpr std::int64_t kAlmostEmptyWords = 4; // [C] left in the FIFO when the next line is fetched
// Of the network.
inline constexpr std::int64_t kIntoNetwork = 4; // [T] flip-flops, and 32 bits into 8
inline constexpr std::int64_t kWord = 4;        // [R] bytes one after the other
} // namespace cycles

struct RhinetTiming {
  Picoseconds pci;
  Picoseconds controller;
  Picoseconds network;
  bool overlap;
  bool read_multiple;

  explicit RhinetTiming(const RhinetParameters& given)
      : pci(given.pci_cycle),
        controller(given.controller_cycle),
        network(given.rate.time(1)),
        overlap(given.overlap),
        read_multiple(given.read_multiple) {}

  // The host's write of a primitive, until it shows on the local bus.
  [[nodiscard]] Picoseconds primitive_write() const { return pci * (cycles::kPciStart + cycles::kPrimitiveWords); }
  // From there to the request for DMA.
  [[nodiscard]] Picoseconds decode() const {
    return controller * (cycles::kLocalStart + cycles::kPrimitiveWords + cycles::kDecode) + next_packet();
  }
  // The same for the next packet of one primitive.
  [[nodiscard]] Picoseconds next_packet() const { return controller * (cycles::kTranslate + cycles::kPrepare); }
  [[nodiscard]] Picoseconds header_out() const {
    return controller * cycles::kHeaderOut + network * cycles::kIntoNetwork;
  }
  // From the request to an engine that is ready on the PCI side, and to data on the local bus where that goes first.
  [[nodiscard]] Picoseconds dma_request() const {
    return controller * cycles::kDmaRequest + pci * (cycles::kIntoPci + cycles::kDmaSetUp);
  }
  [[nodiscard]] Picoseconds dma_request_to_local() const {
    return dma_request() + controller * cycles::kIntoController;
  }
  // From the local bus's last word to the flag on PCI: the request for it, then its one word.
  [[nodiscard]] Picoseconds to_flag_request() const { return controller * cycles::kNoticeEnd; }
  [[nodiscard]] Picoseconds flag_to_pci() const {
    return dma_request_to_local() + controller * (cycles::kLocalStart + 1) + pci * cycles::kIntoPci;
  }
  [[nodiscard]] Picoseconds pci_write(std::int64_t words) const { return pci * (cycles::kWriteStart + words); }
  // At the receiver: from the first word in the FIFO to the request for DMA.
  [[nodiscard]] Picoseconds receive_decode() const {
    return network * cycles::kWord +
           controller * (cycles::kIntoController + cycles::kLocalStart + cycles::kHeaderWords + cycles::kArea +
                         cycles::kTranslate + cycles::kPrepare);
  }
  [[nodiscard]] Picoseconds through() const { return controller * cycles::kThrough + network * cycles::kIntoNetwork; }

  // When word `word` of a line read from memory is there, after the start of its transaction.
  [[nodiscard]] Picoseconds read(std::int64_t word) const {
    const std::int64_t bursts = read_multiple ? 1 : word / cycles::kBurstWords + 1;
    return pci * (bursts * cycles::kReadLatency + word + 1);
  }
  [[nodiscard]] Picoseconds read_line() const { return read(kLineWords - 1); }
  // The local bus for the words of a line; only the first line of a packet has to start it.
  [[nodiscard]] Picoseconds local(bool first, std::int64_t words) const {
    return controller * ((first ? cycles::kLocalStart : 0) + words);
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

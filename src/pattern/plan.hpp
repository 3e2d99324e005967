// A pattern as one process holds it: what the program declared, and what compiling made of it. Plain data; compiler.hpp fills
// it, runner.hpp works on it.
#pragma once

#include "base/reserve.hpp"
#include "engine/schedule_queue.hpp"
#include "ir/translator.hpp"
#include "pattern/wire.hpp"

#include <heddle/pattern.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle::pattern {

class GridPlaces;

// Where in a grid a request goes, when every process runs the same pattern.
struct Hint {
  struct Step { // one place on along an axis
    std::uint32_t axis = 0;
    bool down = false;
    std::uint32_t neighbour = 0; // the rank that this step alone would lead to
  };
  bool given = false;
  std::uint32_t direction = 0;
  std::vector<Step> steps; // by axis
  std::vector<int> offset;
  std::shared_ptr<const GridPlaces> places; // of the grid
  [[nodiscard]] bool diagonal() const { return steps.size() > 1; }
};

struct Declared {
  enum class Kind : std::uint8_t { send, receive, put, expose } kind{};
  std::uint32_t rank = 0;
  std::uint64_t tag = 0;
  std::uint64_t offset = 0;
  ConstLayout source;
  Layout target;
  Hint hint;
};

// A process that this one exchanges something with, other than itself.
struct Partner {
  std::uint32_t rank = 0;
  engine::ScheduleQueue* queue = nullptr;
  ir::ExposedMemory memory; // of `line`
  Line* line = nullptr;     // written by the partner
  ir::RemotePlace remote_line;
  ir::DirectRing direct;          // it as direct memory, where it is
  std::uint32_t records = 0;      // received from it in a round
  std::uint32_t records_left = 0; // in this one
  bool awaits_start = false;      // it may write data only after this process's start
  bool lost = false;
  bool never_began = false; // its compile has failed: it writes nothing here
};

enum class Progress : std::uint8_t { waiting, under_way, done, failed };

struct Out {
  std::uint32_t item = 0;
  std::uint32_t partner = 0;
  Progress progress = Progress::done;
  Delivery way = Delivery::refused;
  std::uint8_t send_engine = ir::kAnyEngine;
  std::uint8_t receive_engine = ir::kAnyEngine;
  std::uint32_t path = ir::kAnyPath;
  bool owes_flag = false;      // when the data have arrived
  std::uint32_t under_way = 0; // commands
  const std::byte* local = nullptr;
  std::uint64_t bytes = 0;
  ir::RemotePlace place;
  ir::RemotePlace flag;
  ir::DirectRing direct; // the slots, where they are direct memory
  ir::DirectRing direct_flag;
  std::uint64_t slot = 0;
  ConstLayout source;
  base::BackedVector<std::byte> staging; // gathered into, where the source is not contiguous
};

struct In {
  std::uint32_t item = 0;
  std::uint32_t partner = 0;
  Progress progress = Progress::done;
  Delivery way = Delivery::refused;
  bool lands = false; // and is copied out
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0; // in the target
  std::uint64_t slot = 0;
  ir::ExposedMemory memory; // slots, or a word and perhaps the landing place behind it
  ir::RemotePlace exposed;  // the caller's memory
  bool is_exposed = false;
  Layout target;
};

// From this process to itself.
struct Within {
  std::uint32_t out = 0; // items
  std::uint32_t in = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

struct Plan {
  std::vector<Declared> items;
  base::BackedVector<Partner> partners;
  base::BackedVector<Out> outs; // in the order in which they are handed over
  base::BackedVector<In> ins;
  base::BackedVector<Within> within;
  struct Exposure { // of an area, to be withdrawn
    std::uint32_t item = 0;
    engine::ScheduleQueue* queue = nullptr;
    ir::RemotePlace place;
  };
  base::BackedVector<Exposure> exposures; // each area once by each network
  std::string picture;                    // the schedule, a line for each out
};

} // namespace heddle::pattern

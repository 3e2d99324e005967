#include "sim/fluid.hpp"

#include <algorithm>
#include <cmath>

#include "base/mix.hpp"

namespace heddle::sim {

FluidNetwork::FluidNetwork(Fabric fabric, Wiring wiring) : fabric_(std::move(fabric)), wiring_(std::move(wiring)) {
  const PacketRules& rules = fabric_.packets;
  const Interface& interface = fabric_.interface;
  const double useful = static_cast<double>(rules.mtu) / (rules.mtu + rules.header_bytes);
  for (const Link& link : fabric_.links) {
    const double rate = static_cast<double>(link.rate.bytes_per_second) / static_cast<double>(kPicosecondsPerSecond);
    link_resource_.push_back(rates_.add_resource(rate * useful));
  }
  for (std::uint32_t node = 0; node < fabric_.nodes; ++node) {
    for (std::uint32_t i = 0; i < interface.send_engines; ++i) send_resource_.push_back(add_stage(interface.send));
    for (std::uint32_t i = 0; i < interface.ports; ++i) receive_resource_.push_back(add_stage(interface.receive));
    read_resource_.push_back(add_stage(interface.read_bus));
    write_resource_.push_back(interface.one_bus ? read_resource_.back() : add_stage(interface.write_bus));
  }
  senders_.resize(send_resource_.size());
}

// The rate of a part at packets of full size; kNone if it has none.
std::uint32_t FluidNetwork::add_stage(const Stage& stage) {
  const double rate = stage.rate_at(fabric_.packets.mtu) / static_cast<double>(kPicosecondsPerSecond);
  return rate > 0 ? rates_.add_resource(rate) : kNone;
}

Result<FluidNetwork> FluidNetwork::make(Fabric fabric) {
  auto wiring = wire(fabric);
  if (!wiring) return std::unexpected(std::move(wiring).error());
  if (fabric.function.call == nullptr) {
    if (auto good = check_tables(fabric, *wiring); !good) return std::unexpected(std::move(good).error());
  }
  return FluidNetwork(std::move(fabric), std::move(*wiring));
}

Result<void> FluidNetwork::submit(const Flow& flow) {
  if (flow.route != kNone) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "the fluid model does not support routes"});
  }
  if (auto good = check_flow(fabric_, wiring_, flow); !good) return good;
  const std::uint32_t index = flows_.take();
  flows_[index] = {with_defaults(fabric_, flow), kNone};
  const std::uint32_t engine = flow.source * fabric_.interface.send_engines + flow.send_engine;
  Sender& sender = senders_[engine];
  if (sender.first == kNone) {
    sender.first = index;
  } else {
    flows_[sender.last].next = index;
  }
  sender.last = index;
  if (!sender.busy) start(engine);
  return {};
}

void FluidNetwork::at(Picoseconds time, std::uint64_t cookie) {
  const std::uint32_t index = timers_.take();
  timers_[index].cookie = cookie;
  push(std::max(time, now_), What::timer, index);
}

// The engine turns to its next flow and pays for the start.
void FluidNetwork::start(std::uint32_t engine) {
  senders_[engine].busy = true;
  push(now_ + fabric_.interface.startup, What::engine, engine);
}

// The way was checked when the flow was submitted.
FluidNetwork::Way FluidNetwork::follow(const Flow& flow) {
  const Interface& interface = fabric_.interface;
  used_.clear();
  const auto use = [this](std::uint32_t resource) {
    if (resource != kNone) used_.push_back(resource);
  };
  use(send_resource_[flow.source * interface.send_engines + flow.send_engine]);
  if (flow.payload == Payload::memory) use(read_resource_[flow.source]);
  Picoseconds latency = interface.send_latency + interface.receive_latency + interface.receive.fixed;
  Heading heading{.node = flow.target, .lid = flow.lid, .port = flow.receive_engine, .lane = flow.lane};
  std::uint32_t link = wiring_.inject[flow.source * interface.ports + flow.send_engine % interface.ports];
  while (true) {
    use(link_resource_[link]);
    ++hops_;
    const Link& here = fabric_.links[link];
    latency += here.delay;
    if (here.to.kind == End::Kind::node) {
      const std::uint32_t receiver = here.to.index * interface.ports + here.to.port;
      use(receive_resource_[receiver]);
      use(write_resource_[here.to.index]);
      return {latency, receiver};
    }
    latency += fabric_.switches[here.to.index].delay;
    if (fabric_.function.call != nullptr) {
      const Hop hop = fabric_.function.call(fabric_.function.data.get(), here.to.index, heading);
      heading.lane = static_cast<std::uint16_t>(hop.lane);
      link = wiring_.link_at(here.to.index, hop.port);
    } else {
      link = wiring_.link_at(here.to.index, fabric_.tables.port(here.to.index, heading.lid));
    }
  }
}

void FluidNetwork::begin(std::uint32_t engine) {
  const std::uint32_t index = senders_[engine].first;
  const Flow& flow = flows_[index].flow;
  const Way way = follow(flow);
  const std::uint32_t stream = rates_.add_flow(used_);
  if (stream >= streams_.size()) streams_.resize(stream + 1);
  // A header moves too: no flow is shorter than one.
  const auto bytes = std::max<std::uint64_t>(flow.bytes, std::max(fabric_.packets.header_bytes, 1U));
  streams_[stream] = {.flow = index,
                      .engine = engine,
                      .left = static_cast<double>(bytes),
                      .since = now_,
                      .finish = Picoseconds{-1},
                      .begun = now_,
                      .latency = way.latency,
                      .receiver = way.receiver};
}

// New rates from now on; each changed flow has a new end.
void FluidNetwork::settle() {
  ++solves_;
  for (const std::uint32_t each : rates_.solve()) {
    Stream& stream = streams_[each];
    stream.left -= stream.rate * static_cast<double>((now_ - stream.since).count());
    stream.since = now_;
    stream.rate = rates_.rate(each);
    const double rest = std::ceil(std::max(stream.left, 0.0) / stream.rate);
    const Picoseconds finish = now_ + Picoseconds{static_cast<std::int64_t>(rest)};
    if (finish == stream.finish) continue;
    stream.finish = finish;
    push(finish, What::finished, each);
  }
}

void FluidNetwork::finish(std::uint32_t number) {
  const Stream stream = streams_[number];
  if (stream.finish != now_) return; // its rate has changed since
  streams_[number].finish = Picoseconds{-1};
  rates_.remove_flow(number);
  Sender& sender = senders_[stream.engine];
  sender.first = flows_[stream.flow].next;
  sender.busy = false;
  if (sender.first != kNone) start(stream.engine);
  push(now_ + stream.latency, What::arrived, stream.flow);
  const Flow copy = flows_[stream.flow].flow;
  if (recorder_ != nullptr) {
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(copy.bytes, UINT32_MAX));
    recorder_->span({Span::Part::send_engine, stream.engine, stream.begun, now_, copy, bytes});
    recorder_->span({Span::Part::receive_engine, stream.receiver, stream.begun + stream.latency, now_ + stream.latency,
                     copy, bytes});
  }
  if (listener_ != nullptr && listener_->hears_departures()) listener_->departed(copy);
}

// Rates are brought up to date when all that happens at one time has happened. False when nothing will.
bool FluidNetwork::prepare() {
  if (!rates_.up_to_date() && (queue_.empty() || queue_.next_time() > now_)) settle();
  return !queue_.empty();
}

bool FluidNetwork::step() {
  if (!prepare()) return false;
  const Event event = queue_.pop();
  now_ = event.time;
  history_ = base::mix(history_ ^ static_cast<std::uint64_t>(now_.count()) ^ std::uint64_t{event.subject} << 32U);
  const std::uint32_t index = event.subject & ((1U << kIndexBits) - 1);
  switch (static_cast<What>(event.subject >> kIndexBits)) {
    case What::engine: begin(index); break;
    case What::finished: finish(index); break;
    case What::arrived: {
      const Flow copy = flows_[index].flow;
      flows_.give_back(index);
      if (listener_ != nullptr) listener_->arrived(copy);
      break;
    }
    case What::timer: {
      const std::uint64_t cookie = timers_[index].cookie;
      timers_.give_back(index);
      if (listener_ != nullptr) listener_->timer(cookie);
      break;
    }
  }
  return true;
}

void FluidNetwork::run_until(Picoseconds time) {
  while (prepare() && queue_.next_time() <= time) step();
  now_ = std::max(now_, time);
}

Result<void> FluidNetwork::run() {
  while (step()) {
  }
  return {};
}

} // namespace heddle::sim

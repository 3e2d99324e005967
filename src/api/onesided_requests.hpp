// Trackers that the context owns, one for each one-sided operation that was begun as a request; reused.
#pragma once

#include "engine/engine.hpp"

#include <heddle/onesided.hpp>

#include <cstdint>
#include <deque>

namespace heddle::api {

class OneSidedRequests;

struct OneSidedRequest : Tracker {
  engine::Engine* engine = nullptr;
  OneSidedRequests* owner = nullptr;
  Request request{};
  Rank peer{};
  Tag area{};
  std::uint64_t bytes = 0;
  OneSidedRequest* next = nullptr; // among the free ones
};

class OneSidedRequests {
 public:
  // The next take does not fail.
  void make_sure() {
    if (free_ != nullptr) return;
    OneSidedRequest& made = all_.emplace_back();
    made.owner = this;
    free_ = &made;
  }
  OneSidedRequest& take() {
    OneSidedRequest& taken = *free_;
    free_ = taken.next;
    taken.reset();
    taken.set_value(0);
    return taken;
  }
  void give_back(OneSidedRequest& request) {
    request.next = free_;
    free_ = &request;
  }

 private:
  std::deque<OneSidedRequest> all_;
  OneSidedRequest* free_ = nullptr;
};

} // namespace heddle::api

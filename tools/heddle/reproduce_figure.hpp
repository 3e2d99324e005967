// One value of a report beside ours, and what is to be said of the two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::tool {

// What a figure of ours is.
enum class Kind : std::uint8_t {
  input,     // what the model is told, beside the report's
  fitted,    // a parameter was chosen so that it comes out
  predicted, // comes out of a model that knows nothing of the report's value
  measured,  // on this machine, or counted in these sources
  contrast,  // the report's value is of another machine: nothing of ours is to come near it
};
std::string_view to_string(Kind kind);

// How far a predicted figure may be from the report's, relatively, unless it says otherwise.
inline constexpr double kTolerance = 0.08;

struct ReportedFigure {
  std::string id;               // report/figure/what, such as fat-tree/random16/conventional/average
  std::optional<double> report; // nothing where the report has no such value
  double ours = 0;
  std::string unit;
  Kind kind = Kind::predicted;
  double tolerance = kTolerance;
  bool is_change = false;        // by so many percent: differences are points, since a part of a change says nothing
  std::optional<double> below{}; // all that the report says is that it is below this
  bool is_count = false;         // whole, so that what it may be is a range
  double error =
      0; // how far one sample may be off, where theirs or ours is one: three of it come on top of the tolerance
};

// What is to be said of a figure.
enum class Verdict : std::uint8_t {
  none,       // nothing to compare, or not predicted
  holds,      // within its tolerance
  known_miss, // not, for a reason that known_miss() gives, and as far as it says
  misses,
};
Verdict verdict_of(const ReportedFigure& figure);
std::string_view to_string(Verdict verdict);

// A predicted figure that is not within its tolerance, and why. Outside of this range the reason no longer explains it.
struct KnownMiss {
  std::string_view id;
  double least;
  double most;
  std::string_view reason;
};
const KnownMiss* known_miss(std::string_view id); // nullptr where none is known; reproduce_known_misses.cpp

// "1198", "< 1", or nothing.
std::string printed_report(const ReportedFigure& figure);
// "tolerance 8 %", "2 to 38", "below 1".
std::string printed_allowance(const ReportedFigure& figure);
// "+1.2 %", "+1.2 pts" of what is a change in percent itself, or nothing.
std::string printed_difference(const ReportedFigure& figure);
// Of ours to the report's, relatively; 0 where there is nothing to relate it to, or where it is below its bound.
double difference_of(const ReportedFigure& figure);

} // namespace heddle::tool

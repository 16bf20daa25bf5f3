// Quantities as people write them: "100 Gbit/s", "80 GiB", "3 us", "312 TFLOP/s". One parser for the files and the
// command line. Bits and bytes, decimal and binary multiples are kept apart; what could be read in two ways is refused
// with a text that says what to write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/base/units.hpp"

namespace accosim {

enum class Dimension : std::uint8_t { kTime, kData, kBandwidth, kCompute, kPower };

/// Either a value in SI units (s, B, B/s, FLOP/s, W), or an error that is not empty.
struct ParsedQuantity {
  double value = 0;
  std::string error;
};

/// A number, optional blanks, a unit; a time may also be hours and minutes, "3 h 46 min". The value is the double
/// nearest to what is written wherever the unit is a power of ten. Finite and not negative.
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

/// The shortest text that parses back to the same double, in the unit that people use. `value` is finite and >= 0.
std::string print_quantity(double value, Dimension dimension);

inline std::string to_text(Seconds time) { return print_quantity(time.value, Dimension::kTime); }
inline std::string to_text(Bytes bytes) { return print_quantity(bytes.value, Dimension::kData); }
inline std::string to_text(BytesPerSecond rate) { return print_quantity(rate.value, Dimension::kBandwidth); }
inline std::string to_text(FlopsPerSecond rate) { return print_quantity(rate.value, Dimension::kCompute); }

/// How one is written, for a message: a bandwidth is written "100 GB/s" or "100 Gbit/s".
std::string how_to_write(Dimension dimension);

}  // namespace accosim

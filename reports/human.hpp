// Numbers as people read them: three significant digits and the unit that keeps them between 1 and 1000. One function
// a kind of quantity, so that a table, a sentence and a chart say the same.
#pragma once

#include <string>

#include "models/base/units.hpp"

namespace accosim {

/// "38.0 us", "412 ms", "1.72 s" up to 999 s, then "20.0 min", "2.50 h", "52.1 d".
std::string human_time(Seconds time);
/// "5:23:41" (h:mm:ss) from a minute on, "12 d 05:23" (hh:mm) from 100 hours on, human_time() below a minute.
std::string human_clock(Seconds time);
/// "5:23:41" (h:mm:ss) and "12 d 05:23" (hh:mm), of any time; `days` stands behind their number.
std::string human_hours(Seconds time);
std::string human_days(Seconds time, const char* days = " d");
/// "128", "65.5k", "80.0M", "2.65B", "1.40T": a count of things, tokens or parameters.
std::string human_count(double count);
/// "12.3k EUR": an amount; without a currency that of human_count().
std::string human_money(double amount, const std::string& currency);
/// Decimal, as network traffic is counted: "13.5 GB".
std::string human_bytes(Bytes bytes);
/// Binary, as memory is sold: "31.4 GiB".
std::string human_memory(Bytes bytes);
/// Decimal: "25.0 GB/s".
std::string human_rate(BytesPerSecond rate);
/// "1.23 TFLOP".
std::string human_flops(Flops flops);
/// "41.2 %" of a fraction 0.412.
std::string human_percent(double fraction);
/// "+3.1 %": a relative difference, signed.
std::string human_error(double fraction);
/// "1.72x", "12.3x".
std::string human_factor(double factor);

/// "1.32 s to 2.02 s"; once where both ends read alike.
std::string human_range(const std::string& low, const std::string& high, const char* to = " to ");

}  // namespace accosim

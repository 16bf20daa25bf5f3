// The report page of a sweep: what its summary says, and charts of its rows to look around in.
#pragma once

#include <iosfwd>
#include <string>

#include "sim/sweep/summary.hpp"

namespace accosim {

/// Points times schedules that a page takes: more would be slow to open.
inline constexpr std::size_t kMostOnPage = 200'000;

/// `command`: that makes the page again; `merit`: what it begins with, all else can be picked. Throws BadInput where the
/// rows are more than a page takes, or none.
void write_sweep_page(std::ostream& out, const SweepRows& rows, const std::string& command, const Merit& merit);

/// The page's document, schema accosim.page/1 with the member "sweep".
std::string sweep_page_json(const SweepRows& rows, const std::string& command, const Merit& merit);

}  // namespace accosim

// The verb `merge`: the rows of a sweep's parts in one file, the same bytes as if one process had played them all.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "models/base/errors.hpp"
#include "models/base/outputs.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/sweep/rows_output.hpp"
#include "sim/app/verbs.hpp"
#include "sim/sweep/rows.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {
namespace {

/// Adds the rows of one more file. What is in two files is settled later.
void add(SweepRows& all, const std::string& path, std::vector<std::string>& from) {
  SweepRows more = read_rows(path);
  if (!from.empty() && !same_sweep(more.heading, all.heading))
    throw BadInput(fmt::format("{} and {} are of different sweeps, scenarios or versions; merge parts of one",
                               in_quotes(from.front(), 300), in_quotes(path, 300)));
  all.heading = more.heading;
  all.rows.insert(all.rows.end(), std::make_move_iterator(more.rows.begin()), std::make_move_iterator(more.rows.end()));
  from.push_back(path);
}

/// One row a point, in their order.
void settle(SweepRows& all) {
  std::ranges::stable_sort(all.rows, [](const Row& a, const Row& b) {
    return a.index != b.index ? a.index < b.index : a.done() && !b.done();
  });
  const auto again = [&](const Row& first, const Row& row) {
    if (first.index != row.index) return false;
    if (row.done() && line_of(all.heading, row) != line_of(all.heading, first))
      throw BadInput(fmt::format("point {} has different results in two of the files; play it again", row.index));
    return true;
  };
  all.rows.erase(std::unique(all.rows.begin(), all.rows.end(), again), all.rows.end());
}

ExitCode merge(const Arguments& arguments) {
  const Texts& paths = arguments.texts("rows");
  const std::string& output = arguments.text("--output");
  check_outputs({{"--output", output, document_kind(kRowsSchema)}, csv_output(arguments)}, paths,
                arguments.flag("--force"));
  SweepRows all;
  std::vector<std::string> from;
  for (const std::string& path : paths) add(all, path, from);
  settle(all);
  check_score(all, score_of(arguments));  // before anything is written
  WholeFile file(output);
  file.stream() << line_of(all.heading) << '\n';
  for (const Row& row : all.rows) file.stream() << line_of(all.heading, row) << '\n';
  file.commit();
  tell_written(output, "rows of " + so_many(all.rows.size(), "configuration"));
  const ExitCode code = report_rows(all, arguments);
  if (all.rows.size() < all.heading.points)
    std::cerr << fmt::format(
        "accosim: {} of {} points are missing; play them with the same accosim sweep and its options, and --resume -o "
        "{}\n",
        all.heading.points - all.rows.size(), all.heading.points, output);
  return code;
}

}  // namespace

Verb merge_verb() {
  const std::vector<Option> all =
      joined({{.names = "rows", .help = "Files of rows, of the parts of one sweep", .value = Texts(), .required = true},
              {.names = "-o,--output", .help = "File for all rows", .empty = "names no file", .required = true}},
             joined(rows_options(), {force_option()}));
  return {.name = "merge",
          .help = "Put the rows of a sweep's parts together",
          .options = all,
          .modes = {{.reads = names_of(all), .run = merge}}};
}

}  // namespace accosim

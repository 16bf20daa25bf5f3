// The verb `import`: others' results as tables of samples.
#include <fmt/format.h>

#include <iostream>

#include "models/base/outputs.hpp"
#include "models/base/standard_input.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"
#include "models/fit/import_nccl_tests.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

std::vector<Option> options() {
  const NcclTestsOptions usual;
  return {
      texts_option("files", "Files of output, gzipped or not; - is standard input", "FILE", true),
      file_option("-o,--output", "CSV file; default: standard output"),
      force_option(),
      {.names = "--fabric",
       .help = "Name of the cluster that it ran on",
       .value = usual.fabric,
       .default_shown = true,
       .takes = "NAME"},
      {.names = "--source",
       .help = "Name of whoever measured",
       .value = usual.source,
       .default_shown = true,
       .takes = "NAME"},
      flag_option("--in-place", "Take the in-place times instead of the out-of-place ones"),
      text_option("--collective", "Collective, such as all_reduce, where the output does not say", "NAME"),
      number_option("--ranks", "Number of ranks, where the output lists none", usual.ranks, 2, 1e6),
      number_option("--nodes", "Number of nodes, where the output lists none", usual.nodes, 1, 1e6),
  };
}

NcclTestsOptions nccl_tests_options(const Arguments& arguments) {
  return {.fabric = arguments.text("--fabric"),
          .source = arguments.text("--source"),
          .in_place = arguments.flag("--in-place"),
          .collective = arguments.text("--collective"),
          .ranks = arguments.whole("--ranks"),
          .nodes = arguments.whole("--nodes")};
}

/// What nccl-tests wrote becomes a table of samples; what was left out is told on stderr.
ExitCode import_files(const Arguments& arguments) {
  const Texts& files = arguments.texts("files");
  const std::string& output = arguments.text("--output");
  const OutputKind kind = table_kind(write_collective_samples({}));
  check_outputs({{"--output", output, kind}}, files, arguments.flag("--force"));
  std::vector<CollectiveSample> samples;
  for (const std::string& path : files) {
    const std::string name = path == kStandardInput ? kStandardInputName : path;
    NcclTestsImport one =
        import_nccl_tests(read_unpacked(path, kMaxNcclTestsBytes), name, nccl_tests_options(arguments));
    for (const std::string& note : one.notes) tell("accosim: ", note);
    const Texts releases = mapped<std::string>(one.nccl, [](const NcclRelease& release) { return to_text(release); });
    tell("accosim: ", fmt::format("{}: {} rows taken, {} left out{}", name, one.samples.size(), one.skipped,
                                  releases.empty() ? "" : ", of NCCL " + in_words(releases)));
    samples.insert(samples.end(), one.samples.begin(), one.samples.end());
  }
  if (samples.empty()) throw ScenarioError({"no row could be taken; the lines above say why"});
  if (output.empty()) {
    std::cout << write_collective_samples(samples);
  } else {
    write_whole(output, write_collective_samples(samples));
    tell_written(output, so_many(samples.size(), "sample"));
  }
  return ExitCode::kDone;
}

}  // namespace

Verb import_verb() {
  const Verb nccl_tests = {.name = "nccl-tests",
                           .help = "Convert what nccl-tests prints, or writes with -J",
                           .options = options(),
                           .modes = {{.reads = names_of(options()), .run = import_files}}};
  return {.name = "import",
          .help = "Convert launch scripts into scenarios, and others' measurements into tables of samples",
          .verbs = {nccl_tests, import_launch_verb()}};
}

}  // namespace accosim

// accocal's help pages, in the form of accosim's.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace accocal {

/// `--help` of `app` and its verbs: what an option takes, its default and its range, as wide as COLUMNS or the
/// terminal. Adds the verb `help`, which prints the page of the verb behind it and ends parsing as --help does.
void add_help(CLI::App& app);

}  // namespace accocal

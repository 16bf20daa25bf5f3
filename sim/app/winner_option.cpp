#include "sim/app/winner_option.hpp"

namespace accosim {
namespace {

constexpr double kPercent = 100;

}  // namespace

std::vector<Option> winner_options() {
  const WinnerRule usual;
  return {{.names = "--batch-growth",
           .help = "The winner's batch may have grown so many times at most",
           .value = usual.batch_growth,
           .least = 1,
           .most = 1e9,
           .default_shown = true},
          {.names = "--fit-probability",
           .help = "The winner must fit into memory with this probability, in percent",
           .value = kPercent * usual.fit_probability,
           .least = 10,  // below that it does not fit
           .most = kPercent,
           .default_shown = true}};
}

WinnerRule winner_rule_of(const Arguments& arguments) {
  return {arguments.number("--batch-growth"), arguments.number("--fit-probability") / kPercent};
}

}  // namespace accosim

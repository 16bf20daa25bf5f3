// The verbs `completion` and `man`: what a shell and man know of accosim's verbs.
#include "sim/app/shell/shell.hpp"

#include <iostream>

#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

ExitCode complete(const Arguments& arguments) {
  write_completion(std::cout, arguments.text("shell"), all_verbs());
  return ExitCode::kDone;
}

ExitCode man(const Arguments&) {
  write_man_page(std::cout, all_verbs());
  return ExitCode::kDone;
}

}  // namespace

Verb completion_verb() {
  return {.name = "completion",
          .help = "Print a script that completes accosim's command line in a shell",
          .options = {{.names = "shell",
                       .help = "The shell; for bash: source <(accosim completion bash)",
                       .choices = {"bash", "zsh", "fish"},
                       .required = true}},
          .modes = {{.reads = {"shell"}, .run = complete}}};
}

Verb man_verb() {
  return {.name = "man", .help = "Print the man page: accosim man | man -l -", .modes = {{.reads = {}, .run = man}}};
}

}  // namespace accosim

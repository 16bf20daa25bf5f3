// The verb `fit`: constants from measurements. What its first file holds says what is fitted.
#include <filesystem>

#include "models/fit/collective_samples.hpp"
#include "models/fit/fit_gpu.hpp"
#include "sim/app/modes.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

std::vector<Option> options() {
  return {
      {.names = "samples",
       .help =
           "Measurements: CSV tables of kernels or of collectives, samples of accocal, or a folder of published cases "
           "(calibration/README.md)",
       .value = Texts(),
       .required = true,
       .takes = "FILE"},
      {.names = "-o,--output",
       .help =
           "File to write. From tables of kernels: a device profile (may be repeated). From tables of collectives: a "
           "cluster. From cases: constants. From samples of accocal: a "
           "profile or a scenario",
       .value = Texts(),
       .takes = "FILE"},
      {.names = "--cluster",
       .help = "Cluster, by name or file, that a table's column fabric names; may be repeated",
       .value = Texts(),
       .takes = "CLUSTER"},
      {.names = "--profile",
       .help = "With samples of a GPU: the device profile to start from, by name or file",
       .takes = "DEVICE"},
      {.names = "--force",
       .help = "Replace a file that this verb did not write; write constants of a network that looks set up wrongly",
       .value = false},
  };
}

const std::string& first_path(const Arguments& arguments) { return arguments.texts("samples")[0]; }

bool begins_with_brace(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

constexpr const char* kProfileIsOfAGpu = "--profile belongs to samples that accocal took of a GPU";

/// The cases of validation: their tables of collectives give the constants of kinds of links.
Mode of_cases() {
  return {.of = "of a folder of cases",
          .reads = {"samples", "--output"},
          .run = fit_to_cases,
          .is_meant = [](const Arguments& arguments) {
            std::error_code none;
            return arguments.texts("samples").size() == 1 && std::filesystem::is_directory(first_path(arguments), none);
          }};
}

Mode of_a_gpu() {
  return {.of = "of samples of a GPU",
          .reads = {"samples", "--output", "--profile", "--force"},
          .run = fit_to_gpu,
          .is_meant =
              [](const Arguments& arguments) {
                const std::string text = read_file(first_path(arguments));
                return begins_with_brace(text) && is_gpu_samples(text);
              },
          .refusals = {{"--cluster",
                        "samples of a GPU are fitted one file at a time, with at most one --output and no --cluster"}}};
}

Mode of_a_machine() {
  return {
      .of = "of samples of a machine",
      .reads = {"samples", "--output", "--force"},
      .run = fit_to_machine,
      .is_meant = [](const Arguments& arguments) { return begins_with_brace(read_file(first_path(arguments))); },
      .refusals = {{"--profile", kProfileIsOfAGpu},
                   {"--cluster",
                    "samples of accocal are fitted one file at a time, with at most one --output and no --cluster"}}};
}

Mode of_collectives() {
  return {.of = "of tables of collectives",
          .reads = {"samples", "--output", "--cluster", "--force"},
          .run = fit_to_collectives,
          .is_meant = [](const Arguments& arguments) { return holds_collectives(read_file(first_path(arguments))); },
          .refusals = {{"--profile", kProfileIsOfAGpu}}};
}

Mode of_kernels() {
  return {.of = "of tables of kernels",
          .reads = {"samples", "--output", "--force"},
          .run = fit_to_kernels,
          .refusals = {{"--profile", kProfileIsOfAGpu}, {"--cluster", "--cluster belongs to tables of collectives"}}};
}

}  // namespace

Verb fit_verb() {
  return {.name = "fit",
          .help = "Fit constants of kernels, links or steps to measurements",
          .options = options(),
          .modes = {of_cases(), of_a_gpu(), of_a_machine(), of_collectives(), of_kernels()}};
}

}  // namespace accosim

// accosim as a user starts it, in the folder of the sources, and what it prints as JSON.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "build_info/programs.hpp"
#include "build_info/project.hpp"
#include "tests/support/json.hpp"
#include "tests/support/program.hpp"

namespace accosim {

inline const std::filesystem::path kRoot = kSourceFolder;

/// A command line and more words of it.
inline std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline ProgramRun accosim(const std::vector<std::string>& arguments, const std::string& out_file = "") {
  return run_program(kAccosimProgram, arguments, kRoot, out_file);
}

/// The same, which must succeed.
inline ProgramRun accosim_done(const std::vector<std::string>& arguments) {
  ProgramRun run = accosim(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return run;
}

inline Json results_of(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  return Json::parse(accosim_done(arguments).out);
}

inline Json result(const Json& document, const std::string& label) {
  for (const Json& entry : document["results"].elements())
    if (entry["label"] == label) return entry;
  ADD_FAILURE() << "no result " << label;
  return {};
}

inline const std::vector<std::string> kPaperRows = {
    "scenarios/paper/pretrain_1x8_h100.json", "scenarios/paper/pretrain_4x8_a100.json",
    "scenarios/paper/finetune_1x8_a100.json", "scenarios/paper/finetune_2x4_a100.json"};

inline std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names = kPaperRows;
  names.push_back("scenarios/paper/hetero_4xa100_one_slow.json");
  names.push_back("scenarios/mixed_a100_v100.json");
  names.push_back("scenarios/mixed_16_a100_16_v100.json");
  return names;
}

/// With those whose flows share links, where the networks differ.
inline std::vector<std::string> all_golden_scenarios() {
  std::vector<std::string> names = shipped_scenarios();
  names.push_back("scenarios/two_sites_2x16_a100.json");
  return names;
}

}  // namespace accosim

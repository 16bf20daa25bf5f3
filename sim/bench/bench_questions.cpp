// What six questions take, asked of two builds in turn: the medians of each, and the ratio. Whatever else the machine
// does meanwhile, it does to both. Judges nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "sim/bench/run_once.hpp"

namespace accosim {
namespace {

struct Question {
  std::string title;
  Words words;
};

const std::vector<Question>& questions() {
  static const std::vector<Question> kAll = {
      {"validate", {"validate"}},
      {"a sweep of 1,020 points", {"sweep", "scenarios/mixes/a100_v100.sweep.json"}},
      {"compare, 175B", {"compare", "gpt3_175b_1024_a100"}},
      {"compare, 405B", {"compare", "llama_3_405b_16384_h100"}},
      {"one prediction", {"run", "scenarios/paper/finetune_2x4_a100.json", "--schedule", "zero1"}},
      {"every message, 1,024 nodes",
       {"explain", "slow_network_4x8_a100", "--messages", "--schedule", "ddp", "--set", "/cluster/nodes/0/count=1024"}},
  };
  return kAll;
}

Use median(std::vector<Use> uses) {
  const auto middle = [&](double Use::*what) {
    std::ranges::sort(uses, [&](const Use& a, const Use& b) { return a.*what < b.*what; });
    return uses[uses.size() / 2].*what;
  };
  return {middle(&Use::seconds), middle(&Use::mib)};
}

void ask(const Question& question, const std::string& before, const std::string& now, int runs) {
  std::vector<Use> of_before, of_now;
  for (int i = 0; i < runs; ++i)
    for (const auto& [program, uses] : {std::pair(before, &of_before), std::pair(now, &of_now)}) {
      Words words = {program};
      words.insert(words.end(), question.words.begin(), question.words.end());
      uses->push_back(run_once(words));
    }
  const Use old = median(of_before), own = median(of_now);
  fmt::print("{:<28} {:>8.3f} s {:>8.3f} s {:>6.2f} {:>6.0f} MiB {:>6.0f} MiB\n", question.title, old.seconds,
             own.seconds, own.seconds / old.seconds, old.mib, own.mib);
  std::fflush(stdout);
}

}  // namespace
}  // namespace accosim

int main(int argc, char** argv) {
  using namespace accosim;
  const int runs = argc == 4 ? std::atoi(argv[3]) : 0;
  if (runs < 1) {
    fmt::print(stderr,
               "usage: bench_questions BEFORE NOW RUNS, in the repository; BEFORE and NOW are two builds of accosim\n");
    return 2;
  }
  fmt::print("Processor time and memory, medians of {} runs in turn: before, now, now over before\n\n", runs);
  for (const Question& question : questions()) ask(question, argv[1], argv[2], runs);
}

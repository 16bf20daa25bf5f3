// How what a prediction takes grows: processor time and memory of `accosim run` against ranks, ranks that differ,
// layers, buckets, micro-batches, local updates and flows. Prints reports/published/scaling.md; judges nothing.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "sim/bench/run_once.hpp"

namespace accosim {
namespace {

/// The best of several: whatever else the machine does only adds.
Use best_of(int runs, const Words& words) {
  Use best = run_once(words);
  for (int i = 1; i < runs && best.seconds < 2; ++i) {
    const Use next = run_once(words);
    best = {std::min(best.seconds, next.seconds), std::min(best.mib, next.mib)};
  }
  return best;
}

/// One law: what grows, by how much, and what is asked of the program then.
struct Law {
  std::string title, counted;
  std::vector<double> sizes;
  Words (*words)(double size);
};

Words set(const std::string& pointer, const std::string& value) { return {"--set", pointer + "=" + value}; }
std::string whole(double number) { return fmt::format("{:.0f}", number); }

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Words ddp() { return {"--schedule=ddp"}; }
Words nodes(double ranks, double gpus) { return set("/cluster/nodes/0/count", whole(ranks / gpus)); }
Words every_rank_differs() { return set("/training/compute_jitter", R"({"gpu": 0.05})"); }
/// Enough for any model: where one does not fit, ways to make it fit are looked for too.
Words with_memory() {
  return set("/cluster/nodes/0/device", R"({"inherits": "A100-SXM4-80GB", "memory": "80000 GB"})");
}
Words under_a_core() { return set("/cluster/fabric/oversubscription", "2"); }

/// Node groups of one node each, whose adapters all differ, so that no two flows are alike.
Words unlike_nodes(double count) {
  std::string groups;
  for (int i = 0; i < static_cast<int>(count); ++i)
    groups += fmt::format(
        R"({}{{"name": "n{}", "count": 1, "gpus": 4, "device": "A100-SXM4-80GB", "intra": {{"kind": "nvswitch", )"
        R"("bandwidth": "300 GB/s"}}, "nics": {{"kind": "tcp", "bandwidth": "{} Mbit/s"}}}})",
        i > 0 ? ", " : "", i, 10'000 + i);
  return set("/cluster/nodes", "[" + groups + "]");
}

const std::vector<Law>& laws() {
  static const std::vector<Law> kLaws = {
      {"Equal ranks, nodes of 8, ddp",
       "ranks",
       {256, 4096, 65'536, 1'048'576},
       [](double n) { return ddp() + nodes(n, 8); }},
      {"Ranks that all differ in speed, ddp",
       "ranks",
       {256, 1024, 4096, 16'384},
       [](double n) { return ddp() + nodes(n, 8) + every_rank_differs(); }},
      {"Ranks that all differ in speed, zero3",
       "ranks",
       {256, 512, 1024},
       [](double n) {
         return set("/schedules/0", R"({"name": "zero3"})") + Words{"--set", R"(/baseline="zero3")"} +
                Words{"--schedule=zero3"} + nodes(n, 8) + every_rank_differs();
       }},
      {"Layers, ddp",
       "blocks",
       {48, 96, 192, 384},
       [](double n) { return ddp() + set("/model/n_layer", whole(n)) + with_memory(); }},
      {"Buckets of the gradients, 1,024 ranks that differ, ddp",
       "buckets, about",
       {31, 125, 623, 3115},
       [](double n) {
         return ddp() + nodes(1024, 8) + every_rank_differs() +
                set("/schedules/0/bucket_cap_mb", fmt::format("{:.4g}", 3115 / n));
       }},
      {"Micro-batches an update, acco",
       "micro-batches a rank",
       {2, 2000, 2'000'000},
       [](double n) { return Words{"--schedule=acco"} + set("/training/gradient_accumulation_steps", whole(n)); }},
      {"Updates between two meetings, diloco",
       "inner updates",
       {100, 10'000, 1'000'000},
       [](double n) { return Words{"--schedule=diloco"} + set("/schedules/5/inner_updates", whole(n)); }},
      {"Equal flows that share a core, nodes of 8, ddp",
       "flows",
       {100, 1000, 10'000},
       [](double n) { return ddp() + set("/cluster/nodes/0/count", whole(n)) + under_a_core(); }},
      {"Flows that all differ and share a core, ddp",
       "flows",
       {32, 64, 128, 256},
       [](double n) { return ddp() + unlike_nodes(n) + under_a_core(); }},
  };
  return kLaws;
}

/// The power with which something grows from one row to the next, of what is above the smallest run.
std::string power(double more, double before, double times) {
  if (before <= 0 || more <= before) return "-";
  return fmt::format("{:.2f}", std::log(more / before) / std::log(times));
}

void write(const Law& law, const std::string& program, const std::string& scenario) {
  fmt::print("\n## {}\n\n| {} | processor time | grows with the power | memory | grows with the power |\n", law.title,
             law.counted);
  fmt::print("|---:|---:|---:|---:|---:|\n");
  Use before;
  for (std::size_t i = 0; i < law.sizes.size(); ++i) {
    const Use use = best_of(3, Words{program, "run", scenario} + law.words(law.sizes[i]));
    const double times = i > 0 ? law.sizes[i] / law.sizes[i - 1] : 1;
    fmt::print("| {:.0f} | {:.3f} s | {} | {:.0f} MiB | {} |\n", law.sizes[i], use.seconds,
               i > 0 ? power(use.seconds, before.seconds, times) : "-", use.mib,
               i > 0 ? power(use.mib, before.mib, times) : "-");
    std::fflush(stdout);
    before = use;
  }
}

/// "Intel(R) Xeon(R) Processor (4 cores), 2026-11-23".
std::string machine_and_day() {
  std::string cpu = "an unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) cpu = line.substr(line.find(':') + 2);
  return fmt::format("{} ({} cores), {:%Y-%m-%d}", cpu, sysconf(_SC_NPROCESSORS_ONLN), fmt::gmtime(std::time(nullptr)));
}

}  // namespace
}  // namespace accosim

int main(int argc, char** argv) {
  using namespace accosim;
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_scaling ACCOSIM > reports/published/scaling.md\n");
    return 2;
  }
  const std::string scenario = "slow_network_4x8_a100";
  fmt::print(
      "# What a prediction takes\n\nWritten by `bench_scaling ./accosim > reports/published/scaling.md` on {}: times "
      "are its own, the powers hold elsewhere too. Each row is the best of three runs of `accosim run` on `{}` (GPT-2 "
      "XL), changed in what is counted: the whole process, its children included. A power of 0 is no growth, 1 is "
      "linear; small sizes are mostly start-up. `accosim run -v` shows where the time of one run goes.\n",
      machine_and_day(), scenario);
  for (const Law& law : laws()) write(law, argv[1], scenario);
}

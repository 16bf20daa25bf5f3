// What is written can be read again: random samples, sane and mad, are fitted, and what the fit writes loads, or the
// samples were refused.
#include <gtest/gtest.h>

#include <cmath>

#include "models/fit/collective_samples.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/fit/machine_samples.hpp"
#include "models/fit/write_links.hpp"
#include "models/fit/write_profile.hpp"
#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/gpu_document.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

/// How many of `rounds` were written; each that was must load. A refusal tells what is wrong.
template <class Write, class Load>
int written(int rounds, const Write& write, const Load& load) {
  const Scratch scratch;
  int count = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    try {
      text = write(static_cast<std::uint64_t>(round));
    } catch (const ScenarioError& refused) {
      EXPECT_FALSE(refused.errors.empty());
      continue;
    }
    ++count;
    try {
      load(scratch.write("written.json", text));
    } catch (const ScenarioError& error) {
      ADD_FAILURE() << "round " << round << ": " << error.what() << "\n" << text.substr(0, 4000);
    }
  }
  return count;
}

/// From 10^low to 10^high.
double magnitude(Random& random, double low, double high) { return std::pow(10, random.uniform(low, high)); }

std::string timed(const std::string& head, double seconds) {
  return fmt::format(R"({{{}, "median_s": {:.17g}, "p10_s": {:.17g}, "p90_s": {:.17g}, "runs": 5}})", head, seconds,
                     0.9 * seconds, 1.1 * seconds);
}

/// `wild`: decades by which sizes, rates and times go beyond what machines have.
std::string machine_document(Random& random, double wild) {
  const int ranks = random.integer(1, 6);
  std::string rates, bursts, samples;
  const bool limited = random.integer(0, 1) == 1, buckets = limited && random.integer(0, 1) == 1;
  for (int rank = 0; rank < ranks; ++rank) {
    rates += fmt::format("{}{:.6g}", rank > 0 ? "," : "", magnitude(random, 6 - wild / 2, 9 + wild));
    bursts += fmt::format("{}{:.0f}", rank > 0 ? "," : "", magnitude(random, 3, 6 + wild));
  }
  for (const char* what : {"reduce_scatter", "all_gather", "all_reduce"})
    for (const double size : {1024.0, 65536.0, 4194304.0}) {
      const double bytes = std::round(size * magnitude(random, 0, wild));
      const double seconds = 1e-5 + bytes / magnitude(random, 6 - wild, 9 + wild);
      samples += timed(fmt::format(R"("what": "{}", "bytes": {:.0f}, "after_idle": {})", what,
                                   size == 1024 ? 1024 : bytes, random.integer(0, 3) == 0),
                       seconds) +
                 ",\n";
    }
  for (const char* what : {"adamw", "copy"})
    samples += timed(fmt::format(R"("what": "{}", "elements": {:.0f})", what, magnitude(random, 4, 7 + wild)),
                     magnitude(random, -5 - wild, -1 + wild / 4)) +
               ",\n";
  if (random.integer(0, 3) > 0)
    samples += timed(fmt::format(R"("what": "micro_batch", "parameters": {:.0f}, "tokens": {})",
                                 magnitude(random, 3, 9), random.integer(1, 4096)),
                     magnitude(random, -4 - wild, 0)) +
               ",\n";
  samples += timed(R"("what": "hand_off_start")", magnitude(random, -6 - wild, -4));
  return fmt::format(R"({{"schema": "accosim.samples/1", "machine": {{"cpu": "a \"CPU\", \\ {{}}", "cores": 4}},
    "ranks": {}, "network": {{"kind": "{}", "rates_bytes_per_s": [{}], "burst_bytes": [{}]}}, "samples": [{}]}})",
                     ranks,
                     buckets   ? "netns"
                     : limited ? "paced"
                               : "loopback",
                     limited ? rates : "", buckets ? bursts : "", samples);
}

TEST(WrittenFits, AMachineIsAScenarioThatLoads) {
  for (const double wild : {0.0, 2.0, 6.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      const MachineSamples samples = read_machine_samples(machine_document(random, wild), "samples.json");
      return machine_scenario(samples, fit_machine(samples));
    };
    const int count = written(cases(200), write, [](const std::string& path) { load_scenario(path, {}); });
    EXPECT_GE(count, wild == 0 ? cases(190) : 1) << wild;
  }
}

/// A GPU's document with each time off by up to `wild` decades.
std::string gpu_document(Random& random, double wild) {
  GpuDocument document(invented_gpu(), random.bits());
  const auto off = [&] { return magnitude(random, -wild, wild); };
  for (const double rows : {64.0, 1024.0, 8192.0})
    for (const double k : {256.0, 1024.0, 4096.0}) {
      const double flops = 2 * rows * 4096 * k;
      for (const char* dtype : {"bf16", "fp32"})
        document.add(fmt::format(R"("what": "gemm", "dtype": "{}", "layout": "forward", "m": {:.0f}, "n": 4096, )"
                                 R"("k": {:.0f}, "batch": 1, "transpose_a": false, "transpose_b": true, )"
                                 R"("bias": false, "accumulate": {}, "cold": {})",
                                 dtype, rows, k, random.integer(0, 1) == 1, random.integer(0, 3) == 0),
                     (5e-6 + flops / (dtype[0] == 'b' ? 600e12 : 40e12)) * off());
    }
  for (const StepKernel kernel : {StepKernel::kCopy, StepKernel::kAdamw, StepKernel::kNormForward})
    for (const double n : {1e5, 1e7, 4e8}) {
      const double bytes = bytes_of(kernel, n, Bytes{2}).value;
      document.add(fmt::format(R"("what": "kernel", "kernel": "{}", "dtype": "bf16", "rows": {:.0f}, "columns": 1, )"
                               R"("bytes": {:.0f}, "cold": false)",
                               name_of(kernel), n, bytes),
                   (2e-6 + bytes / 3e12) * off());
    }
  document.add_launch("host_launch", 3e-6 * off());
  document.add_text(timed(fmt::format(R"("what": "interference", "kernel": "gemm", "beside": "collective", )"
                                      R"("alone_s": 1e-5, "slowdown": 1.1, "other_slowdown": {:.4g})",
                                      1.1 * off()),
                          1e-5));
  return document.text(random.integer(0, 1) == 1 ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-40GB");
}

TEST(WrittenFits, AGpusProfileIsADeviceThatLoads) {
  for (const double wild : {0.0, 0.5, 4.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      return fit_gpu(read_gpu_samples(gpu_document(random, wild), "samples.json"), "").profile;
    };
    const int count = written(cases(6), write, [](const std::string& path) { load_device(path); });
    EXPECT_GE(count, wild == 0 ? 1 : 0);
  }
}

constexpr const char* kDevice = R"({"schema": "accosim.device/1", "name": "X", "architecture": "ampere",
  "sm_count": 108, "power": "400 W", "peak": {"bf16": "312 TFLOP/s", "fp32": "19.5 TFLOP/s"}, "gemm_efficiency": 0.7,
  "flash_attention_efficiency": 0.4, "memory_bandwidth": "2 TB/s", "memory_efficiency": 0.8, "memory": "80 GB",
  "launch_interval": "3 us"})";

TEST(WrittenFits, AProfileOfKernelsIsADeviceThatLoads) {
  const Scratch scratch;
  const Device device = load_device(scratch.write("x.json", kDevice));
  for (const double wild : {0.0, 0.2, 1.0, 6.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      std::string gemms = "source,device,kind,dtype,batch,m,n,k,out_dtype,accumulate,time_us\n";
      for (int i = 0; i < 20; ++i) {
        const double m = std::ceil(magnitude(random, 1, 4 + wild)), n = std::ceil(magnitude(random, 1, 4 + wild / 2));
        const double k = std::ceil(magnitude(random, 1, 4));
        gemms += fmt::format("me,X,gemm,bf16,1,{:.0f},{:.0f},{:.0f},bf16,{},{:.6g}\n", m, n, k, random.integer(0, 1),
                             (4 + 2 * m * n * k / 200e6) * magnitude(random, -wild, wild));
      }
      std::string attention = "source,device,kind,dtype,batch,heads,kv_heads,seq,head_dim,value_dim,causal,time_us\n";
      for (int i = 0; i < 20; ++i) {
        const double seq = std::ceil(magnitude(random, 2, 4));
        attention += fmt::format("me,X,{},bf16,1,16,16,{:.0f},128,128,1,{:.6g}\n",
                                 i % 2 == 0 ? "attention_forward" : "attention_backward", seq,
                                 (4 + 16 * 256 * seq * seq / 100e6) * magnitude(random, -wild, wild));
      }
      std::vector<KernelSample> samples = read_kernel_samples(gemms, "gemms.csv");
      for (const KernelSample& each : read_kernel_samples(attention, "attention.csv")) samples.push_back(each);
      return profile_with_fits(kDevice, "x.json", device, fit_kernels(samples, {{"X", device}}));
    };
    const int count = written(cases(6), write, [](const std::string& path) { load_device(path); });
    EXPECT_GE(count, wild < 0.5 ? cases(6) : 0) << wild;
  }
}

constexpr const char* kCluster = R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 4, "gpus": 8,
  "device": "A100-SXM4-80GB", "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"},
  "nics": {"count": 4, "bandwidth": "25 GB/s", "efficiency": 0.5}}],
  "sources": {"/nodes/0/nics/efficiency": "somebody"}})";

TEST(WrittenFits, LinksAreAClusterThatLoads) {
  const Scratch scratch;
  const auto cluster = std::make_shared<const Cluster>(load_cluster(scratch.write("c.json", kCluster)));
  for (const double wild : {0.0, 0.2, 3.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      std::string table = "source,fabric,collective,ranks,nodes,bytes,time_us\n";
      for (int i = 0; i < 30; ++i) {
        const double bytes = std::round(magnitude(random, 2, 9));
        const int nodes = random.integer(0, 1) == 0 ? 1 : 4;
        const CollectiveKind kind = i % 2 == 0 ? CollectiveKind::kAllReduce : CollectiveKind::kAllGather;
        const CollectiveQuery query{cluster, kind, Bytes{bytes}, 8 * nodes, nodes, Seconds{0}, {}};
        table += fmt::format("me,c,{},{},{},{:.0f},{:.6g}\n", name_of(kind), 8 * nodes, nodes, bytes,
                             1e6 * collective_time(query).value * magnitude(random, -wild, wild));
      }
      const std::vector<LinkFit> fits = fit_collectives(read_collective_samples(table, "t.csv", {cluster}));
      return cluster_with_links(kCluster, "c.json", fits, "me");
    };
    const int count = written(2, write, [](const std::string& path) { load_cluster(path); });
    EXPECT_GE(count, wild < 0.5 ? 2 : 0) << wild;
  }
}

}  // namespace
}  // namespace accosim

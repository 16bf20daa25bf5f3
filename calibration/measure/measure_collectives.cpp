// Every rank is a process that ends itself after a limit: a hung NCCL cannot be asked to.
#include "calibration/measure/measure_collectives.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "calibration/device/device_transport.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/measure/measure_bench.hpp"

namespace accocal {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Job {
  DevicePlace place;
  int ranks = 2;
  NetworkSetting setting{};
  std::string experiment{};
  std::vector<std::int64_t> bytes;  ///< ascending
  int runs = 10;
  unsigned limit = 60;  ///< seconds
};

using Call = void (DeviceTransport::*)(Buffer, Stream&);
const std::vector<std::pair<std::string, Call>>& calls() {
  static const std::vector<std::pair<std::string, Call>> kCalls = {{"all_reduce", &DeviceTransport::all_reduce},
                                                                   {"reduce_scatter", &DeviceTransport::reduce_scatter},
                                                                   {"all_gather", &DeviceTransport::all_gather}};
  return kCalls;
}

void set_environment(const NetworkSetting& setting) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  set("NCCL_ALGO", setting.algorithm);
  set("NCCL_PROTO", setting.protocol);
  if (setting.channels == 0) return;
  set("NCCL_MIN_NCHANNELS", std::to_string(setting.channels));
  set("NCCL_MAX_NCHANNELS", std::to_string(setting.channels));
}

/// Seconds of each of `runs` collectives, one after the other.
std::vector<double> times_of(Call call, std::int64_t bytes, int runs, DeviceTransport& network, Transport& ranks,
                             void* data, Stream& stream, Events& events) {
  constexpr int kWarmUp = 3;
  const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(Bf16);
  ranks.barrier();
  const auto once = [&] { (network.*call)({data, count, ElementType::kBf16}, stream); };
  for (int i = 0; i < kWarmUp; ++i) once();
  return timed(runs, stream, events, once);
}

std::string measure_on_rank(const Job& job, Transport& ranks) {
  alarm(job.limit);
  set_environment(job.setting);
  use_device(job.place.each ? ranks.rank() : job.place.index);
  const std::unique_ptr<DeviceTransport> network = nccl_transport(ranks);
  Stream stream(Stream::Priority::kHigh);
  Events events;
  const DeviceMemory data(static_cast<std::size_t>(job.bytes.back()));
  // Small, so that sums over many runs stay finite.
  fill_random(data.as<Bf16>(), data.size() / sizeof(Bf16), 1e-3F, 1 + static_cast<std::uint64_t>(ranks.rank()), stream);
  std::vector<CollectiveTimes> all;
  for (const auto& [name, call] : calls()) {
    for (const std::int64_t bytes : job.bytes) {
      const std::int64_t whole = bytes / (2 * job.ranks) * (2 * job.ranks);  // elements that divide by the ranks
      all.push_back({name, whole, times_of(call, whole, job.runs, *network, ranks, data.data(), stream, events), {}});
    }
  }
  std::size_t at = all.size();
  for (auto call = calls().rbegin(); call != calls().rend(); ++call) {
    for (std::size_t i = job.bytes.size(); i-- > 0;) {
      CollectiveTimes& one = all[--at];
      one.second = times_of(call->second, one.bytes, job.runs, *network, ranks, data.data(), stream, events);
    }
  }
  alarm(0);
  return report_of(all);
}

std::string describe(const Job& job) {
  const NetworkSetting& setting = job.setting;
  std::string text = fmt::format("collectives of {} ranks", job.ranks);
  if (!setting.algorithm.empty()) text += " by " + setting.algorithm + " " + setting.protocol;
  if (setting.channels > 0) text += fmt::format(" on {} channels", setting.channels);
  return job.experiment.empty() ? text : text + ", " + job.experiment;
}

void run_job(const Job& job, EarlierSamples& to, const Session::Say& say) {
  say(describe(job));
  const LaunchOptions launch{job.ranks, {}, Seconds{20}};  // over loopback
  const RankResults results = run_ranks(launch, [&](Transport& ranks) { return measure_on_rank(job, ranks); });
  if (results.code != ExitCode::kDone) {
    to.left_out.push_back({describe(job), results.errors.empty() ? "a rank failed" : results.errors.front(), 1});
    return;
  }
  std::vector<std::vector<CollectiveTimes>> ranks;
  for (const RankEnd& end : results.ranks) ranks.push_back(read_report<std::vector<CollectiveTimes>>(end.report));
  for (CollectiveTimes& one : slowest(ranks)) {
    DeviceSample sample;
    sample.keys = {{"what", "collective"},
                   {"collective", one.collective},
                   {"bytes", one.bytes},
                   {"ranks", job.ranks},
                   {"algorithm", job.setting.algorithm},
                   {"protocol", job.setting.protocol},
                   {"channels", job.setting.channels},
                   {"experiment", job.experiment}};
    sample.spread = spread_of(one.first);
    sample.again = spread_of(one.second).median;
    to.samples.push_back(std::move(sample));
  }
}

/// How many devices there are, as far as it matters; looked for in processes of their own.
int devices_for_collectives() {
  for (const int count : {8, 4, 2}) {
    try {
      check_devices({true, 0}, count);
      return count;
    } catch (const BadInput&) {
    }
  }
  return 1;
}

}  // namespace

std::vector<NetworkSetting> network_settings() {
  std::vector<NetworkSetting> settings(1);
  for (const char* algorithm : {"Ring", "Tree"})
    for (const char* protocol : {"LL", "LL128", "Simple"}) settings.push_back({algorithm, protocol, 0});
  settings.push_back({"NVLS", "Simple", 0});
  for (const int channels : {1, 2, 4, 8, 16, 24, 32}) settings.push_back({"Ring", "Simple", channels});
  return settings;
}

std::vector<CollectiveTimes> slowest(const std::vector<std::vector<CollectiveTimes>>& ranks) {
  std::vector<CollectiveTimes> all = ranks.front();
  const auto raise = [](std::vector<double>& to, const std::vector<double>& by) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], by.at(i));
  };
  for (const std::vector<CollectiveTimes>& rank : ranks) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      raise(all[i].first, rank.at(i).first);
      raise(all[i].second, rank.at(i).second);
    }
  }
  return all;
}

EarlierSamples measure_collectives(const DeviceMeasureOptions& options, const Session::Say& say) {
  constexpr double kShare = 0.4;  // of the budget, where other kinds are to follow
  EarlierSamples all;
  const double begin = monotonic_seconds(), most = (options.only.empty() ? kShare : 1.0) * options.budget.value;
  const auto left = [&] { return most - (monotonic_seconds() - begin); };
  const auto run = [&](Job job) {
    if (left() < 10) return all.left_out.push_back({describe(job), "no time was left", 1});
    job.limit = static_cast<unsigned>(std::min(60.0, left()));
    run_job(job, all, say);
  };
  Job job{.place = {.each = true},
          .ranks = devices_for_collectives(),
          .bytes = {1024, 16384, 262144, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB, 1024 * kMiB}};
  if (options.quick) job.bytes = {1024, kMiB, 64 * kMiB};
  if (job.ranks > 1) {
    for (const NetworkSetting& setting : network_settings()) {
      job.setting = setting;
      run(job);
      if (options.quick) break;
    }
  } else {
    all.left_out.push_back({"collectives between devices", "there is one device", 1});
  }
  if (options.collective_ranks > 1) {
    job.ranks = options.collective_ranks;
    job.place = {false, options.device};
    job.setting = {};
    job.experiment = fmt::format("{} processes on one GPU over loopback sockets", job.ranks);
    job.bytes = {1024, 16384, 262144, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB};
    if (options.quick) job.bytes = {1024, kMiB};
    job.runs = 5;
    run(job);
  }
  return all;
}

}  // namespace accocal

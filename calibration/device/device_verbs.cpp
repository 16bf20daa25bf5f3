// `train` on a device: where its ranks are, whether there are such devices, and the run of one rank.
#include "calibration/device/device_verbs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <tuple>

#include "calibration/base/tool.hpp"
#include "calibration/device/device.hpp"
#include "calibration/device/device_training.hpp"
#include "calibration/ranks/report.hpp"

namespace accocal {
namespace {

// What a child process says of the devices: how many, and why not more.
struct Devices {
  int count = 0;
  std::string why;

  static constexpr auto kReported = std::tuple(&Devices::count, &Devices::why);
};

int tell_devices(int to) {
  const int count = device_count();
  const std::string said = report_of(Devices{count, count == 0 ? why_no_device() : ""});
  // Into a pipe, whose buffer holds it all.
  return write(to, said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1;
}

Devices devices_seen_by_a_child() {
  const std::optional<ChildEnd> end = run_child(tell_devices);
  if (!end) throw BadEnvironment(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (end->said.empty()) return {0, "no CUDA device: the driver ended the process that asked for them"};
  return read_report<Devices>(end->said);
}

template <typename Real>
TrainingResult run(const TrainingOptions& options, Transport& ranks) {
  const std::unique_ptr<DeviceTransport> network = ranks.size() == 1 ? alone_transport() : nccl_transport(ranks);
  const std::unique_ptr<DeviceWorkload<Real>> workload = gpt_on_device<Real>(options);
  return train_by_streams(options, *workload, *network, ranks);
}

}  // namespace

DevicePlace parse_device(const std::string& text) {
  constexpr std::string_view kBefore = "cuda:";
  if (text == "cuda") return {true, 0};
  DevicePlace place;
  const char* const end = text.data() + text.size();
  const bool begins = text.rfind(kBefore, 0) == 0;
  const auto [at, error] = std::from_chars(begins ? text.data() + kBefore.size() : end, end, place.index);
  if (!begins || error != std::errc() || at != end || place.index < 0) {
    throw BadInput(fmt::format(
        "--device {}: write cuda:0 (all ranks on that device) or cuda (rank 0 on device 0, rank 1 on device 1 "
        "and so on)",
        text));
  }
  return place;
}

void check_devices(const DevicePlace& place, int ranks) {
  const Devices devices = devices_seen_by_a_child();
  if (devices.count == 0) throw BadInput(devices.why);
  const int needed = place.each ? ranks : place.index + 1;
  if (devices.count >= needed) return;
  const std::string there =
      devices.count == 1 ? "there is one device, 0" : fmt::format("there are devices 0 to {}", devices.count - 1);
  if (place.each)
    throw BadInput(
        fmt::format("--device cuda with {} ranks: {}; write --ranks {}, or --device cuda:0 to have all ranks "
                    "on one",
                    ranks, there, devices.count));
  throw BadInput(fmt::format("--device cuda:{}: {}", place.index, there));
}

TrainingResult train_on_device(const TrainingOptions& options, const DevicePlace& place, Transport& transport) {
  check_options(options, transport.size());
  const int device = place.each ? transport.rank() : place.index;
  use_device(device);
  TrainingResult result =
      options.storage == ElementType::kBf16 ? run<Bf16>(options, transport) : run<float>(options, transport);
  if (options.random_vocabulary == 0 && transport.rank() == 0)
    check_loss(result.held_out_loss, std::ssize(result.updates), options);
  result.device.name = device_info(device).name;
  if (!place.each && transport.size() > 1)
    result.device.experiment =
        fmt::format("{} ranks share one device, and talk by NCCL over sockets", transport.size());
  return result;
}

}  // namespace accocal

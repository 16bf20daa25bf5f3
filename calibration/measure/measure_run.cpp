// The kinds in the order in which an error of the device would cost least: the steps, which do most, come last.
#include "calibration/measure/measure_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "calibration/measure/measure_collectives.hpp"
#include "calibration/measure/measure_rank.hpp"
#include "models/base/errors.hpp"
#include "models/base/text_file.hpp"

namespace accocal {
namespace {

const std::vector<std::string> kKinds = {"gemm", "memory",       "attention",  "launch",
                                         "copy", "interference", "collective", "step"};

constexpr std::size_t kMostTable = std::size_t{1} << 20;  ///< bytes

/// Do the next calls stand a chance?
bool device_is_alive() {
  try {
    synchronise_device();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

template <typename Case>
std::vector<Case> attention_of(const std::vector<Case>& all) {
  std::vector<Case> kept;
  std::copy_if(all.begin(), all.end(), std::back_inserter(kept), [](const Case& one) { return is_attention(one); });
  return kept;
}

std::string command_of(const DeviceMeasureOptions& options) {
  std::string command =
      fmt::format("accocal measure --device cuda:{} --seconds {}", options.device, options.budget.value);
  if (options.quick) command += " --quick";
  if (!options.only.empty()) command += " --only " + options.only;
  if (!options.kernels.empty()) command += " --kernels " + options.kernels;
  if (options.collective_ranks > 0) command += fmt::format(" --collective-ranks {}", options.collective_ranks);
  return command;
}

/// Runs every kind; what is written down is in `session` and `rested`, however far it came.
/// `save` is called after each kind.
void run_all(DevicePlan plan, const MeasureSetting& setting, const DeviceMeasureOptions& options, Session& session,
             std::vector<Entries>& rested, const std::function<void()>& save) {
  const std::string& only = options.only;
  const auto asked = [&](const char* kind) { return only.empty() || only == kind; };
  const bool attention = only == "attention";
  if (attention) {
    plan.products = attention_of(plan.products);
    plan.kernels = attention_of(plan.kernels);
  }
  // Of one kind alone the end is the budget's.
  const auto until = [&](double share) { return only.empty() ? share : 1.0; };
  Bench bench(setting.bench);
  Products products;
  const Lab lab{bench, products, setting.efforts, options.device};
  const auto run = [&](const char* what, const std::vector<MeasureItem>& items, double share) {
    session.run(what, items, share);
    save();
  };
  try {
    warm_up_device(lab);  // a rested device has its lowest clocks
  } catch (const std::exception& error) {
    session.leave_out("the load before all else", error.what());
  }
  if (asked("launch")) run("launch", launch_items(lab), until(0.03));
  if (asked("gemm") || attention) run("gemm", product_items(plan.products, lab), attention ? 0.6 : until(0.4));
  if (asked("memory") || attention) run("kernel", kernel_items(plan.kernels, lab), until(0.54));
  if (asked("copy")) run("copy", copy_items(plan.copies, lab), until(0.6));
  if (asked("interference")) {
    session.leave_out("kernels beside a collective", "it needs ranks on several devices");
    run("interference", interference_items(plan.interference, lab), until(0.67));
  }
  if (asked("step")) {
    bench.release();
    run("step", step_items(plan.steps, lab, rested), only.empty() ? 0.88 : 0.8);
    run("update", update_items(plan.updates, lab), 1.0);
  }
}

std::vector<ProductCase> products_asked(const DeviceMeasureOptions& options) {
  if (options.kernels.empty()) return {};
  std::string text;
  if (const std::string wrong = accosim::read_text_file(options.kernels, text, kMostTable); !wrong.empty())
    throw BadInput(fmt::format("--kernels {} {}", options.kernels, wrong));
  return products_of_table(text, options.kernels);
}

}  // namespace

void check_only(const std::string& only) {
  if (only.empty() || std::ranges::find(kKinds, only) != kKinds.end()) return;
  throw BadInput(fmt::format("--only {}: write one of {}", only, fmt::join(kKinds, ", ")));
}

MeasureSetting default_setting(const DeviceInfo& info, bool quick) {
  MeasureSetting setting;
  if (info.l2 > 0) setting.bench.beyond = static_cast<std::size_t>(2 * info.l2);
  if (quick) {
    setting.efforts.product = setting.efforts.kernel = {Seconds{2e-3}, Seconds{3e-3}, 3, 5};
    setting.efforts.load = Seconds{0.3};
    setting.efforts.step = Seconds{0.2};
    setting.efforts.rest = Seconds{0.1};
  }
  setting.clock = [] { return Seconds{monotonic_seconds()}; };
  setting.say = [](const std::string& line) { std::cerr << "accocal: " << line << std::endl; };
  return setting;
}

std::string measure_plan(const DevicePlan& plan, const MeasureSetting& setting, const DeviceMeasureOptions& options,
                         const EarlierSamples& earlier) {
  DeviceDocument document{
      .info = device_info(options.device), .before = device_state(options.device), .command = command_of(options)};
  Session session(options.budget - earlier.took, setting.clock, setting.say, device_is_alive);
  const auto written = [&] {
    document.took = earlier.took + session.now();
    document.samples = session.samples();
    document.samples.insert(document.samples.end(), earlier.samples.begin(), earlier.samples.end());
    document.left_out = session.left_out();
    document.left_out.insert(document.left_out.end(), earlier.left_out.begin(), earlier.left_out.end());
    return device_document(document);
  };
  const auto save = [&] {
    if (options.save) options.save(written());
  };
  try {
    run_all(plan, setting, options, session, document.rested, save);
  } catch (const std::exception& error) {
    session.leave_out("all that was to follow", error.what());
  }
  try {
    document.after = device_state(options.device);
  } catch (const std::exception& error) {
    session.leave_out("the device's state afterwards", error.what());
  }
  std::string whole = written();
  setting.say(fmt::format("{} samples in {:.0f} s, {} sorts of them left out", document.samples.size(),
                          document.took.value, document.left_out.size()));
  return whole;
}

void check_options(const DeviceMeasureOptions& options) {
  check_only(options.only);
  if (!options.kernels.empty() && !options.only.empty() && options.only != "gemm")
    throw BadInput("--kernels: --only " + options.only + " measures no matrix products; leave one of them out");
  if (options.collective_ranks > 0 && !options.only.empty() && options.only != "collective")
    throw BadInput("--collective-ranks: --only " + options.only + " measures no collectives; leave one of them out");
}

std::string measure_on_device(const DeviceMeasureOptions& options) {
  check_options(options);
  const std::vector<ProductCase> asked = products_asked(options);  // before a device is used
  const MeasureSetting no_device = default_setting({}, options.quick);
  EarlierSamples earlier;
  const double begin = monotonic_seconds();
  // First what needs processes of its own, since one that has started CUDA must not fork.
  if (options.only.empty() || options.only == "collective") earlier = measure_collectives(options, no_device.say);
  use_device(options.device);
  earlier.took = Seconds{monotonic_seconds() - begin};
  DevicePlan plan = make_device_plan(options.quick ? quick_sizes() : full_sizes());
  plan.products.insert(plan.products.begin(), asked.begin(), asked.end());
  return measure_plan(plan, default_setting(device_info(options.device), options.quick), options, earlier);
}

}  // namespace accocal

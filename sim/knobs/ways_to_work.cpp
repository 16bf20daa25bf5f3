// How the samples of an update are cut into micro-batches: on how many nodes, of which size, and who does how many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

#include "models/base/json.hpp"
#include "models/base/names.hpp"
#include "models/base/reader.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/balance.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/knobs/degrees.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

constexpr int kMostFactor = 4096;      ///< of a micro-batch
constexpr int kMostSmaller = 8;        ///< numbers of micro-batches that an update begins with
constexpr double kFewNodes = 32;       ///< combinations of node counts that are all looked at
constexpr std::size_t kMostWays = 64;  ///< combinations of halves
constexpr const char* kMicroBatch = "micro_batch_size";
constexpr const char* kSteps = "gradient_accumulation_steps";

/// value times up over down, where that is whole.
std::optional<int> times(int value, int up, int down) {
  const long long product = 1LL * value * up;
  if (product % down != 0 || product / down < 1 || product / down > kMaxInteger) return std::nullopt;
  return static_cast<int>(product / down);
}

bool has_own_steps(const Scenario& scenario) {
  return std::ranges::any_of(scenario.cluster.nodes,
                             [](const NodeGroup& each) { return !each.accumulation_steps.empty(); });
}

/// All micro-batches times up / down, and as many fewer or more of them; nothing where that is not whole, or no whole
/// groups of a pipeline that takes them in groups.
std::optional<Scenario> scaled(Scenario scenario, int up, int down) {
  Training& training = scenario.training;
  const bool steps_of_nobody = all_have_own_steps(scenario.cluster);
  const auto whole = [apart = micro_batches_apart(training.parallel), up, down](int steps) {
    const std::optional<int> scaled_steps = times(steps, down, up);
    return scaled_steps && *scaled_steps % apart == 0 ? scaled_steps : std::nullopt;
  };
  for (NodeGroup& group : scenario.cluster.nodes) {
    const std::optional<int> size = times(group.micro_batch_size, up, down);
    if (!size) return std::nullopt;
    group.micro_batch_size = *size;
    for (int& steps : group.accumulation_steps) {
      const std::optional<int> own = whole(steps);
      if (!own) return std::nullopt;
      steps = *own;
    }
  }
  const std::optional<int> steps = whole(training.gradient_accumulation_steps);
  if (!steps && !steps_of_nobody) return std::nullopt;
  if (steps) training.gradient_accumulation_steps = *steps;
  // Where every group has its own it is nobody's.
  training.micro_batch_size = times(training.micro_batch_size, up, down).value_or(training.micro_batch_size);
  return scenario;
}

/// "4 x 22" of a group, or of GPUs that differ in it "4 x 22 and 10".
std::string work_of(const NodeGroup& group, const Training& training) {
  std::vector<int> steps = group.accumulation_steps;
  if (steps.empty()) steps = {training.gradient_accumulation_steps};
  std::string text = fmt::format("{} x", group.micro_batch_size);
  std::vector<int> said;
  for (const int each : steps) {
    if (std::ranges::find(said, each) != said.end()) continue;
    text += fmt::format("{} {}", said.empty() ? "" : " and", each);
    said.push_back(each);
  }
  return text;
}

bool is_equal_work(const Scenario& scenario) {
  const NodeGroup& first = scenario.cluster.nodes.front();
  return std::ranges::all_of(scenario.cluster.nodes, [&](const NodeGroup& group) {
    return group.micro_batch_size == first.micro_batch_size && group.accumulation_steps.empty();
  });
}

std::string work_in_words(const Scenario& scenario) {
  if (is_equal_work(scenario))
    return fmt::format("{} {}, {} {}", kMicroBatch, scenario.cluster.nodes.front().micro_batch_size, kSteps,
                       scenario.training.gradient_accumulation_steps);
  std::string text;
  for (const NodeGroup& group : scenario.cluster.nodes)
    if (group.count > 0)
      text += fmt::format("{} {} on {}", text.empty() ? "micro-batches" : " and", work_of(group, scenario.training),
                          group.name);
  return text;
}

/// What turns the scenario as it is written into this one.
std::vector<std::string> settings_from(const LoadedScenario& written, const Scenario& scenario) {
  const Training& training = scenario.training;
  const std::vector<NodeGroup>& groups = scenario.cluster.nodes;
  std::vector<std::string> set{fmt::format("/training/{}={}", kMicroBatch, training.micro_batch_size),
                               fmt::format("/training/{}={}", kSteps, training.gradient_accumulation_steps)};
  if (!same_degrees(training.parallel, written.scenario.training.parallel))
    set.push_back(degrees_setting(written, training.parallel));
  if (training.expert_imbalance != written.scenario.training.expert_imbalance)
    set.push_back(fmt::format("/training/expert_imbalance={}", training.expert_imbalance));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string size = of_group(scenario.cluster, g, kMicroBatch), steps = of_group(scenario.cluster, g, kSteps);
    if (groups[g].count != written.scenario.cluster.nodes[g].count)
      set.push_back(fmt::format("{}={}", of_group(scenario.cluster, g, "count"), groups[g].count));
    if (groups[g].micro_batch_size != training.micro_batch_size || writes(*written.tree, size))
      set.push_back(fmt::format("{}={}", size, groups[g].micro_batch_size));
    if (!groups[g].accumulation_steps.empty())
      set.push_back(fmt::format("{}=[{}]", steps, fmt::join(groups[g].accumulation_steps, ",")));
  }
  return set;
}

/// "2 nodes", or of several groups "2 nodes of a100 and 0 of v100".
std::string nodes_in_words(const Cluster& cluster) {
  std::string text;
  for (const NodeGroup& group : cluster.nodes) {
    text += fmt::format("{}{}", text.empty() ? "" : " and ", group.count);
    if (&group == &cluster.nodes.front()) text += group.count == 1 ? " node" : " nodes";
    if (cluster.nodes.size() > 1) text += " of " + group.name;
  }
  return text;
}

/// Counts of a group's nodes, the most first: all of few, of many halves.
std::vector<int> counts_of(int count, int least, bool few) {
  std::vector<int> counts;
  for (int n = count; n >= least && n >= 0; n = few ? n - 1 : n / 2) {
    counts.push_back(n);
    if (n == 0) break;
  }
  return counts;
}

/// The scenario, and then the same on fewer nodes, the most first; itself alone where groups have micro-batches of
/// their own number.
std::vector<Scenario> on_fewer_nodes(const Scenario& scenario) {
  const std::vector<NodeGroup>& groups = scenario.cluster.nodes;
  std::vector<Scenario> all{scenario};
  if (has_own_steps(scenario)) return all;
  double combinations = 1;
  for (const NodeGroup& group : groups) combinations *= group.count + 1;
  std::vector<std::vector<int>> of_group;
  std::size_t product = 1;
  for (const NodeGroup& group : groups) {
    of_group.push_back(counts_of(group.count, groups.size() > 1 ? 0 : 1, combinations <= kFewNodes));
    product = std::min(2 * kMostWays, product * of_group.back().size());
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // Of many groups one at a time has fewer.
    const std::size_t known = product <= kMostWays ? all.size() : 1;
    for (std::size_t i = 0; i < known; ++i)
      for (std::size_t n = 1; n < of_group[g].size(); ++n) {
        all.push_back(all[i]);
        all.back().cluster.nodes[g].count = of_group[g][n];
      }
  }
  return all;
}

/// With as many micro-batches as make so many samples an update, or smaller ones where they are then whole, and whole
/// groups where a pipeline takes them in groups; nothing where that cannot be, or the GPUs are no whole replicas.
std::optional<Scenario> sharing(Scenario scenario, double samples) {
  Training& training = scenario.training;
  const int ranks = model_ranks_of(training.parallel), apart = micro_batches_apart(training.parallel);
  const int gpus = static_cast<int>(gpu_count(scenario.cluster));
  if (gpus == 0 || gpus % ranks != 0) return std::nullopt;
  double at_once = 0;
  int common = 0;
  for (const NodeGroup& group : scenario.cluster.nodes) {
    at_once += 1.0 * group.count * group.gpus * group.micro_batch_size / ranks;
    common = std::gcd(common, group.micro_batch_size);
  }
  for (int smaller = 1; smaller <= common; ++smaller) {
    if (common % smaller != 0) continue;
    const double steps = samples / (at_once / smaller);
    if (steps != std::floor(steps) || steps > kMaxInteger || static_cast<int>(steps) % apart != 0) continue;
    for (NodeGroup& group : scenario.cluster.nodes) group.micro_batch_size /= smaller;
    training.micro_batch_size = scenario.cluster.nodes.front().micro_batch_size;
    training.gradient_accumulation_steps = static_cast<int>(steps);
    return scenario;
  }
  return std::nullopt;
}

/// The scenario on each of these clusters, split in every way that is chosen from; itself first.
std::vector<Scenario> at_all_degrees(const std::vector<Scenario>& on, const WorkChoice& choice, double samples) {
  std::vector<Scenario> all{on.front()};
  for (const Scenario& nodes : on) {
    const bool written = &nodes == &on.front();
    const Parallel own = nodes.training.parallel;
    const bool degrees = choice.degrees && !has_own_steps(nodes);
    for (const Parallel& each : degrees ? degrees_of(nodes) : std::vector<Parallel>{own}) {
      if (each.chunks > 1 && !choice.interleaved) continue;
      Scenario split = nodes;
      split.training.parallel = each;
      // No rank has more than all rows.
      split.training.expert_imbalance = std::min(split.training.expert_imbalance, 1.0 * each.experts);
      if (written && same_degrees(each, own)) continue;
      if (std::optional<Scenario> whole = sharing(std::move(split), samples)) all.push_back(std::move(*whole));
    }
  }
  return all;
}

/// With every micro-batch of the first group that divides its samples, and the others' in proportion, the smallest
/// first; the scenario itself before all.
std::vector<Scenario> of_all_sizes(const Scenario& scenario) {
  std::vector<Scenario> sizes{scenario};
  const NodeGroup& first = scenario.cluster.nodes.front();
  const int own = first.micro_batch_size;
  const std::int64_t samples =
      std::int64_t{own} * (first.accumulation_steps.empty() ? scenario.training.gradient_accumulation_steps
                                                            : first.accumulation_steps.front());
  for (int size = 1; size <= std::min(samples, std::int64_t{kMostFactor} * own); ++size)
    if (size != own && samples % size == 0)
      if (std::optional<Scenario> each = scaled(scenario, size, own)) sizes.push_back(std::move(*each));
  return sizes;
}

/// Whether some GPUs may be slower than others and be given less work.
bool is_mixed(Cluster cluster, const Training& training) {
  std::erase_if(cluster.nodes, [](const NodeGroup& group) { return group.count == 0; });
  return can_be_divided(cluster, training);
}

/// The alternatives, each once.
class Ways {
 public:
  /// `loaded` outlives it.
  explicit Ways(const LoadedScenario& loaded) : written_(loaded), balance_(loaded.scenario.training.balance) {
    all_.push_back({words(loaded.scenario, balance_), {}, {}});
  }

  void add(const Scenario& scenario, Balance balance) {
    Alternative each{words(scenario, balance), {}, settings_from(written_, scenario)};
    if (balance != balance_) each.keys.emplace_back("balance", quoted_json(name_of(balance)));
    if (std::ranges::none_of(all_, [&](const Alternative& other) { return other.text == each.text; }))
      all_.push_back(std::move(each));
  }

  std::vector<Alternative> all() && { return std::move(all_); }

 private:
  std::string words(const Scenario& scenario, Balance balance) const {
    std::string text;
    for (std::size_t g = 0; g < scenario.cluster.nodes.size() && text.empty(); ++g)
      if (scenario.cluster.nodes[g].count != written_.scenario.cluster.nodes[g].count)
        text = nodes_in_words(scenario.cluster) + ", ";
    if (!same_degrees(scenario.training.parallel, written_.scenario.training.parallel))
      text += degrees_in_words(scenario.training.parallel) + ", ";
    if (balance != Balance::kSpeed) text += work_in_words(scenario);
    if (balance != Balance::kNone)
      text += fmt::format("{}balance {}", balance == Balance::kSpeed ? "" : ", ", name_of(balance));
    return text;
  }

  const LoadedScenario& written_;
  Balance balance_;
  std::vector<Alternative> all_;
};

}  // namespace

std::vector<Alternative> ways_to_work(const LoadedScenario& loaded, const WorkChoice& choice) {
  const std::vector<Scenario> on =
      choice.nodes ? on_fewer_nodes(loaded.scenario) : std::vector<Scenario>{loaded.scenario};
  Ways ways(loaded);
  for (const Scenario& nodes : at_all_degrees(on, choice, samples_asked(loaded.scenario))) {
    const std::vector<Scenario> sizes = choice.sizes ? of_all_sizes(nodes) : std::vector<Scenario>{nodes};
    const bool mixed = choice.sizes && is_mixed(nodes.cluster, nodes.training);
    for (const Scenario& each : sizes) ways.add(each, choice.sizes ? Balance::kNone : loaded.scenario.training.balance);
    // The division itself then chooses sizes.
    if (mixed) ways.add(nodes, Balance::kSpeed);
    for (const Scenario& each : sizes)
      if (mixed) ways.add(each, Balance::kCounts);
  }
  return std::move(ways).all();
}

std::vector<Alternative> smaller_work(const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  const int steps = scenario.training.gradient_accumulation_steps;
  if (!can_be_divided(scenario.cluster, scenario.training) || !is_equal_work(scenario) ||
      scenario.training.balance != Balance::kNone)
    return {};
  Ways ways(loaded);
  const int least = std::max(1, steps / 2), count = steps - least;
  for (int i = 0; i < std::min(count, kMostSmaller); ++i) {
    Scenario fewer = scenario;
    fewer.training.gradient_accumulation_steps = steps - 1 - i * count / std::min(count, kMostSmaller);
    ways.add(fewer, Balance::kNone);
  }
  std::vector<Alternative> all = std::move(ways).all();
  all.erase(all.begin());  // as written
  return all;
}

}  // namespace accosim

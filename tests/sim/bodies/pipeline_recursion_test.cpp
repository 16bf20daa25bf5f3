// Does every pass of a pipeline begin when what it waits for has ended, no sooner and no later? Random flights are held
// to a longest path over passes and messages by micro-batch, which shares no code with the bodies: it knows the orders
// of the schedules, which pass feeds which, and when stages exchange messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/pipelines.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

using test::Done;
using test::Pipeline;

/// Of a pass: which, when, and of which exchange behind it.
struct Node {
  bool forward = true;
  int chunk = 0, micro_batch = 0;
  double begin = 0, end = 0;
  double got = 0, sent = 0;  // when its input was there, and its output had left
  int unit = 0;              // passes of one unit are computed one after the other; then comes one exchange
};
using Stage = std::vector<Node>;

int group_of(const Pipeline& of) { return of.chunks == 1 ? 1 : of.group > 0 ? of.group : of.stages; }

std::vector<Node> forwards_of(const Pipeline& of, bool back) {
  std::vector<Node> all;
  const int group = group_of(of);
  for (int first = 0; first < of.micro_batches; first += group)
    for (int c = 0; c < of.chunks; ++c)
      for (int k = first; k < first + group; ++k) all.push_back({!back, back ? of.chunks - 1 - c : c, k});
  return all;
}

int warm_up_of(const Pipeline& of, int r) {
  const int all = of.micro_batches * of.chunks, behind = of.stages - 1 - r;
  const int warm_up = of.chunks == 1 ? behind : 2 * behind + (of.chunks - 1) * group_of(of);
  return of.schedule == PipelineSchedule::kGpipe ? all : std::min(warm_up, all);
}

/// Megatron-LM's loops: a warm-up of forward passes, pairs, backward passes.
Stage order_of(const Pipeline& of, int r) {
  const std::vector<Node> forwards = forwards_of(of, false), backwards = forwards_of(of, true);
  const int all = static_cast<int>(forwards.size()), warm_up = warm_up_of(of, r);
  Stage stage(forwards.begin(), forwards.begin() + warm_up);
  for (int k = warm_up; k < all; ++k) {
    stage.push_back(forwards[k]);
    stage.push_back(backwards[k - warm_up]);
  }
  stage.insert(stage.end(), backwards.end() - warm_up, backwards.end());
  // The interleaved loop without overlap exchanges once a pair.
  const bool in_pairs = of.chunks > 1 && !of.overlaps;
  int unit = 0;
  for (int i = 0; i < 2 * all; ++i) {
    const bool second = in_pairs && i >= warm_up && i < 2 * all - warm_up && (i - warm_up) % 2 == 1;
    stage[i].unit = i == 0 ? 0 : second ? unit : ++unit;
  }
  return stage;
}

/// Where the pass of stage r sends to: another stage's pass; {-1}: nowhere.
std::tuple<int, bool, int, int> behind_of(const Pipeline& of, int r, const Node& node) {
  int stage = r, chunk = node.chunk;
  if (node.forward) {
    if (++stage == of.stages) stage = 0, ++chunk;
    if (chunk == of.chunks) stage = -1;
  } else {
    if (--stage < 0) stage = of.stages - 1, --chunk;
    if (chunk < 0) stage = -1;
  }
  return {stage, node.forward, chunk, node.micro_batch};
}

class LongestPath {
 public:
  explicit LongestPath(const Pipeline& of) : of_(of) {
    for (int r = 0; r < of.stages; ++r) stages_.push_back(order_of(of, r));
    for (int r = 0; r < of.stages; ++r)
      for (int i = 0; i < static_cast<int>(stages_[r].size()); ++i) {
        const Node& node = stages_[r][i];
        place_[{r, node.forward, node.chunk, node.micro_batch}] = {r, i};
      }
  }

  /// Times only grow until nothing changes; in a pipeline that stands still they would grow for ever.
  const std::vector<Stage>& solved() {
    bool moved = true;
    for (int rounds = 0; moved; ++rounds) {
      EXPECT_LT(rounds, 4000) << "stages wait for each other";
      if (rounds >= 4000) break;
      moved = false;
      for (int r = 0; r < of_.stages; ++r)
        for (int i = 0; i < static_cast<int>(stages_[r].size()); ++i) moved = relax(r, i) || moved;
    }
    return stages_;
  }

 private:
  const Node* node(int r, int i) const { return i < 0 ? nullptr : &stages_[r][i]; }

  /// The last pass before the unit of pass i.
  int before_unit(int r, int i) const {
    int last = i;
    while (last >= 0 && stages_[r][last].unit == stages_[r][i].unit) --last;
    return last;
  }
  int end_of_unit(int r, int i) const {
    int last = i;
    while (last + 1 < static_cast<int>(stages_[r].size()) && stages_[r][last + 1].unit == stages_[r][i].unit) ++last;
    return last;
  }
  /// When the last message of its kind before pass i was over: a stage sends, and receives, them one after the other.
  double lane_free(int r, int i, double Node::*what) const {
    double free = 0;
    for (int k = 0; k < i; ++k)
      if (stages_[r][k].forward == stages_[r][i].forward) free = std::max(free, stages_[r][k].*what);
    return free;
  }
  /// The first pass behind the rounds, where there are any: as many as the first stage has periods of pairs.
  bool is_behind_rounds(int r, int i) const {
    const auto pairs = [&](int stage) { return of_.micro_batches * of_.chunks - warm_up_of(of_, stage); };
    if (pairs(0) / (group_of(of_) * of_.chunks) == 0) return false;
    const int all = of_.micro_batches * of_.chunks;
    return i == all + pairs(r);
  }
  double posted(int r, int i) const {
    const Node* const before =
        of_.overlaps ? node(r, is_behind_rounds(r, i) ? i - 1 : i - 2) : node(r, before_unit(r, i));
    return std::max(before == nullptr ? 0 : before->end, lane_free(r, i, &Node::got));
  }

  bool relax(int r, int i) {
    Node& here = stages_[r][i];
    const Node old = here;
    double begin = i == 0 ? 0 : stages_[r][i - 1].end;
    if (of_.overlaps) {
      begin = std::max(begin, here.got);
    } else {
      const int last = before_unit(r, i);
      for (int k = last + 1; k <= end_of_unit(r, i); ++k) begin = std::max(begin, stages_[r][k].got);
      for (int k = last; k >= 0 && stages_[r][k].unit == stages_[r][last].unit; --k)
        begin = std::max(begin, stages_[r][k].sent);
    }
    here.begin = begin;
    here.end = begin + (here.forward ? of_.forward : of_.backward)[r][here.chunk];
    if (const auto to = place_.find(behind_of(of_, r, here)); to != place_.end()) {
      const auto [other, k] = to->second;
      const double ready = std::max(stages_[r][of_.overlaps ? i : end_of_unit(r, i)].end, lane_free(r, i, &Node::sent));
      here.sent = std::max(ready, posted(other, k)) + of_.message;
      moved_ = moved_ || stages_[other][k].got != here.sent;
      stages_[other][k].got = here.sent;
    }
    const bool moved = moved_ || here.begin != old.begin || here.sent != old.sent;
    moved_ = false;
    return moved;
  }

  const Pipeline& of_;
  std::vector<Stage> stages_;
  std::map<std::tuple<int, bool, int, int>, std::pair<int, int>> place_;
  bool moved_ = false;
};

Pipeline random_pipeline(Random& random) {
  Pipeline of;
  of.schedule = static_cast<PipelineSchedule>(random.integer(0, 2));
  of.stages = random.integer(2, 5);
  if (of.schedule == PipelineSchedule::kInterleaved) of.chunks = random.integer(2, 4);
  of.micro_batches = random.integer(1, 12);
  of.overlaps = random.integer(0, 1) == 1;
  // Groups that are no pipeline's size are of overlapped messages; smaller ones stand alone.
  if (of.chunks > 1 && of.overlaps && random.integer(0, 2) == 0) of.group = random.integer(1, 2 * of.stages);
  if (of.chunks > 1) of.micro_batches = group_of(of) * (group_of(of) < of.stages ? 1 : random.integer(1, 5));
  of.message = random.integer(0, 3) == 0 ? 0 : random.uniform(0.01, 3);
  for (int r = 0; r < of.stages; ++r) {
    of.forward.emplace_back();
    of.backward.emplace_back();
    for (int c = 0; c < of.chunks; ++c) {
      of.forward.back().push_back(random.uniform(0.5, 2));
      of.backward.back().push_back(random.uniform(0.5, 4));
    }
  }
  return of;
}

std::string in_words(const Pipeline& of) {
  std::ostringstream text;
  text << name_of(of.schedule) << ", " << of.stages << " stages, " << of.chunks << " chunks, " << of.micro_batches
       << " micro-batches" << (of.overlaps ? ", overlapped" : "");
  return text.str();
}

void expect_passes(const std::vector<Stage>& expected, const std::vector<std::vector<Done>>& got) {
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t r = 0; r < got.size(); ++r) {
    ASSERT_EQ(expected[r].size(), got[r].size());
    for (std::size_t i = 0; i < got[r].size(); ++i) {
      EXPECT_EQ(expected[r][i].forward, got[r][i].forward);
      EXPECT_EQ(expected[r][i].chunk, got[r][i].chunk);
      ASSERT_NEAR(expected[r][i].begin, got[r][i].begin, 1e-6 * (1 + got[r][i].begin))
          << "stage " << r << " pass " << i;
      ASSERT_NEAR(expected[r][i].end, got[r][i].end, 1e-6 * got[r][i].end) << "stage " << r << " pass " << i;
    }
  }
}

TEST(PipelineRecursion, EveryPassBeginsWhenWhatItWaitsForHasEnded) {
  Random random(31);
  for (int trial = 0; trial < cases(150); ++trial) {
    const Pipeline of = random_pipeline(random);
    SCOPED_TRACE(in_words(of));
    LongestPath path(of);
    for (const bool written : {false, true}) {
      expect_passes(path.solved(), test::passes_of(test::flight_of(of, written)));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace accosim

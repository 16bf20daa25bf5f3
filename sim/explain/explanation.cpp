#include "sim/explain/explanation.hpp"

#include <algorithm>
#include <utility>

#include "sim/explain/windows.hpp"

namespace accosim {

OperatorTable operator_table(const RankKind& kind) {
  OperatorTable table{.device = kind.device.name,
                      .micro_batch = kind.forward + kind.backward,
                      .waits = kind.forward_waits + kind.backward_waits};
  for (const BilledLayer& layer : kind.bill->layers)
    for (const BilledOperator& op : layer.operators) {
      const auto same = std::ranges::find_if(table.rows, [&](const OperatorRow& row) {
        return row.layer == name_of(layer.kind) && row.name == op.name && row.flops == op.flops;
      });
      if (same != table.rows.end()) {
        same->count += layer.times();
        continue;
      }
      const double slowdown = kind.device.slowdown;
      table.rows.push_back({name_of(layer.kind), op.name, layer.times(), op.flops, op.bytes, slowdown * op.forward,
                            slowdown * op.backward, name_of(op.bound)});
    }
  return table;
}

namespace {

void add_table(std::vector<OperatorTable>& tables, const RankKind& kind) {
  OperatorTable table = operator_table(kind);
  if (kind.share.stages > 1)
    for (OperatorTable& other : tables) {
      if (other.device != table.device || other.rows != table.rows || other.micro_batch != table.micro_batch) continue;
      const auto place = std::lower_bound(other.stages.begin(), other.stages.end(), kind.share.stage);
      if (place == other.stages.end() || *place != kind.share.stage) other.stages.insert(place, kind.share.stage);
      return;
    }
  if (kind.share.stages > 1) table.stages = {kind.share.stage};
  tables.push_back(std::move(table));
}

}  // namespace

Explanation explain(const ScheduleSpec& spec, const SteadyPlay& play) {
  Explanation explanation{.label = spec.label,
                          .ranks = play.costs->ranks(),
                          .updates_per_mark = play.folded.graph.updates_per_mark,
                          .path = critical_path(play),
                          .collectives = collectives_of_update(play),
                          .split = split_costs(play)};
  for (const RankKind& kind : play.costs->kinds) add_table(explanation.operators, kind);
  if (const std::optional<BoundWindow> bound = bound_window(play.folded.graph))
    explanation.notes.push_back(in_words(*bound));
  for (std::string& note : evidence_notes(play.costs->cluster)) explanation.notes.push_back(std::move(note));
  explanation.pauses = play.pauses;
  if (play.costs->pace.unsteady.varies()) explanation.drawn_mean = play.measured.update_time;
  return explanation;
}

}  // namespace accosim

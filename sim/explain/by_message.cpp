#include "sim/explain/by_message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/quantity.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "sim/messages/message_query.hpp"
#include "sim/messages/play_messages.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

bool is_played(Algorithm algorithm) { return algorithm == Algorithm::kRing || algorithm == Algorithm::kTree; }

std::string why_not(CollectiveKind kind, const Ring& ring, const CollectiveCost& cost) {
  if (ring.ranks < 2) return "has one rank";
  if (ring.node.size() < 2) return "stays in a node";
  if (is_exchange(kind)) return "is an exchange, without steps";
  if (!is_played(cost.algorithm))
    return fmt::format("goes by {}, of which no messages are played", name_of(cost.algorithm));
  return "is not NCCL's";
}

ByMessage row_of(const PlanRequest& request, Bytes bytes, const Cluster& cluster, const Ring& ring,
                 const CollectiveCost& cost) {
  const NcclWay way{cost.algorithm, cost.protocol};
  const MessageQuery query = message_query(request.kind, bytes, cluster, ring, way);
  const MessagesPlayed played = play(expand(query));
  return ByMessage{.collective = name_of(request.kind),
                   .algorithm = name_of(way.algorithm),
                   .protocol = name_of(way.protocol),
                   .bytes = bytes,
                   .ranks = ring.ranks,
                   .nodes = static_cast<int>(ring.node.size()),
                   .channels = query.links.channels,
                   .messages = played.messages,
                   .closed_form = collective_time(cost),
                   .played = nccl_steps(request.kind, bytes, cluster, ring, way).launch + played.end};
}

}  // namespace

CollectivesByMessage by_message(const Scenario& scenario, const ScheduleSpec& spec) {
  const Costs costs = price(scenario, spec);
  CollectivesByMessage result{.label = spec.label};
  for (const PlanRequest& request : requests_of(spec, costs, scenario.training.gradient_accumulation_steps)) {
    const Ring ring = ring_of(costs, request.ranks);
    const Bytes bytes = request.bytes / request.count;
    const CollectiveCost cost = collective_cost(request.kind, bytes, costs.cluster, ring);
    if (cost.message > Bytes{0} && is_played(cost.algorithm))
      result.rows.push_back(row_of(request, bytes, costs.cluster, ring, cost));
    else
      result.without.push_back(
          fmt::format("{} of {} {}", name_of(request.kind), to_text(bytes), why_not(request.kind, ring, cost)));
  }
  std::ranges::stable_sort(result.rows,
                           [](const ByMessage& a, const ByMessage& b) { return a.closed_form > b.closed_form; });
  return result;
}

}  // namespace accosim

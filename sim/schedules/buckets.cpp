#include "sim/schedules/buckets.hpp"

#include <algorithm>
#include <cstddef>

namespace accosim {
namespace {

/// The open bucket of those who sum `copies`.
Bucket& open_bucket(std::vector<Bucket>& open, const Ranks& copies) {
  const auto found = std::ranges::find_if(open, [&](const Bucket& each) { return each.copies == copies; });
  if (found != open.end()) return *found;
  open.push_back({{}, {}, {}, copies});
  return open.back();
}

}  // namespace

std::vector<Bucket> buckets_of(const std::vector<ParameterSet>& sets, Bytes gradient_element, const ScheduleSpec& spec,
                               int ranks) {
  const Bytes cap = bucket_cap_of(spec, ranks), first = spec.first_bucket == spec.bucket_cap ? cap : spec.first_bucket;
  std::vector<Bucket> buckets, open;
  const auto close = [&](Bucket& bucket) {
    if (!bucket.tensors.empty()) buckets.push_back(bucket);
    bucket = {{}, {}, {}, bucket.copies};
  };
  for (std::size_t i = sets.size(); i-- > 0;) {
    for (std::size_t t = 0; t < sets[i].tensors.size(); ++t) {
      Bucket& filling = open_bucket(open, sets[i].copies_of(t));
      const double elements = sets[i].tensors[t];
      filling.which.emplace_back(static_cast<int>(i), static_cast<int>(t));
      filling.bytes += elements * gradient_element;
      filling.tensors.push_back(elements);
      const Bytes limit = buckets.empty() ? first : cap;
      if (spec.buckets == Buckets::kTensors && filling.bytes >= limit) close(filling);
    }
    for (Bucket& filled : open)
      if (spec.buckets == Buckets::kUnits && filled.bytes > Bytes{0}) close(filled);
  }
  for (Bucket& bucket : open) {
    const bool rest = bucket.bytes == Bytes{0} && !buckets.empty();  // of what is not trained nothing is sent
    if (rest) buckets.back().which.insert(buckets.back().which.end(), bucket.which.begin(), bucket.which.end());
    if (rest) buckets.back().tensors.insert(buckets.back().tensors.end(), bucket.tensors.begin(), bucket.tensors.end());
    if (!rest) close(bucket);
  }
  std::ranges::stable_sort(buckets, [](const Bucket& a, const Bucket& b) {
    return std::pair(-a.which.back().first, a.which.back().second) <
           std::pair(-b.which.back().first, b.which.back().second);
  });
  return buckets;
}

std::vector<Bucket> gradient_buckets(const RuleInput& input) {
  return buckets_of(input.body.sets, bytes_of(input.costs.gradient_dtype), input.spec, input.kind.ranks);
}

Seconds copies_time(const ScheduleInput& input, const Bucket& bucket) {
  Seconds time;
  for (const double elements : bucket.tensors) {
    const Bytes bytes = elements * bytes_of(input.costs.gradient_dtype);
    time += memory_time(bytes, bytes, input.kind.device);
  }
  return time;
}

}  // namespace accosim

#include "models/spec/schedule.hpp"

#include <algorithm>

namespace accosim {

bool has_whole_tensors(const ScheduleSpec& spec) {
  return spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy ||
         spec.parameter_sync == ParameterSync::kBroadcast;
}

bool has_bucket_copies(const ScheduleSpec& spec) {
  const bool one_buffer = spec.overlap == Overlap::kNone && spec.buckets == Buckets::kWhole;
  return !spec.gradient_as_bucket_view && !one_buffer;
}

Bytes bucket_cap_of(const ScheduleSpec& spec, int ranks) {
  return std::max(spec.bucket_cap, ranks * spec.bucket_cap_a_rank);
}

namespace {

int blocks_of(int layers) { return std::max(1, layers - 2); }

}  // namespace

int fragments_of(const ScheduleSpec& spec, int layers) {
  return (blocks_of(layers) + spec.fragment_layers - 1) / spec.fragment_layers;
}

int fragment_of(const ScheduleSpec& spec, int layer, int layers) {
  const int count = fragments_of(spec, layers);
  if (layer == 0) return 0;
  return layer > blocks_of(layers) ? count - 1 : (layer - 1) % count;
}

int outer_owners(const ScheduleSpec& spec, int ranks) {
  constexpr int kMost = 32;  // fairscale's slowmo_num_shards
  return spec.form == MethodForm::kCode ? std::min(ranks, kMost) : 1;
}

Bytes outer_bytes(const ScheduleSpec& spec) {
  if (!spec.outer_dtype) return bytes_of(spec.parameter_dtype);
  switch (*spec.outer_dtype) {
    case OuterDtype::kFp32: return Bytes{4};
    case OuterDtype::kFp16:
    case OuterDtype::kBf16: return Bytes{2};
    case OuterDtype::kInt8: return Bytes{1};
    case OuterDtype::kE3m0: return Bytes{0.5};
  }
  return Bytes{0};
}

std::vector<Dtype> stored_dtypes() { return {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16}; }

}  // namespace accosim

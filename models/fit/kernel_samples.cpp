#include "models/fit/kernel_samples.hpp"

#include <fmt/format.h>

#include "models/base/csv.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr Range kSide{0, 1e9, true};
constexpr Range kBeside{0, 1e15};

Dtype read_dtype(CsvRowReader& row, const char* column) {
  const std::string written = row.text(column);
  if (const std::optional<Dtype> dtype = value_named<Dtype>(written)) return *dtype;
  if (!written.empty())
    row.fail(column, fmt::format("is {}; write fp32, tf32, fp16, bf16 or fp8", in_quotes(written, 40)));
  return Dtype::kFp32;
}

KernelSample read_row(CsvRowReader& row) {
  KernelSample sample{.source = row.text("source"), .device = row.text("device"), .dtype = read_dtype(row, "dtype")};
  const std::string kind = row.text("kind");
  const auto side = [&](const char* column) { return row.number(column, kSide); };
  if (kind == "gemm") {
    Gemm g{side("batch"), side("m"), side("n"), side("k"), bytes_of(sample.dtype)};
    g.out = bytes_of(read_dtype(row, "out_dtype"));
    g.accumulate = row.integer("accumulate", 0, 1) != 0;
    sample.kernel = gemm_kernel(g);
  } else if (kind == "attention_forward" || kind == "attention_backward" || kind == "attention_both") {
    AttentionShape a{.batch = side("batch"), .heads = side("heads"), .kv_heads = side("kv_heads")};
    a.seq = a.span = side("seq");
    a.head_dim = side("head_dim");
    a.value_dim = side("value_dim");
    const bool causal = row.integer("causal", 0, 1, 1) != 0;
    a.pairs = a.seq * a.seq / (causal ? 2 : 1);
    a.element = bytes_of(sample.dtype);
    a.flash_3 = row.integer("flash_3", 0, 1, 0) != 0;
    sample.kernel = attention_kernel(a, kind == "attention_backward");
    if (kind == "attention_both") sample.kernel.kind = KernelKind::kAttentionBoth;
  } else if (!kind.empty()) {
    row.fail("kind", fmt::format("is {}; write gemm, attention_forward, attention_backward or attention_both",
                                 in_quotes(kind, 40)));
  }
  sample.kernel.beside = Bytes{row.number("bytes_beside", kBeside, 0)};
  sample.time = row.time();
  return sample;
}

}  // namespace

std::string wrong_flops(Flops flops) {
  constexpr double kMost = 1e24;  // what a profile can say of the kernels that its fits are of
  if (flops.value <= kMost) return "";
  return fmt::format("makes a kernel of {:.3g} FLOPs, and nothing computes so much at once; write at most {:.0e}",
                     flops.value, kMost);
}

std::vector<KernelSample> read_kernel_samples(const std::string& text, const std::string& name) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv(text, name, diagnostics);
  std::vector<KernelSample> samples;
  for (const CsvRow& written : table.rows) {
    const std::size_t errors = diagnostics.errors.size();
    CsvRowReader row(table, written, diagnostics);
    samples.push_back(read_row(row));
    const std::string wrong = wrong_flops(flops_of(samples.back().kernel));
    if (diagnostics.errors.size() == errors && !wrong.empty()) row.fail("kind", wrong);
    if (diagnostics.enough()) break;
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return samples;
}

}  // namespace accosim

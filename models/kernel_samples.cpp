// See kernel_samples.hpp. Plain CSV without quotes: no field of a sample needs one.
#include "models/kernel_samples.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "models/scenario.hpp"
#include "models/text.hpp"

namespace accosim {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t from = 0;
  for (std::size_t comma = line.find(','); comma != std::string::npos; comma = line.find(',', from)) {
    fields.push_back(line.substr(from, comma - from));
    from = comma + 1;
  }
  fields.push_back(line.substr(from));
  return fields;
}

/// One row by the names of its columns; what is wrong is collected.
class Row {
 public:
  Row(const std::map<std::string, std::size_t>& columns, std::vector<std::string> fields, std::string place,
      std::vector<std::string>& errors)
      : columns_(columns), fields_(std::move(fields)), place_(std::move(place)), errors_(errors) {}

  bool has(const std::string& column) const { return columns_.count(column) > 0; }
  void fail(const std::string& what) { errors_.push_back(place_ + ": " + what); }

  std::string text(const std::string& column) {
    const auto at = columns_.find(column);
    if (at != columns_.end() && at->second < fields_.size() && !fields_[at->second].empty()) return fields_[at->second];
    fail(fmt::format("no {}; write a column of that name", column));
    return "";
  }
  /// Above 0, or from 0 where `zero` says so.
  double number(const std::string& column, bool zero = false) {
    const std::string written = text(column);
    if (written.empty()) return 1;
    double value = 0;
    const char* const end = written.data() + written.size();
    const std::from_chars_result result = std::from_chars(written.data(), end, value);
    const bool good = result.ec == std::errc() && result.ptr == end && std::isfinite(value);
    if (good && (value > 0 || (zero && value == 0))) return value;
    fail(fmt::format("{} is {}; write a number {} 0", column, in_quotes(written, 40), zero ? "from" : "above"));
    return 1;
  }
  Dtype dtype(const std::string& column) {
    const std::string written = text(column);
    for (int i = 0; i < kDtypeCount; ++i)
      if (written == name_of(static_cast<Dtype>(i))) return static_cast<Dtype>(i);
    if (!written.empty())
      fail(fmt::format("{} is {}; write fp32, tf32, fp16, bf16 or fp8", column, in_quotes(written, 40)));
    return Dtype::kFp32;
  }

 private:
  const std::map<std::string, std::size_t>& columns_;
  std::vector<std::string> fields_;
  std::string place_;
  std::vector<std::string>& errors_;
};

KernelSample read_row(Row& row) {
  KernelSample sample;
  sample.source = row.text("source");
  sample.device = row.text("device");
  sample.dtype = row.dtype("dtype");
  const std::string kind = row.text("kind");
  if (kind == "gemm") {
    Gemm g{row.number("batch"), row.number("m"), row.number("n"), row.number("k"), bytes_of(sample.dtype)};
    g.out = bytes_of(row.dtype("out_dtype"));
    g.accumulate = row.number("accumulate", true) != 0;
    sample.kernel = gemm_kernel(g);
  } else if (kind == "attention_forward" || kind == "attention_backward" || kind == "attention_both") {
    AttentionShape a;
    a.batch = row.number("batch");
    a.heads = row.number("heads");
    a.kv_heads = row.number("kv_heads");
    a.seq = a.span = row.number("seq");
    a.head_dim = row.number("head_dim");
    a.value_dim = row.number("value_dim");
    const bool causal = !row.has("causal") || row.number("causal", true) != 0;
    a.pairs = a.seq * a.seq / (causal ? 2 : 1);
    a.element = bytes_of(sample.dtype);
    sample.kernel = attention_kernel(a, kind == "attention_backward");
    if (kind == "attention_both") sample.kernel.kind = KernelKind::kAttentionBoth;
  } else if (!kind.empty()) {
    row.fail(fmt::format("kind is {}; write gemm, attention_forward, attention_backward or attention_both",
                         in_quotes(kind, 40)));
  }
  sample.time = row.has("time_s") ? Seconds{row.number("time_s")} : Seconds{1e-6 * row.number("time_us")};
  return sample;
}

}  // namespace

std::vector<KernelSample> read_kernel_samples(const std::string& text, const std::string& name) {
  std::vector<KernelSample> samples;
  std::vector<std::string> errors;
  std::map<std::string, std::size_t> columns;
  std::size_t from = 0;
  for (int line = 1; from < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string content = text.substr(from, end - from);
    from = end + 1;
    if (!content.empty() && content.back() == '\r') content.pop_back();
    if (content.empty() || content[0] == '#') continue;
    std::vector<std::string> fields = split(content);
    if (columns.empty()) {
      for (std::size_t i = 0; i < fields.size(); ++i) columns[fields[i]] = i;
      continue;
    }
    const std::string place = fmt::format("{}:{}", name, line);
    if (fields.size() != columns.size()) {
      errors.push_back(fmt::format("{}: {} fields; write {}, one a column", place, fields.size(), columns.size()));
      continue;
    }
    Row row(columns, std::move(fields), place, errors);
    samples.push_back(read_row(row));
  }
  if (samples.empty() && errors.empty()) errors.push_back(name + ": holds no samples");
  if (!errors.empty()) throw ScenarioError(errors);
  return samples;
}

}  // namespace accosim

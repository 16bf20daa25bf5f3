#include "models/read/read_device.hpp"

#include "models/read/read_kernel_fits.hpp"

namespace accosim {
namespace {

constexpr Range kSlowdown{0.001, 1e6};

}  // namespace

std::string dtypes_of(const Device& device) {
  std::string out;
  for (int i = 0; i < kDtypeCount; ++i) {
    if (!device.peak[static_cast<std::size_t>(i)]) continue;
    out += (out.empty() ? "" : ", ") + std::string(name_of(static_cast<Dtype>(i)));
  }
  return out;
}

void read_sources(ObjectReader& reader) {
  JsonValue* sources = reader.find("sources");
  if (sources == nullptr) return;
  ObjectReader cited(*sources, reader.pointer("sources"), reader.diagnostics());
  for (const JsonMember& member : sources->members) {
    if (at_pointer(reader.value(), member.key) == nullptr) {
      reader.diagnostics().add(member.origin, reader.pointer("sources") + pointer_part(member.key),
                               "cites what is not there; write the JSON pointer of a value, such as \"/memory\"");
    }
    cited.text(member.key, {}, 2000);
  }
}

std::optional<Device> read_device(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics) {
  if (value.kind == JsonKind::kText) return std::nullopt;  // a reference that failed and has been reported
  const std::size_t errors = diagnostics.errors.size();
  ObjectReader reader(value, pointer, diagnostics);
  if (reader.has("inherits")) return std::nullopt;  // the same
  Device device;
  reader.schema("accosim.device/1");
  device.name = reader.text("name", "device");
  if (reader.has("description")) reader.text("description", {}, 4000);
  if (JsonValue* peak = reader.find("peak")) {
    ObjectReader peaks(*peak, reader.pointer("peak"), diagnostics);
    for (int i = 0; i < kDtypeCount; ++i) {
      const char* const name = name_of(static_cast<Dtype>(i));
      if (peaks.has(name)) device.peak[static_cast<std::size_t>(i)] = peaks.compute(name);
    }
    peaks.finish();
    if (peak->kind == JsonKind::kObject && peak->members.empty()) {
      reader.fail("peak", "is empty; write \"peak\": {\"bf16\": \"312 TFLOP/s\"}");
    }
  } else {
    reader.fail("peak", "missing; write \"peak\": {\"bf16\": \"312 TFLOP/s\"}");
  }
  read_kernel_fits(reader, device);
  device.collective_sms = reader.integer("collective_sms", 0, 10'000, 0);
  device.collective_slowdown = reader.number("collective_slowdown", Range{1, 100}, 1);
  device.memory_bandwidth = reader.bandwidth("memory_bandwidth");
  device.memory_efficiency = reader.number("memory_efficiency", kFraction);
  device.memory = reader.bytes("memory");
  device.reserved_memory = reader.bytes("reserved_memory", Bytes{0});
  device.launch_interval = reader.seconds("launch_interval");
  if (reader.has("product_overhead")) device.product_overhead = reader.number("product_overhead", Range{0.1, 10});
  device.adamw_time_per_parameter = reader.seconds("adamw_time_per_parameter", Seconds{0});
  device.steps = reader.choice("steps", StepEvidence::kOwn);
  device.slowdown = reader.number("slowdown", kSlowdown, 1);
  if (reader.good("memory") && reader.good("reserved_memory") && device.reserved_memory >= device.memory) {
    reader.fail("reserved_memory", "leaves nothing of the memory; write less than \"memory\"");
  }
  read_sources(reader);
  reader.finish();
  if (diagnostics.errors.size() != errors || holds_refused(value)) return std::nullopt;
  return device;
}

}  // namespace accosim

// Does every shipped device profile say where each of its numbers comes from, and are they possible? Read as
// plain JSON: the loader has tests of its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "build_info/project.hpp"
#include "models/base/quantity.hpp"
#include "tests/support/json.hpp"
#include "tests/support/program.hpp"

namespace accosim {
namespace {

std::map<std::string, Json> profiles() {
  std::map<std::string, Json> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceFolder).append("/calibration/profiles"))) {
    all[entry.path().filename().string()] = Json::parse(text_of(entry.path()));
  }
  return all;
}

/// `own` over `base`: objects member by member, as profiles inherit; anything else as a whole.
JsonValue over(JsonValue base, const JsonValue& own) {
  for (const JsonMember& member : own.members) {
    const JsonValue* const inherited = base.find(member.key);
    const bool merged =
        inherited != nullptr && inherited->kind == JsonKind::kObject && member.value.kind == JsonKind::kObject;
    base.set(member.key, merged ? over(*inherited, member.value) : member.value);
  }
  return base;
}

/// The profile with what it inherits; its own keys win.
Json whole(const std::map<std::string, Json>& all, const std::string& name, int depth = 0) {
  Json profile = all.at(name + ".json");
  if (depth > 8) throw std::runtime_error("profiles that inherit from each other: " + name);
  if (!profile.contains("inherits")) return profile;
  return Json(over(whole(all, profile["inherits"].text(), depth + 1).value(), profile.value()));
}

bool is_text(const std::string& key) {
  return key == "schema" || key == "name" || key == "inherits" || key == "description" || key == "architecture";
}

/// JSON pointers of all numbers, with or without a unit.
std::set<std::string> numbers_in(const Json& profile) {
  std::set<std::string> pointers;
  for (const auto& [key, value] : profile.members()) {
    if (is_text(key) || key == "sources") continue;
    if (value.value().kind != JsonKind::kObject || key == "attention" || key == "flash_3") {  // one fit, one citation
      pointers.insert("/" + key);
      continue;
    }
    for (const std::string& inner : value.keys())
      pointers.insert(std::string("/").append(key).append("/").append(inner));
  }
  return pointers;
}

double quantity(const Json& value, Dimension dimension) {
  const ParsedQuantity parsed = parse_quantity(value.text(), dimension);
  EXPECT_EQ(parsed.error, "");
  return parsed.value;
}

TEST(Profiles, AreTheOnesPromised) {
  std::set<std::string> names;
  for (const auto& [file, profile] : profiles()) names.insert(file);
  for (const char* name : {"A100-SXM4-80GB",
                           "A100-SXM4-40GB",
                           "A100-PCIE-80GB",
                           "H100-SXM",
                           "H100-PCIe",
                           "V100-SXM2-16GB",
                           "V100-SXM2-32GB",
                           "A100-PCIE-40GB",
                           "V100-PCIE-32GB",
                           "GH200-96GB",
                           "H100-SXM-96GB-500W",
                           "H200-SXM",
                           "B200",
                           "B300",
                           "GB200",
                           "GB300",
                           "L40S",
                           "RTX-PRO-6000",
                           "H800-SXM",
                           "A800-SXM4-80GB",
                           "H100-NVL",
                           "A10G",
                           "A30",
                           "L4",
                           "T4",
                           "RTX-4090",
                           "RTX-5090",
                           "RTX-3090",
                           "Titan-RTX"})
    EXPECT_TRUE(names.count(std::string(name) + ".json")) << name;
}

TEST(Profiles, AreNamedAsTheirFiles) {
  for (const auto& [file, profile] : profiles()) {
    EXPECT_EQ(profile["schema"], "accosim.device/1") << file;
    EXPECT_EQ(profile["name"].text() + ".json", file);
    EXPECT_FALSE(profile["description"].text().empty()) << file;
  }
}

TEST(Profiles, GiveASourceForEveryNumberAndNothingElse) {
  for (const auto& [file, profile] : profiles()) {
    std::set<std::string> sourced;
    for (const auto& [pointer, source] : profile["sources"].members()) {
      sourced.insert(pointer);
      EXPECT_GE(source.text().size(), 20u) << file << " " << pointer;
    }
    EXPECT_EQ(sourced, numbers_in(profile)) << file;
  }
}

TEST(Profiles, HoldPossibleValues) {
  const std::set<std::string> dtypes{"fp32", "tf32", "fp16", "bf16", "fp8"};
  const auto all = profiles();
  for (const auto& [file, own] : all) {
    const Json profile = whole(all, own["name"].text());
    EXPECT_GT(profile.at("memory_efficiency").number(), 0) << file;
    EXPECT_LT(profile.at("memory_efficiency").number(), 1) << file;
    EXPECT_TRUE(profile.contains("attention") || profile.contains("flash_attention_efficiency")) << file;
    for (const auto& [dtype, peak] :
         profile.at("peak").members()) {  // each has its own fit, none has one without a peak
      const Json fit = profile.at("gemm").at(dtype);
      EXPECT_GT(fit.at("peak_fraction").number(), 0.3) << file << " " << dtype;
      EXPECT_LE(fit.at("peak_fraction").number(), 1) << file << " " << dtype;
      EXPECT_GT(fit.at("spread").number(), 0) << file << " " << dtype;
      EXPECT_LT(fit.at("spread").number(), 0.2) << file << " " << dtype;
      EXPECT_LT(fit.at("least_flops").number(), fit.at("most_flops").number()) << file << " " << dtype;
    }
    EXPECT_EQ(profile.at("gemm").size(), profile.at("peak").size()) << file;
    for (const auto& [dtype, peak] : profile.at("peak").members()) {
      EXPECT_TRUE(dtypes.count(dtype)) << file << " " << dtype;
      EXPECT_GT(quantity(peak, Dimension::kCompute), 8e12) << file;  // fp32 of a T4
      EXPECT_LE(quantity(peak, Dimension::kCompute), 5e15) << file;  // fp8 of a GB200
    }
    EXPECT_GE(quantity(profile.at("memory_bandwidth"), Dimension::kBandwidth), 0.3e12) << file;  // of an L4
    EXPECT_LT(quantity(profile.at("memory_bandwidth"), Dimension::kBandwidth), 10e12) << file;
    const double memory = quantity(profile.at("memory"), Dimension::kData);
    const double reserved = quantity(profile.at("reserved_memory"), Dimension::kData);
    EXPECT_LT(reserved, 0.2 * memory) << file;
    const double launch = quantity(profile.at("launch_interval"), Dimension::kTime);
    EXPECT_TRUE(launch > 1e-6 && launch < 50e-6) << file;
    EXPECT_EQ(profile.at("slowdown"), 1) << file;
  }
}

TEST(Profiles, KnowWhatVoltaCannotDo) {
  for (const char* name : {"V100-SXM2-16GB", "V100-SXM2-32GB"}) {
    const Json peak = whole(profiles(), name).at("peak");
    EXPECT_FALSE(peak.contains("bf16")) << name;
    EXPECT_FALSE(peak.contains("tf32")) << name;
    EXPECT_FALSE(peak.contains("fp8")) << name;
  }
}

TEST(Profiles, CountDensePeaksNotSparseOnes) {
  // Tensor cores halve the rate with every doubling of the width; a sparse figure among dense ones breaks the chain.
  const auto all = profiles();
  for (const char* name : {"A100-SXM4-80GB", "A100-SXM4-40GB", "A100-PCIE-80GB", "H100-SXM", "H100-PCIe", "B200",
                           "GB300", "RTX-PRO-6000"}) {
    const Json peak = whole(all, name).at("peak");
    const double bf16 = quantity(peak.at("bf16"), Dimension::kCompute);
    EXPECT_EQ(bf16, quantity(peak.at("fp16"), Dimension::kCompute)) << name;
    EXPECT_NEAR(bf16 / quantity(peak.at("tf32"), Dimension::kCompute), 2, 0.01) << name;
    const double fp8 = peak.contains("fp8") ? quantity(peak.at("fp8"), Dimension::kCompute) : 2 * bf16;
    EXPECT_NEAR(fp8 / bf16, 2, 0.01) << name;
  }
  EXPECT_EQ(quantity(whole(all, "A100-SXM4-80GB").at("peak").at("bf16"), Dimension::kCompute), 312e12);
}

}  // namespace
}  // namespace accosim

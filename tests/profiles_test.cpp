// Does every shipped device profile say where each of its numbers comes from, and are they possible? Read with the JSON
// library alone: the loader has tests of its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "build_info/project.hpp"
#include "models/quantity.hpp"

namespace accosim {
namespace {

using nlohmann::json;

std::map<std::string, json> profiles() {
  std::map<std::string, json> all;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(kSourceFolder).append("/calibration/profiles"))) {
    std::ifstream file(entry.path());
    all[entry.path().filename().string()] = json::parse(file);
  }
  return all;
}

/// The profile with what it inherits; its own keys win.
json whole(const std::map<std::string, json>& all, const std::string& name, int depth = 0) {
  json profile = all.at(name + ".json");
  if (depth > 8) throw std::runtime_error("profiles that inherit from each other: " + name);
  if (!profile.contains("inherits")) return profile;
  json base = whole(all, profile["inherits"], depth + 1);
  base.update(profile);
  return base;
}

bool is_text(const std::string& key) {
  return key == "schema" || key == "name" || key == "inherits" || key == "description" || key == "architecture";
}

/// JSON pointers of all numbers, with or without a unit.
std::set<std::string> numbers_in(const json& profile) {
  std::set<std::string> pointers;
  for (const auto& [key, value] : profile.items()) {
    if (is_text(key) || key == "sources") continue;
    if (!value.is_object() || key == "attention") {  // one fit, one citation
      pointers.insert("/" + key);
      continue;
    }
    for (const auto& [inner, unused] : value.items()) {
      static_cast<void>(unused);
      pointers.insert(std::string("/").append(key).append("/").append(inner));
    }
  }
  return pointers;
}

double quantity(const json& value, Dimension dimension) {
  const ParsedQuantity parsed = parse_quantity(value.get<std::string>(), dimension);
  EXPECT_EQ(parsed.error, "");
  return parsed.value;
}

TEST(Profiles, AreTheOnesPromised) {
  std::set<std::string> names;
  for (const auto& [file, profile] : profiles()) names.insert(file);
  for (const char* name :
       {"A100-SXM4-80GB", "A100-SXM4-40GB", "A100-PCIE-80GB", "H100-SXM", "H100-PCIe", "V100-SXM2-16GB",
        "V100-SXM2-32GB", "A100-PCIE-40GB", "V100-PCIE-32GB", "GH200-96GB", "H100-SXM-96GB-500W"})
    EXPECT_TRUE(names.count(std::string(name) + ".json")) << name;
}

TEST(Profiles, AreNamedAsTheirFiles) {
  for (const auto& [file, profile] : profiles()) {
    EXPECT_EQ(profile["schema"], "accosim.device/1") << file;
    EXPECT_EQ(profile["name"].get<std::string>() + ".json", file);
    EXPECT_FALSE(profile["description"].get<std::string>().empty()) << file;
  }
}

TEST(Profiles, GiveASourceForEveryNumberAndNothingElse) {
  for (const auto& [file, profile] : profiles()) {
    std::set<std::string> sourced;
    for (const auto& [pointer, source] : profile["sources"].items()) {
      sourced.insert(pointer);
      EXPECT_GE(source.get<std::string>().size(), 20u) << file << " " << pointer;
    }
    EXPECT_EQ(sourced, numbers_in(profile)) << file;
  }
}

TEST(Profiles, HoldPossibleValues) {
  const std::set<std::string> dtypes{"fp32", "tf32", "fp16", "bf16", "fp8"};
  const auto all = profiles();
  for (const auto& [file, own] : all) {
    const json profile = whole(all, own["name"]);
    EXPECT_GT(profile.at("memory_efficiency").get<double>(), 0) << file;
    EXPECT_LT(profile.at("memory_efficiency").get<double>(), 1) << file;
    EXPECT_TRUE(profile.contains("attention") || profile.contains("flash_attention_efficiency")) << file;
    for (const auto& [dtype, peak] : profile.at("peak").items()) {  // each has its own fit, none has one without a peak
      const json& fit = profile.at("gemm").at(dtype);
      EXPECT_GT(fit.at("peak_fraction").get<double>(), 0.3) << file << " " << dtype;
      EXPECT_LE(fit.at("peak_fraction").get<double>(), 1) << file << " " << dtype;
      EXPECT_GT(fit.at("spread").get<double>(), 0) << file << " " << dtype;
      EXPECT_LT(fit.at("spread").get<double>(), 0.2) << file << " " << dtype;
      EXPECT_LT(fit.at("least_flops"), fit.at("most_flops")) << file << " " << dtype;
    }
    EXPECT_EQ(profile.at("gemm").size(), profile.at("peak").size()) << file;
    for (const auto& [dtype, peak] : profile.at("peak").items()) {
      EXPECT_TRUE(dtypes.count(dtype)) << file << " " << dtype;
      EXPECT_GT(quantity(peak, Dimension::kCompute), 10e12) << file;
      EXPECT_LT(quantity(peak, Dimension::kCompute), 5e15) << file;
    }
    EXPECT_GT(quantity(profile.at("memory_bandwidth"), Dimension::kBandwidth), 0.5e12) << file;
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
    const json peak = whole(profiles(), name).at("peak");
    EXPECT_FALSE(peak.contains("bf16")) << name;
    EXPECT_FALSE(peak.contains("tf32")) << name;
    EXPECT_FALSE(peak.contains("fp8")) << name;
  }
}

TEST(Profiles, CountDensePeaksNotSparseOnes) {
  // Tensor cores halve the rate with every doubling of the width; a sparse figure among dense ones breaks the chain.
  const auto all = profiles();
  for (const char* name : {"A100-SXM4-80GB", "A100-SXM4-40GB", "A100-PCIE-80GB", "H100-SXM", "H100-PCIe"}) {
    const json peak = whole(all, name).at("peak");
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

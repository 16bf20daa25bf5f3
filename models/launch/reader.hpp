// The two readers of launch lines: what the values of their names mean as parts of a scenario.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "models/launch/flags.hpp"

namespace accosim {

/// What a launch line runs on, and what stands beside it.
struct Launched {
  int line = 0;  ///< of the script, where it starts
  int gpus = 1;  ///< in all
  int gpus_per_node = 1;
  std::string model{};  ///< a name or file in the place of the launch line's; empty: the launch line's
};

/// What both readers do: the first of some names says a part of the scenario, or what is wrong with it.
class LaunchReader {
 public:
  LaunchReader(const Launched& launched, Flags& flags, Draft& draft)
      : launched_(launched), flags_(flags), draft_(draft) {}

 protected:
  using Names = std::initializer_list<std::string_view>;

  void set(const std::string& pointer, JsonValue value, Names names) {
    draft_.set(pointer, std::move(value), flags_.place(names));
  }
  void not_modelled(Names names, const std::string& what) { draft_.not_modelled(flags_.place(names), what); }
  void refuse(Names names, const std::string& what) { draft_.refuse(flags_.place(names), what); }

  const Launched& launched_;
  Flags& flags_;
  Draft& draft_;
};

// Both write model, training and schedule. They ask for what is missing, and refuse what is wrong.

void read_megatron(const Launched& launched, Flags& flags, Draft& draft);
void read_torch(const Launched& launched, Flags& flags, Draft& draft);

/// Low-rank adapters (LoRA, QLoRA) where they alone are trained; else false.
bool read_adapters(Flags& flags, Draft& draft);

/// GPUs that one replica of the model takes.
std::int64_t gpus_of_a_replica(Flags& flags);

}  // namespace accosim

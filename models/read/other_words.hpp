// What others call the keys and values of a scenario, and what nobody models yet: so that whoever brings the words of
// another program is led to ours at the first try.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

/// Notes for ObjectReader::finish(), by key: of the training, of its "parallel", of a node group, of a schedule.
const std::map<std::string, std::string>& training_words();
const std::map<std::string, std::string>& parallel_words();
const std::map<std::string, std::string>& node_group_words();
const std::map<std::string, std::string>& schedule_words();

/// The names of the schedules that take a key; where one does under a framework alone, with it.
std::vector<std::string> schedules_with(std::string_view key);
/// Where the schedule takes the key under another framework; empty where it does under none.
std::string note_of_frameworks(const ScheduleTraits& schedule, std::string_view key);

/// Advice for a number format, or a kind of links or adapters, that others name differently, else the nearest of ours.
ObjectReader::Advice dtype_advice();
ObjectReader::Advice link_advice(std::vector<std::string> kinds);

/// Why a model of this family of Hugging Face's is not modelled; empty where nothing is known of it.
std::string lacking_family(const std::string& model_type);

/// What to say of a GPU of which there is no profile: those of the same name, or how to describe it. `known`: names of
/// profiles.
std::string device_advice(const std::string& written, const std::vector<std::string>& known);

}  // namespace accosim

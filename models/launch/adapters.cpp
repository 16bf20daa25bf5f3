// Low-rank adapters as launch files have them, in the names of Hugging Face's PEFT and TRL.
#include <fmt/format.h>

#include <algorithm>

#include "models/base/text.hpp"
#include "models/launch/reader.hpp"

namespace accosim {
namespace {

/// "[q_proj, v_proj]", "q_proj,v_proj" or "q_proj v_proj" as a list. A regular expression is one text, which is no
/// name.
JsonValue targets_of(std::string text) {
  std::vector<JsonValue> targets;
  if (text.find_first_of("(\\^*") != std::string::npos) return std::vector<JsonValue>{text};
  std::replace_if(
      text.begin(), text.end(), [](char c) { return std::string_view("[]\"',").find(c) != std::string_view::npos; },
      ' ');
  for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos; at = text.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    targets.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return targets;
}

}  // namespace

bool read_adapters(Flags& flags, Draft& draft) {
  const std::string kind = lower(flags.value_of("adapters"));
  const bool on = flags.on("adapters"), four = flags.on("four-bits") || kind == "qlora";
  const auto asked = [&](std::string_view by, const char* what) {
    const bool switched = flags.written("adapters").find("use_") != std::string::npos;
    draft.refuse(flags.place({by}),
                 fmt::format("{}; add {}", what, flags.with("adapters", switched ? "true" : "lora")));
  };
  if (!on && four) asked("four-bits", "weights in four bits are trained by adapters beside them");
  if (!on && flags.has("peft-asked") && !flags.has("adapters"))
    asked("peft-asked", "whether adapters are trained, or all weights, is not said");
  if (!on) return false;
  if (!kind.empty() && std::string(" lora qlora true yes 1 ").find(" " + kind + " ") == std::string::npos)
    draft.refuse(flags.place({"adapters"}),
                 fmt::format("{} is {}, and of adapters only LoRA's are modelled yet; write lora",
                             flags.written("adapters"), printable(kind)));
  const std::optional<int> rank = flags.count({"lora-rank"});
  if (!flags.has("lora-rank"))
    draft.refuse(flags.place({"adapters"}),
                 fmt::format("which rank the adapters have is not said; add {}", flags.with("lora-rank", "16")));
  draft.set("/training/lora/rank", rank.value_or(1), flags.place({"lora-rank"}));
  const bool all = flags.on("lora-everywhere");
  const std::string targets = flags.words({"lora-targets"}).value_or("q_proj v_proj");  // PEFT's own of most decoders
  draft.set("/training/lora/targets", targets_of(all ? "all-linear" : targets),
            flags.place({all ? "lora-everywhere" : "lora-targets"}));
  if (!four) return true;
  draft.set("/training/lora/base_dtype", "nf4", flags.place({"four-bits", "adapters"}));
  if (!flags.on("nested-scales"))
    draft.not_modelled(flags.place({"nested-scales", "four-bits"}),
                       "without double quantisation weights take 4.5 bits; here they take 4.13");
  return true;
}

}  // namespace accosim

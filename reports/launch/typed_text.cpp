#include "reports/launch/typed_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/human.hpp"

namespace accosim {
namespace {

using Lines = std::vector<TypedLine>;

/// How lines of a form are printed; "%" is a part's name, what stands between name and value, or nodes and then GPUs.
struct Style {
  const char* title;
  const char* before;  ///< all lines
  const char *open, *first, *between, *close;
  const char* behind;  ///< all lines; "@": the arrays of the parts
};
constexpr const char* kImports =
    "import torch\nfrom contextlib import nullcontext\nfrom functools import partial\n"
    "from torch.distributed.device_mesh import init_device_mesh\n"
    "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard\n"
    "from torch.distributed.optim import ZeroRedundancyOptimizer\n"
    "from torch.nn.parallel import DistributedDataParallel\n"
    "from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts\n";
constexpr Style kStyles[] = {
    {"Megatron-LM core_v0.15", "", "%=(\n", "  --", " ", ")\n",
     "# Not typed is what leaves the time of a step alone: data, tokenizer, learning rate, checkpoints, --rotary-base, "
     "--norm-epsilon.\nYOUR_ARGS=()\n"
     "torchrun --nnodes % --nproc_per_node % pretrain_gpt.py@ \"${YOUR_ARGS[@]}\"\n"},
    {"torchtitan v0.2", "# Data, assets, learning rate and checkpoints are yours to add.\n", "\n[%]\n", "", " = ", "",
     "\n# torchrun --nnodes % --nproc_per_node % -m torchtitan.train --job.config_file THIS_FILE\n"},
    {"DeepSpeed and Hugging Face's Trainer", "", "TRAINER_ARGS=(\n", "  --", " ", ")\n",
     "YOUR_ARGS=()  # data, learning rate, output\n"
     "torchrun --nnodes % --nproc_per_node % run_clm.py \"${TRAINER_ARGS[@]}\" \"${YOUR_ARGS[@]}\"\n"},
    {"PyTorch 2.8",
     "# `model`, on its GPU, `loss_of` and `batches` are yours; `blocks` are the model's, such as model.layers.\n", "",
     "", "", "", "# torchrun --nnodes % --nproc_per_node % THIS_FILE\n"},
    {"Megatron-Bridge, over a recipe of its model", "", "OVERRIDES=(\n", "  ", "=", ")\n",
     "train.sh --nodes % --gpus-per-node % --recipe \"$RECIPE\" \"${OVERRIDES[@]}\"\n"},
};

std::string filled(std::string text, const std::vector<std::string>& values) {
  for (const std::string& value : values)
    if (const std::size_t at = text.find('%'); at != std::string::npos) text.replace(at, 1, value);
  return text;
}

std::string value_of(const TypedLine& line) { return line.value ? dump_json(*line.value) : ""; }
std::string in_form(LaunchForm form, const JsonValue& value) {
  if (value.kind != JsonKind::kText) return dump_json(value);
  const std::string text = printable(value.text, kAllOfIt);
  return form == LaunchForm::kTorchtitan ? quoted_json(text) : in_shell(text);
}
const TypedLine* found_in(const Lines& lines, const TypedLine& line) {
  const auto same = std::ranges::find_if(
      lines, [&](const TypedLine& each) { return each.part == line.part && each.name == line.name; });
  return same == lines.end() ? nullptr : &*same;
}
/// "was 4", "was not there"; empty where the line was so, or there was nothing before it.
std::string was_in_words(const Lines* before, const TypedLine& line) {
  const TypedLine* const was = before == nullptr ? nullptr : found_in(*before, line);
  if (was == nullptr) return before == nullptr ? "" : "was not there";
  return value_of(*was) == value_of(line) ? "" : "was " + printable(value_of(*was));
}
/// Those that are there no more, as comments.
std::string gone(const Lines* before, const Lines& lines, const std::string& part, const std::string& first) {
  std::string text;
  for (const TypedLine& each : before == nullptr ? Lines() : *before)
    if (each.part == part && found_in(lines, each) == nullptr)
      text += fmt::format("# without {}{} {}\n", first, each.name, printable(value_of(each)));
  return text;
}

std::string printed(LaunchForm form, const Lines& lines, const Lines* before, std::string& arrays) {
  const Style& style = kStyles[static_cast<std::size_t>(form)];
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const TypedLine& line = lines[i];
    if (i == 0 || line.part != lines[i - 1].part) {
      text += filled(style.open, {line.part});
      arrays += fmt::format(" \"${{{}[@]}}\"", line.part);
    }
    text += style.first + line.name + (line.value ? style.between + in_form(form, *line.value) : "");
    const bool off = line.value && line.value->kind == JsonKind::kBool && !line.value->boolean;
    const std::string was = was_in_words(before, line), note = off ? "" : line.note;
    text +=
        (note + was).empty() ? "\n" : fmt::format("  # {}{}{}\n", note, note.empty() || was.empty() ? "" : "; ", was);
    if (i + 1 == lines.size() || line.part != lines[i + 1].part)
      text += gone(before, lines, line.part, std::string(trimmed(style.first))) + style.close;
  }
  return text;
}

/// A JSON has no comments: what differs follows it.
std::string here_document(const Lines& lines, const Lines* before) {
  JsonValue config = json_object(JsonOrigin{});
  std::string differences;
  for (const TypedLine& line : lines) {
    JsonValue* place = &config;
    const std::vector<std::string> keys = *pointer_keys(line.part);
    for (const std::string& key : keys) {
      JsonValue* const next = place->find(key);
      place = next != nullptr ? next : &place->set(key, json_object(JsonOrigin{}));
    }
    place->set(line.name, *line.value);
    if (const std::string was = was_in_words(before, line); !was.empty())
      differences += fmt::format("# ds_config.json: {}/{} {}\n", line.part, line.name, was);
  }
  for (const TypedLine& each : before == nullptr ? Lines() : *before)
    if (found_in(lines, each) == nullptr)
      differences += fmt::format("# ds_config.json: without {}/{} {}\n", each.part, each.name, value_of(each));
  return "cat > ds_config.json <<'EOF'\n" + write_json(config) + "\nEOF\n" + differences;
}

}  // namespace

std::string in_words(const Replaced& each) {
  const std::string whose = each.schedule.empty() || each.schedule == "null" ? "" : printable(each.schedule) + ": ",
                    key = each.key == "name" ? "schedule" : each.key;
  return fmt::format("{}{} {} {}{}{}.", whose, key, printable(each.was, 100),
                     each.is == "null" ? "is left out" : "becomes " + each.is, each.why.empty() ? "" : ": ", each.why);
}

std::string who_has(const Scenario& scenario, const ScheduleSpec& spec) {
  const ScheduleTraits& traits = traits_of(spec);
  std::string text = fmt::format("None of these frameworks has {}.", traits.title);
  if (traits.name == schedule_of_two_rounds().name)
    text += fmt::format(
        " Its authors' trainer has it (github.com/edouardoyallon/acco): python main.py train={} train.batch_size={} "
        "train.n_grad_accumulation={}.",
        traits.name, scenario.training.micro_batch_size, std::max(1, spec.micro_batches_per_round));
  else if (traits.accocal != AccocalRuns::kNowhere)
    text += fmt::format(" accocal train -a {} runs it, on small models.", traits.name);
  return text + " What follows is the best synchronous schedule.";
}

std::string cost_in_words(const RunResult& nearest, const RunResult& own) {
  const double times = (nearest.update_time / nearest.samples_per_update) / (own.update_time / own.samples_per_update);
  return fmt::format("An optimizer step takes {} so, {:.2f} times as long per sample as {} in the scenario ({}){}.",
                     human_time(nearest.update_time), times, printable(own.label), human_time(own.update_time),
                     nearest.fits() ? "" : ", and it does not fit into memory");
}

std::string typed_text(const TypedAnswer& answer) {
  const Style& style = kStyles[static_cast<std::size_t>(answer.form)];
  const Typed& typed = answer.typed;
  std::vector<std::string> said = {fmt::format("For {}: {}, schedule {}.", style.title, answer.name, answer.schedule),
                                   "Printed by: " + answer.command,
                                   fmt::format("The cluster is not in it: {}.", answer.cluster)};
  said.insert(said.end(), answer.said.begin(), answer.said.end());
  said.insert(said.end(), typed.remarks.begin(), typed.remarks.end());
  std::string text, arrays;
  for (const std::string& sentence : said) text += "# " + printable(sentence, 400) + "\n";
  text += style.before;
  const Lines *const before = answer.before ? &answer.before->arguments : nullptr, *const file_before =
                                                                                       answer.before
                                                                                           ? &answer.before->file
                                                                                           : nullptr;
  const auto has = [&](const char* name) {
    return std::ranges::any_of(typed.arguments, [&](const auto& line) { return line.name == name; });
  };
  if (answer.form == LaunchForm::kMegatron)
    text += has("use-megatron-fsdp") ? "unset CUDA_DEVICE_MAX_CONNECTIONS\n" : "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  if (answer.form == LaunchForm::kFsdp2) text += kImports;
  if (answer.form == LaunchForm::kDeepspeed)
    text += here_document(typed.file, file_before);
  else
    text += printed(answer.form, typed.file, file_before, arrays);
  text += printed(answer.form, typed.arguments, before, arrays);
  std::string last = filled(style.behind, {std::to_string(typed.nodes), std::to_string(typed.gpus_per_node)});
  // Which holds no other "@" before its own arrays.
  if (const std::size_t at = last.find("py@"); at != std::string::npos) last.replace(at + 2, 1, arrays);
  return text + last;
}

}  // namespace accosim

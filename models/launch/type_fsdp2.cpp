// Statements of PyTorch 2.8 (torch.distributed.fsdp.fully_shard, DistributedDataParallel), around a model whose blocks
// are `blocks`.
#include <fmt/format.h>

#include "models/launch/typed.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

const char* torch_name(Dtype dtype) {
  return dtype == Dtype::kFp16 ? "torch.float16" : dtype == Dtype::kBf16 ? "torch.bfloat16" : "torch.float32";
}
const char* python(bool value) { return value ? "True" : "False"; }

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table, a line an argument
void type_fsdp2(const Typing& of, Typed& typed) {
  const auto say = [&](bool wanted, const std::string& statement, const std::string& note = "") {
    if (wanted) typed.file.push_back({"", statement, {}, note});
  };
  const Training& training = of.training;
  const ScheduleSpec& spec = of.spec;
  const bool sharded = traits_of(spec).sharding == Sharding::kParameters, hybrid = sharded && is_hybrid(spec),
             fused = training.optimizer_implementation == OptimizerImplementation::kFused;
  const int steps = training.gradient_accumulation_steps, every = training.recomputed_blocks.every;
  const Recompute what = training.activation_recompute;
  const bool operators = what == Recompute::kSelectiveOp;

  say(training.precision == Dtype::kTf32, "torch.backends.cuda.matmul.allow_tf32 = True");
  say(training.precision == Dtype::kFp8, "torchao.float8.convert_to_float8_training(model)", "tensorwise scales");
  const Lora& lora = training.lora;
  const bool four = lora.base == LoraBase::kNf4;
  say(lora.on(), "from peft import LoraConfig, get_peft_model");
  say(four, "from transformers import BitsAndBytesConfig");
  say(four,
      fmt::format("quantised = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", "
                  "bnb_4bit_use_double_quant=True, bnb_4bit_quant_storage={})",
                  torch_name(spec.parameter_dtype)),
      "of from_pretrained()");
  say(!lora.on(), fmt::format("model.to({})", torch_name(sharded ? spec.optimizer_dtype : spec.parameter_dtype)),
      sharded ? "of the shards and of AdamW's states" : "");
  const std::vector<std::string> modules = module_names(lora);
  say(lora.on(), fmt::format("model = get_peft_model(model, LoraConfig(r={}, target_modules={}))", lora.rank,
                             modules.size() == 1 ? quoted_json(modules[0]) : dump_json(JsonValue(modules))));
  say(operators, "saved = [torch.ops.aten.mm.default, torch.ops.aten._scaled_dot_product_flash_attention.default]",
      "torchtitan saves every other mm alone");
  say(what != Recompute::kNone,
      fmt::format("for block in blocks{}: block.forward = partial(checkpoint, block.forward, use_reentrant={}{})",
                  every > 1 ? fmt::format("[::{}]", every) : "", python(what == Recompute::kFull),
                  operators ? ", context_fn=partial(create_selective_checkpoint_contexts, saved)" : ""));
  say(training.implementation == Implementation::kCompiled, "for block in blocks: block.compile()");

  if (sharded) {
    const std::string sizes = hybrid ? fmt::format("{}, {}", of.replicas / of.gpus_per_node, of.gpus_per_node)
                                     : fmt::format("{},", of.replicas);
    say(true,
        fmt::format("mesh = init_device_mesh(\"cuda\", ({}), mesh_dim_names=({}\"shard\",))", sizes,
                    hybrid ? "\"replicate\", " : ""),
        hybrid ? "HSDP: shards in a node" : "");
    say(true, fmt::format("policy = MixedPrecisionPolicy(param_dtype={}, reduce_dtype={})",
                          torch_name(spec.parameter_dtype), torch_name(spec.reduce_dtype)));
    for (const char* const part : {"for block in blocks: fully_shard(block", "fully_shard(model"})
      say(true, fmt::format("{}, mesh=mesh, mp_policy=policy, reshard_after_forward={})", part,
                            python(spec.reshard_after_forward)));
    say(!spec.reshard_after_backward && steps == 1, "model.set_reshard_after_backward(True)");
    for (const auto& [pass, order] : {std::pair("forward", ""), std::pair("backward", "[::-1]")}) {
      say(spec.prefetch != 1, fmt::format("order = list(blocks){}", order));
      say(spec.prefetch != 1,
          fmt::format("for i, block in enumerate(order): block.set_modules_to_{}_prefetch(order[i + 1 : i + {}])", pass,
                      1 + spec.prefetch));
    }
  }
  say(!sharded, fmt::format("model = DistributedDataParallel(model, bucket_cap_mb={:g}, gradient_as_bucket_view={}, "
                            "broadcast_buffers={})",
                            spec.bucket_cap.value / 0x1p20, python(spec.gradient_as_bucket_view),
                            python(spec.broadcast_buffers)));
  const bool zero = spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy;
  say(true, fmt::format("optimizer = {}(model.parameters(), {}{}=True)",
                        zero ? "ZeroRedundancyOptimizer" : "torch.optim.AdamW", zero ? "torch.optim.AdamW, " : "",
                        fused ? "fused" : "foreach"));

  const bool once = spec.sync == Sync::kLastMicroBatch && steps > 1, cast = training.autocast != Autocast::kNone;
  const std::string last = fmt::format("i == {}", steps - 1),
                    held = !sharded && once ? fmt::format("nullcontext() if {} else model.no_sync()", last) : "",
                    autocast =
                        cast ? fmt::format("torch.autocast(\"cuda\", {})", torch_name(dtype_of(training.autocast)))
                             : "",
                    with = held + (held.empty() || !cast ? "" : ", ") + autocast;
  say(true, fmt::format("for step in range({:.0f}):", of.steps));
  say(true, fmt::format("    for i in range({}):", steps));
  say(sharded && once, fmt::format("        model.set_requires_gradient_sync({})", last));
  say(hybrid && !once && steps > 1 && spec.all_reduce == Sync::kLastMicroBatch,
      fmt::format("        model.set_requires_all_reduce({})", last));
  say(sharded && steps > 1 && !spec.reshard_after_backward,
      fmt::format("        model.set_reshard_after_backward({})", last));
  say(!with.empty(), fmt::format("        with {}:", with));
  say(true, fmt::format("        {}(loss_of(model, next(batches)) / {}).backward()", with.empty() ? "" : "    ", steps),
      fmt::format("{} x {} tokens", training.micro_batch_size, training.sequence_length));
  say(training.gradient_clipping, "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)");
  say(true, "    optimizer.step(); optimizer.zero_grad()");
}

}  // namespace accosim

// What nothing here models, as messages name it; " not modelled yet" follows, and what to write instead.
#pragma once

namespace accosim::lacking {

inline constexpr const char *kExperts = "mixture-of-experts models are", *kLatent = "multi-head latent attention is",
                            *kNextTokens = "multi-token prediction is",
                            *kEncoders = "models with an encoder of their own are", *kAdapters = "adapters are",
                            *kOtherAdapters =
                                "adapters other than LoRA of one rank beside whole products of all blocks are",
                            *kQuantised = "quantised weights are",
                            *kOtherQuantised = "quantised weights other than four-bit ones under adapters are",
                            *kHybrid = "hybrid and Mamba layers are", *kContexts = "context parallelism is",
                            *kUlysses = "DeepSpeed's sequence parallelism is", *kFp4 = "fp4 is",
                            *kOnHost = "parameters on the host are", *kOptimizers = "optimizers other than AdamW are",
                            *kOtherPasses = "stages other than pre-training and supervised fine-tuning are",
                            *kZeroBubble = "zero-bubble pipelines are";

}  // namespace accosim::lacking

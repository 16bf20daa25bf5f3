// The verb `train` as it is written on the command line, and what it means.
#pragma once

#include <string>
#include <vector>

#include "calibration/train/training.hpp"

namespace accocal {

/// The arguments as they were written; what was not given has its default here.
struct TrainArguments {
  std::string algorithm = "acco";     ///< ddp, zero1, dpu, wp, acco, diloco
  std::string compute_time;           ///< "10 ms": sleep so long a micro-batch instead of training the GPT
  std::int64_t parameters = 1 << 20;  ///< with compute_time
  std::string data;
  std::string device;  ///< "cuda:0", "cuda"; empty: on CPUs
  int vocabulary = 0;  ///< with device: train on random tokens of so many kinds
  int layers = 2, width = 64, heads = 4, context = 64, sequences = 4;
  std::string lengths;            ///< "16:1,64:3": tokens of a sequence and how often; empty: the context
  double jitter = 0;              ///< with compute_time: coefficient of variation of a micro-batch
  std::string storage = "fp32";   ///< or bf16
  std::vector<std::string> slow;  ///< "2=4": rank 2 takes 4 times as long
  std::int64_t updates = 100;
  std::int64_t samples = 0;
  int micro_batches = 2;                ///< a rank and update
  std::string accumulate = "at-least";  ///< or fixed; each with ":M", micro-batches a round
  int poll_every = 1;
  std::int64_t warmup = 0;
  std::string estimate_state = "rollback";  ///< keep, released
  std::string initial_gradient = "kept";    ///< dropped
  int inner_updates = 10;
  double outer_learning_rate = 0.7, outer_momentum = 0.9;
  std::string optimizer = "adamw";  ///< or sgd
  double learning_rate = 0.004, learning_rate_warmup = 0.05, weight_decay = 0.1, beta1 = 0.9, beta2 = 0.95;
  std::string schedule = "cosine";  ///< or constant
  std::uint64_t seed = 1;
};

/// Throws BadInput: what is wrong and what to write instead.
TrainingOptions training_options(const TrainArguments& arguments, int ranks);

}  // namespace accocal

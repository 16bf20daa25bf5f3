// The verb `train` as it is written on the command line, and what it means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/train/training.hpp"

namespace accocal {

/// The arguments as they were written; what was not given has its default here.
struct TrainArguments {
  TrainArguments();

  TrainingOptions options;                  ///< numbers and names of files; of the others what the words below mean
  std::string algorithm = "acco";           ///< a name of algorithm_names()
  std::string compute_time;                 ///< "10 ms": sleep so long a micro-batch instead of training the GPT
  std::string lengths;                      ///< "16:1,64:3": tokens of a sequence and how often; empty: the context
  std::string storage = "fp32";             ///< or bf16
  std::vector<std::string> slow;            ///< "2=4": rank 2 takes 4 times as long
  int micro_batches = 2;                    ///< a rank and update
  std::string accumulate = "at-least";      ///< or fixed; each with ":M", micro-batches a round
  std::string estimate_state = "rollback";  ///< keep, released
  std::string initial_gradient = "kept";    ///< dropped
  std::string estimate = "gathered";        ///< or local
  std::string payload = "fp32";             ///< or e3m0
  /// Where they are not given each algorithm has its own.
  std::optional<int> inner_updates;
  std::optional<double> outer_learning_rate, outer_momentum, mixing;
  std::string optimizer = "adamw";  ///< or sgd
  std::string schedule = "cosine";  ///< or constant
};

/// Throws BadInput: what is wrong and what to write instead.
TrainingOptions training_options(const TrainArguments& arguments, int ranks);

}  // namespace accocal

// `accocal train --device` without its command line: where ranks are, what is said where there are no such devices, and
// the run of a GPT on a device that is played on the host against the run on CPUs.
#include "calibration/device/device_verbs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "calibration/base/names.hpp"
#include "calibration/base/random.hpp"
#include "calibration/device/device_workload.hpp"
#include "calibration/ranks/local_transport.hpp"
#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/json.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

TEST(DevicePlaces, AreWrittenAsCudaNamesThem) {
  EXPECT_TRUE(parse_device("cuda").each);
  EXPECT_FALSE(parse_device("cuda:0").each);
  EXPECT_EQ(parse_device("cuda:0").index, 0);
  EXPECT_EQ(parse_device("cuda:13").index, 13);
  for (const char* text : {"", "0", "cuda:", "cuda:-1", "cuda:1x", "gpu:0", "CUDA:0", "cuda:0 ", "cuda:99999999999"}) {
    const std::string said = thrown_by<BadInput>([&] { parse_device(text); });
    EXPECT_NE(said.find("write cuda:0"), std::string::npos) << text;
  }
}

TEST(DevicePlaces, ThatAreNotThereAreTold) {
  const auto said = [](int devices, const std::string& place, int ranks) {
    set_device_count(devices);
    std::string text = thrown_by<BadInput>([&] { check_devices(parse_device(place), ranks); });
    set_device_count(1);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  };
  EXPECT_EQ(said(1, "cuda:0", 4), "");
  EXPECT_EQ(said(4, "cuda:3", 1), "");
  EXPECT_EQ(said(4, "cuda", 4), "");
  EXPECT_EQ(said(0, "cuda:0", 1), "no device: the played host has none");
  EXPECT_EQ(said(0, "cuda", 2), "no device: the played host has none");
  EXPECT_EQ(said(1, "cuda:1", 1), "--device cuda:1: there is one device, 0");
  EXPECT_EQ(said(2, "cuda:5", 1), "--device cuda:5: there are devices 0 to 1");
  EXPECT_EQ(
      said(2, "cuda", 3),
      "--device cuda with 3 ranks: there are devices 0 to 1; write --ranks 2, or --device cuda:0 to have all ranks "
      "on one");
}

std::string made_up_text() {
  std::string text;
  for (std::uint64_t i = 0; i < 3000; ++i) text += static_cast<char>('a' + mixed(i / 2) % 7);
  return text;
}

TrainingOptions options_for(Algorithm algorithm, const std::string& data) {
  TrainingOptions options;
  options.algorithm = algorithm;
  options.accumulate = Accumulate::kFixed;
  options.updates = 4;
  options.gpt.shape = {1, 8, 2, 6, 0};
  options.gpt.sequences = 2;
  options.gpt.held_out = 8;
  options.data = data;
  options.optimizer.kind = OptimizerKind::kSgd;
  options.optimizer.learning_rate = 0.5;
  return options;
}

TrainingResult trained(const TrainingOptions& options, int ranks, bool on_device) {
  TrainingResult result;
  run_local_ranks(ranks, [&](Transport& transport) {
    TrainingResult own = on_device ? train_on_device(options, DevicePlace{}, transport) : train(options, transport);
    if (transport.rank() == 0) result = std::move(own);
  });
  return result;
}

// Losses near 2 in fp32 (2^-23 each), and parameters that are off by rounding: some 1e-6 (device_rank_test.cpp) times a
// gradient of a few. Another micro-batch's loss is off by 1e-2.
constexpr double kRounding = 1e-5;

TEST(TrainOnDevice, LearnsWhatCpusLearn) {
  const Scratch folder;
  const std::string data = folder.write("text.txt", made_up_text());
  for (const int ranks : {1, 2}) {
    for (const Algorithm algorithm : {Algorithm::kDdp, Algorithm::kAcco}) {
      TrainingOptions options = options_for(algorithm, data);
      const TrainingResult cpus = trained(options, ranks, false);
      options.device = "cuda:0";
      const TrainingResult device = trained(options, ranks, true);
      SCOPED_TRACE(testing::Message() << name_of(algorithm) << ", " << ranks << " ranks");
      EXPECT_NEAR(device.held_out_loss, cpus.held_out_loss, kRounding);
      ASSERT_EQ(device.updates.size(), cpus.updates.size());
      for (std::size_t i = 0; i < cpus.updates.size(); ++i) {
        EXPECT_NEAR(device.updates[i].loss, cpus.updates[i].loss, kRounding);
        EXPECT_EQ(device.updates[i].samples, cpus.updates[i].samples);
      }
      EXPECT_EQ(device.parameters, cpus.parameters);
      EXPECT_EQ(device.tokens_per_sample, cpus.tokens_per_sample);
      EXPECT_EQ(device.device.name, "Played on the host");
      EXPECT_GT(device.device.memory, 4 * device.parameters);
      EXPECT_EQ(device.device.experiment.empty(), ranks == 1);
      const Json document = Json::parse(run_json(options, device, json_object({})));
      EXPECT_EQ(document["device"]["name"], "Played on the host");
      EXPECT_EQ(document["options"]["device"], "cuda:0");
      EXPECT_FALSE(Json::parse(run_json(options, cpus, json_object({}))).contains("device"));
    }
  }
}

TEST(TrainOnDevice, LearnsInBf16) {
  // What is stored to 2^-8 and moves by steps of 2^-9 and less is not far from what is stored in fp32.
  const Scratch folder;
  TrainingOptions options = options_for(Algorithm::kAcco, folder.write("text.txt", made_up_text()));
  options.storage = ElementType::kBf16;
  options.updates = 1;
  const double before = trained(options, 1, true).held_out_loss;
  options.updates = 15;
  const double after = trained(options, 1, true).held_out_loss;
  EXPECT_NEAR(after, trained(options, 1, false).held_out_loss, 0.01);
  EXPECT_LT(after, before - 0.05);
}

TEST(TrainOnDevice, LooksAtTheSameHeldOutTextWhateverAMicroBatchIs) {
  // 3 sequences do not divide the 8 that are held out: they are then looked at one by one.
  const Scratch folder;
  TrainingOptions options = options_for(Algorithm::kZero1, folder.write("text.txt", made_up_text()));
  for (const int sequences : {1, 3, 4}) {
    options.gpt.sequences = sequences;
    options.updates = 1;
    EXPECT_NEAR(trained(options, 1, true).held_out_loss, trained(options, 1, false).held_out_loss, kRounding);
  }
}

TEST(TrainOnDevice, DrawsRandomTokensForTiming) {
  // Of v kinds, at the start about as likely one as the other: a loss of log v, of which the head's first scores, with
  // a deviation of 0.05 sqrt(8), take little away.
  TrainingOptions options = options_for(Algorithm::kZero1, "/nonexistent");
  options.random_vocabulary = 50;
  options.updates = 2;
  const TrainingResult result = trained(options, 1, true), again = trained(options, 1, true);
  EXPECT_NEAR(result.updates[0].loss, std::log(50), 0.3);
  EXPECT_EQ(result.updates[1].loss, again.updates[1].loss);
  EXPECT_NE(result.updates[0].loss, result.updates[1].loss);
  EXPECT_TRUE(std::isnan(result.held_out_loss));
  EXPECT_EQ(Json::parse(run_json(options, result, json_object({})))["options"]["random_vocabulary"], 50);
}

TEST(TrainOnDevice, StartsWithTheCpusParameters) {
  // Made by several threads, and large enough that they are: a vocabulary of 5000 x 64.
  TrainingOptions options = options_for(Algorithm::kZero1, "");
  options.gpt.shape = {1, 64, 4, 4, 0};
  options.random_vocabulary = 5000;
  GptShape shape = options.gpt.shape;
  shape.vocabulary = 5000;
  const std::vector<double> expected = initial_parameters(shape, options.gpt.seed);
  EXPECT_EQ(gpt_on_device<float>(options)->initial_parameters(), std::vector<float>(expected.begin(), expected.end()));
}

TEST(TrainOnDevice, RefusesWhatADeviceDoesNotDo) {
  const auto said = [](const std::function<void(TrainingOptions&)>& change) {
    TrainingOptions options;
    options.device = "cuda:0";
    change(options);
    return thrown_by<BadInput>([&] { check_options(options, 2); });
  };
  EXPECT_EQ(said([](TrainingOptions&) {}), "");
  EXPECT_NE(said([](TrainingOptions& o) { o.timed = true; }).find("leave --device or --compute-time out"),
            std::string::npos);
  EXPECT_NE(said([](TrainingOptions& o) { o.slow[1] = 2; }).find("--slow"), std::string::npos);
  EXPECT_NE(said([](TrainingOptions& o) { o.algorithm = Algorithm::kDiloco; }).find("diloco"), std::string::npos);
  EXPECT_NE(said([](TrainingOptions& o) { o.random_vocabulary = -1; }).find("--vocabulary"), std::string::npos);
}

}  // namespace
}  // namespace accocal

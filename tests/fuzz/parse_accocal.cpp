// Parsers of accocal's command line and data, and what a stranger says on a rank's socket.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <map>
#include <optional>
#include <sstream>

#include "calibration/base/names.hpp"
#include "calibration/device/device_verbs.hpp"
#include "calibration/ranks/local_network.hpp"
#include "calibration/ranks/ring_transport.hpp"
#include "calibration/train/data.hpp"
#include "calibration/train/train_options.hpp"
#include "models/base/descriptor.hpp"
#include "tests/fuzz/parsers.hpp"

namespace accocal {
namespace {

constexpr int kRanks = 4;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line) && lines.size() < 50;) lines.push_back(line);
  return lines;
}

/// --network, and a --rate a line.
void read_network(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  if (lines.empty()) lines.emplace_back();
  const std::string network = lines.front();
  lines.erase(lines.begin());
  const NetworkSpec spec = parse_network(network, lines, kRanks);
  for (int rank = 0; rank < kRanks; ++rank) require(payload_rate(spec, rank).value > 0, "a rank that can send nothing");
}

void read_device_name(const std::string& text) { require(parse_device(text).index >= 0, "a device below 0"); }

template <class Number>
void assign(const std::string& text, Number& number) {
  std::from_chars(text.data(), text.data() + text.size(), number);
}

/// Options of `train`, one a line: name=value.
void read_train_options(const std::string& text) {
  TrainArguments a;
  TrainingOptions& o = a.options;
  const std::map<std::string, std::string*> texts = {{"algorithm", &a.algorithm},
                                                     {"compute-time", &a.compute_time},
                                                     {"storage", &a.storage},
                                                     {"accumulate", &a.accumulate},
                                                     {"estimate-state", &a.estimate_state},
                                                     {"initial-gradient", &a.initial_gradient},
                                                     {"estimate", &a.estimate},
                                                     {"payload", &a.payload},
                                                     {"optimizer", &a.optimizer},
                                                     {"schedule", &a.schedule}};
  const std::map<std::string, int*> integers = {{"vocabulary", &o.random_vocabulary}, {"layers", &o.gpt.shape.layers},
                                                {"width", &o.gpt.shape.width},        {"heads", &o.gpt.shape.heads},
                                                {"context", &o.gpt.shape.context},    {"sequences", &o.gpt.sequences},
                                                {"poll-every", &o.poll_every},        {"outer-every", &o.outer_every},
                                                {"micro-batches", &a.micro_batches},  {"delay", &o.delay},
                                                {"fragments", &o.fragments}};
  const std::map<std::string, std::int64_t*> counts = {
      {"parameters", &o.parameters}, {"updates", &o.updates}, {"samples", &o.samples}, {"warmup", &o.warmup_updates}};
  const std::map<std::string, std::optional<double>*> own = {
      {"outer-learning-rate", &a.outer_learning_rate}, {"outer-momentum", &a.outer_momentum}, {"mixing", &a.mixing}};
  const std::map<std::string, double*> numbers = {{"outer-clip", &o.outer_clip},
                                                  {"learning-rate", &o.optimizer.learning_rate},
                                                  {"learning-rate-warmup", &o.optimizer.warmup},
                                                  {"weight-decay", &o.optimizer.adamw.weight_decay},
                                                  {"beta1", &o.optimizer.adamw.beta1},
                                                  {"beta2", &o.optimizer.adamw.beta2}};
  for (const std::string& line : lines_of(text)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "slow") a.slow.push_back(value);
    if (texts.count(name) > 0) *texts.at(name) = value;
    if (integers.count(name) > 0) assign(value, *integers.at(name));
    if (name == "inner-updates") assign(value, a.inner_updates.emplace());
    if (own.count(name) > 0) assign(value, own.at(name)->emplace());
    if (counts.count(name) > 0) assign(value, *counts.at(name));
    if (numbers.count(name) > 0) assign(value, *numbers.at(name));
  }
  training_options(a, kRanks);
}

void read_text_to_learn(const std::string& text) {
  if (text.size() < 1000) return;  // which read_corpus() refuses
  const Corpus corpus = corpus_of(text);
  require(corpus.vocabulary >= 1 && corpus.vocabulary <= 256, "a vocabulary of no bytes");
  std::vector<std::uint8_t> tokens(4 * 65);
  fill_batch(corpus.training, 64, 1, 7, tokens);
  for (const std::uint8_t token : tokens) require(token < corpus.vocabulary, "a token beyond the vocabulary");
}

Descriptor listener(Address& address) {
  Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  require(bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), size) == 0 && listen(fd.get(), 8) == 0 &&
              getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0,
          "no listening socket");
  address = {INADDR_LOOPBACK, ntohs(at.sin_port)};
  return fd;
}

/// A stranger says the text to a rank that waits for another one, and closes the connection.
void read_hello(const std::string& text) {
  Seat seat{.size = 2};
  seat.addresses.resize(2);
  seat.job = 0x1122334455667788;
  seat.timeout = Seconds{0.002};
  const Descriptor own = listener(seat.addresses[0]), next = listener(seat.addresses[1]);
  seat.listener = own.get();
  const Descriptor stranger(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(seat.addresses[0].port);
  if (connect(stranger.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return;
  send(stranger.get(), text.data(), std::min<std::size_t>(text.size(), 4096), MSG_NOSIGNAL);
  shutdown(stranger.get(), SHUT_RDWR);
  try {
    const RingTransport ring(seat);
  } catch (const TransportError& error) {
    require_printable(error.what(), "a refusal");
  }
}

}  // namespace
}  // namespace accocal

const std::vector<accosim::Parser>& accosim::parsers() {
  static const std::vector<Parser> kAll = {{"network", InputForm::kText, accocal::read_network},
                                           {"device-name", InputForm::kText, accocal::read_device_name},
                                           {"train-options", InputForm::kText, accocal::read_train_options},
                                           {"text-to-learn", InputForm::kText, accocal::read_text_to_learn},
                                           {"hello", InputForm::kText, accocal::read_hello}};
  return kAll;
}

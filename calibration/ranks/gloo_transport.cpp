// Gloo's context wants a store where ranks leave their addresses: a short-lived ring carries them.
#include "calibration/ranks/gloo_transport.hpp"

#include <fmt/format.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "calibration/ranks/elements.hpp"
#include "calibration/ranks/ring_transport.hpp"

namespace accocal {
namespace {

/// Every rank sets one key and then reads the others': a set is an exchange between all ranks.
class RingStore : public gloo::rendezvous::Store {
 public:
  explicit RingStore(const Seat& seat) : ring_(seat) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const std::string mine = key + '=' + std::string(data.begin(), data.end());
    const auto ranks = static_cast<std::size_t>(ring_.size());
    const auto rank = static_cast<std::size_t>(ring_.rank());
    std::vector<std::int64_t> sizes(ranks);
    sizes[rank] = static_cast<std::int64_t>(mine.size());
    ring_.all_reduce(buffer_of(std::span(sizes)));
    std::size_t longest = 0;
    for (const std::int64_t size : sizes) longest = std::max(longest, static_cast<std::size_t>(size));
    // Whole numbers are what a transport carries: one slot of `words` a rank.
    const std::size_t words = (longest + 7) / 8;
    std::vector<std::int64_t> all(words * ranks);
    std::memcpy(&all[words * rank], mine.data(), mine.size());
    ring_.all_gather(buffer_of(std::span(all)));
    for (std::size_t other = 0; other < ranks; ++other) {
      const std::string text(reinterpret_cast<const char*>(&all[words * other]),
                             static_cast<std::size_t>(sizes[other]));
      const std::size_t equals = text.find('=');
      values_[text.substr(0, equals)] = {text.begin() + static_cast<std::ptrdiff_t>(equals) + 1, text.end()};
    }
  }
  std::vector<char> get(const std::string& key) override { return values_.at(key); }
  void wait(const std::vector<std::string>&) override {}
  void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) override {}

 private:
  RingTransport ring_;
  std::map<std::string, std::vector<char>> values_;
};

/// The sums of the ring, so that only the order differs.
template <ElementType type>
void add(void* to, const void* a, const void* b, std::size_t count) {
  add_elements(type, to, a, b, count);
}

class GlooTransport : public Transport {
 public:
  explicit GlooTransport(const Seat& seat) : seat_(seat) {
    if (seat.size < 2) return;
    guard("connect", [&] {
      const std::uint32_t host = seat.addresses[seat.rank].host;
      gloo::transport::tcp::attr where(
          fmt::format("{}.{}.{}.{}", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255).c_str());
      std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(where);
      RingStore store(seat);
      auto context = std::make_shared<gloo::rendezvous::Context>(seat.rank, seat.size);
      context->setTimeout(std::chrono::milliseconds(std::llround(std::min(seat.timeout.value, 1e6) * 1e3)));
      context->connectFullMesh(store, device);
      context_ = context;
    });
  }

  int rank() const override { return seat_.rank; }
  int size() const override { return seat_.size; }
  Seconds timeout() const override { return seat_.timeout; }

  void all_reduce(Buffer data) override {
    if (!context_ || data.count == 0) return;
    guard("all_reduce", [&] {
      switch (data.type) {
        case ElementType::kFloat32: return all_reduce_of<float, ElementType::kFloat32>(data);
        case ElementType::kFloat64: return all_reduce_of<double, ElementType::kFloat64>(data);
        case ElementType::kBf16: return all_reduce_of<std::uint16_t, ElementType::kBf16>(data);
        case ElementType::kInt64: return all_reduce_of<std::int64_t, ElementType::kInt64>(data);
      }
    });
  }

  /// Gloo's own is of another algorithm and of powers of two; the sum of all is right in the own shard too.
  void reduce_scatter(Buffer data) override { all_reduce(data); }

  void all_gather(Buffer data) override {
    if (!context_ || data.count == 0) return;
    guard("all_gather", [&] {
      const std::size_t element = size_of(data.type);
      std::vector<std::size_t> bytes;
      for (int rank = 0; rank < seat_.size; ++rank)
        bytes.push_back(shard_of(data.count, rank, seat_.size).size() * element);
      gloo::AllgathervOptions options(context_);
      options.setOutput(static_cast<char*>(data.data), bytes);
      gloo::allgatherv(options);
    });
  }

  void broadcast(Buffer data, int root) override {
    if (!context_ || data.count == 0) return;
    guard("broadcast", [&] {
      gloo::BroadcastOptions options(context_);
      options.setRoot(root);
      options.setOutput(static_cast<char*>(data.data), data.count * size_of(data.type));
      gloo::broadcast(options);
    });
  }

  void barrier() override {
    if (!context_) return;
    guard("barrier", [&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

 private:
  template <typename Stored, ElementType type>
  void all_reduce_of(Buffer data) {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(static_cast<Stored*>(data.data), data.count);
    options.setReduceFunction(&add<type>);
    gloo::allreduce(options);
  }

  template <typename Action>
  void guard(const char* what, const Action& action) {
    try {
      action();
    } catch (const TransportError&) {
      throw;
    } catch (const std::exception& error) {
      const std::string reason = said_by_launcher(seat_, Seconds{2});
      throw TransportError(reason.empty() ? fmt::format("{} (Gloo): {}", what, error.what()) : reason);
    }
  }

  Seat seat_;
  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

bool has_gloo() { return true; }

std::unique_ptr<Transport> make_gloo_transport(const Seat& seat) { return std::make_unique<GlooTransport>(seat); }

}  // namespace accocal

#include "models/price/tensor_waits.hpp"

#include <algorithm>
#include <array>

namespace accosim {
namespace {

using Held = std::array<Seconds, kHeld.size()>;

/// What an operator's products take, alone and beside collectives: of its forward pass, and of both gradients.
struct Products {
  Held forward{}, input{}, weight{};
};

/// Fewer multiprocessors make no product faster, whatever the tiles that they leave.
void add(Held& sum, const Held& held) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += std::max(held[0], held[i]);
}

/// A product's backward pass is its input's gradient, then its weights'. What comes behind those of all products is
/// recomputation.
Products products_of(const Bill& bill, const BilledOperator& op) {
  Products products;
  int forward = 0, backward = 0;
  for (const BillLine& line : op.lines) {
    const PricedKernel& priced = bill.kernels[line.kernel];
    if (priced.kernel.kind != KernelKind::kGemm) continue;
    if (!line.backward) {
      add(products.forward, priced.held);
      ++forward;
    } else if (backward < 2 * forward) {
      add(backward % 2 == 0 ? products.input : products.weight, priced.held);
      ++backward;
    }
  }
  return products;
}

/// A product and the collectives beside it, one after the other.
class Pair {
 public:
  explicit Pair(const Held& held) : held_(held) {}

  void add(const CollectivePrice& price) {
    wait_ += price.time;
    if (held_[0] == Seconds{0} || left_ <= 0) return;
    const auto index = std::lower_bound(kHeld.begin(), kHeld.end() - 1, price.sms) - kHeld.begin();
    const double done = std::min(left_, price.time / held_[static_cast<std::size_t>(index)]);
    left_ -= done;
    wait_ -= done * held_[0];
  }
  /// By how much both take longer than the product alone.
  Seconds wait() const { return wait_; }

 private:
  Held held_;
  double left_ = 1;  ///< of the product
  Seconds wait_;
};

/// `alone`: time of the product that the pieces run beside.
Seconds rest_of_ring(Seconds time, Seconds alone, int ranks) {
  return std::max(Seconds{0}, time - (ranks - 1.0) / ranks * alone);
}

Seconds rest_of_pieces(Seconds time, Seconds alone) {
  return 1.0 / kPieces * (time + (kPieces - 1) * std::max(Seconds{0}, time - alone));
}

class OperatorWaits {
 public:
  OperatorWaits(const BilledOperator& op, const Products& products, int cut)
      : products_(products), cut_(cut), input_(products.input), weight_(products.weight) {
    for (const TensorMessage& message : op.messages)
      gathers_input_ |= !message.backward && message.kind == CollectiveKind::kAllGather;
  }

  void add(const TensorMessage& message, const CollectivePrice& price) {
    switch (message.beside) {
      case Beside::kNothing: (message.backward ? backward_ : forward_) += bare(message, price.time); break;
      case Beside::kInputGradient: input_.add(price); break;
      case Beside::kWeightGradient: weight_.add(price); break;
    }
  }
  TensorWaits waits() const { return {forward_, backward_ + input_.wait() + weight_.wait()}; }

 private:
  /// What is left of one that no independent product runs beside. Gathered in the backward pass is the output's
  /// gradient, or once more the input of a product that is recomputed.
  Seconds bare(const TensorMessage& message, Seconds time) const {
    const bool gradient = message.backward && !gathers_input_;
    if (cut_ > 1 && message.kind == CollectiveKind::kAllGather)
      return rest_of_ring(time, (gradient ? products_.input : products_.forward)[0], cut_);
    if (cut_ > 1 && message.kind == CollectiveKind::kReduceScatter) return rest_of_pieces(time, products_.forward[0]);
    return time;
  }

  const Products products_;
  const int cut_;
  bool gathers_input_ = false;
  Pair input_, weight_;
  Seconds forward_, backward_;
};

/// One direction of a layer: the GPU's time, and the host's for the kernels.
struct Pass {
  Seconds busy, waits;
  Seconds exchanges;  ///< of the waits
  double launches = 0, messages = 0;

  /// By how much it takes longer with its collectives.
  Seconds longer(Seconds interval) const {
    if (messages == 0) return Seconds{0};
    return std::max(busy + waits, (launches + messages) * interval) - std::max(busy, launches * interval);
  }
};

}  // namespace

TensorWaits tensor_waits(const Bill& bill, const BilledLayer& layer, const PriceOfCollective& price, int cut_among,
                         double combined) {
  Pass forward, backward;
  for (const BilledOperator& op : layer.operators) {
    forward.busy += op.forward;
    backward.busy += op.backward;
    forward.launches += op.forward_launches;
    backward.launches += op.backward_launches;
    OperatorWaits waits(op, products_of(bill, op), layer.kind == LayerKind::kBlock ? cut_among : 1);
    for (const TensorMessage& message : op.messages) {
      const CollectivePrice priced = price(message);
      Pass& pass = message.backward ? backward : forward;
      waits.add(message, priced);
      ++pass.messages;
      if (message.of_experts) pass.exchanges += priced.time;
    }
    forward.waits += waits.waits().forward;
    backward.waits += waits.waits().backward;
  }
  forward.waits -= combined * std::min(forward.exchanges, backward.busy);
  backward.waits -= combined * std::min(backward.exchanges, forward.busy);
  return {forward.longer(bill.launch_interval), backward.longer(bill.launch_interval)};
}

}  // namespace accosim

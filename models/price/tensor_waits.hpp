// How much longer the passes of a layer take because of the collectives over the ranks that split its tensors, or have
// its experts between them: what no
// product hides of them, and what they take from the products that do.
#pragma once

#include <functional>

#include "models/base/units.hpp"
#include "models/price/bill.hpp"
#include "models/price/operator.hpp"

namespace accosim {

/// Of a collective: how long it takes, and how many multiprocessors it holds meanwhile.
struct CollectivePrice {
  Seconds time;
  int sms = 0;
};
using PriceOfCollective = std::function<CollectivePrice(const TensorMessage& message)>;

struct TensorWaits {
  Seconds forward, backward;
};

/// Of one of the bill's layers, beyond its layer_time(), without the device's slowdown.
///
/// A collective beside nothing is waited for: M, its time. One beside the products of a gradient, which take G alone
/// and H with the multiprocessors that it leaves them, takes with them
///   M where M >= H, else M + (1 - M / H) G,
/// and the wait is that less G. Several beside the same products follow each other.
///
/// `cut_among` t > 1 ranks: those of a block that would be waited for are cut into pieces, which run beside the product
/// that they come before or after, as in Transformer Engine's user buffers (its methods by default, module/base.py). A
/// gather goes round a ring in t - 1 steps, and a product of the last piece runs beside each:
///   (t - 1) max(0, M / (t - 1) - G / t).
/// A reduce-scatter follows its product in q = kPieces pieces, of which the last is waited for:
///   M / q + (q - 1) max(0, M / q - G / q).
/// The multiprocessors that pieces hold, and how much slower smaller products are, is left out. All-reduces stay whole.
///
/// A layer whose kernels the host launches more slowly than the GPU runs them has gaps; its waits fill these first.
///
/// `combined`: the share of passes that run layer by layer together with a pass of another micro-batch the other way.
/// Exchanges of experts run beside what that computes: of them X, beside C, max(0, X - C) is waited for. What the
/// kernels of an exchange take from the computation beside them is left out.
TensorWaits tensor_waits(const Bill& bill, const BilledLayer& layer, const PriceOfCollective& price, int cut_among = 1,
                         double combined = 0);
inline constexpr int kPieces = 4;

}  // namespace accosim

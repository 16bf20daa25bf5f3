// What stands for Gloo in a build without it.
#include "calibration/base/names.hpp"
#include "calibration/ranks/gloo_transport.hpp"
#include "models/base/errors.hpp"

namespace accocal {

bool has_gloo() { return false; }

std::unique_ptr<Transport> make_gloo_transport(const Seat&) {
  throw BadInput("this accocal was built without Gloo; use --transport ring, or install libgloo-dev and build again");
}

}  // namespace accocal

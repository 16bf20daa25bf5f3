// What the fits would have given, had they not seen some of the published measurements: how far off predictions are for
// those whom nobody has measured yet.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/fit/fit_collectives.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/fit/published.hpp"
#include "sim/evidence/fit_steps.hpp"

namespace accosim {

/// What the fits may not see. Empty: they see everything.
struct LeftOut {
  std::string publisher;
  std::string device;

  bool holds(const std::string& of_publisher, const std::string& of_device) const {
    return of_publisher == publisher || of_device == device;
  }
};

/// Replaces constants by newly fitted ones: returns the device, or the node group with its links, changed so. An empty
/// function changes nothing.
struct Refit {
  std::function<Device(Device)> device{};
  std::function<NodeGroup(NodeGroup)> links{};
  std::optional<StepFit> steps;
};

/// The published collectives that the fits may use.
std::vector<MeasuredCollective> measured_collectives(const Published& published);

/// Everything that is fitted to published measurements, fitted once to all of them, and again without some: only those
/// fits that saw what is left out. A kind of links whose samples are all left out gets what all such links share, a
/// device without kernels of its architecture another one's constants. No cross-validation: a fit takes a tenth of
/// what fit_kernels() needs with it.
class Refits {
 public:
  /// Fits nothing yet. `published` stays where it is.
  explicit Refits(const Published& published);

  /// How many samples the fits must do without, 0 where none sees anything of it: what a refit costs, roughly.
  int samples_of(const LeftOut& left_out) const;
  /// Fits to everything what predictions of `asked` rest on; the other fits are saved. Plays steps in so many `jobs`.
  void fit_all(const std::vector<const PublishedCase*>& asked, int jobs, NetworkKind network);
  /// Needs fit_all().
  Refit without(const LeftOut& left_out) const;

 private:
  std::vector<KernelFit> kernels_without(const LeftOut& left_out) const;
  std::vector<LinkFit> links_without(const LeftOut& left_out) const;

  struct Collective {
    std::string device;
    MeasuredCollective measured;
  };
  const Published& published_;
  bool of_kernels_ = false, of_links_ = false, of_steps_ = false;  ///< what is fitted
  std::vector<KernelSample> kernels_;
  std::map<std::string, Device> devices_;
  std::vector<Collective> collectives_;
  std::vector<LeftOut> seen_;  ///< who measured what some fit sees, and on what device
  std::vector<StepSample> steps_;
  std::vector<KernelFit> kernel_fits_;  ///< with nothing left out
  std::vector<LinkFit> link_fits_;
};

// What a GPU's kernels take by the fits of another generation: how far off predictions are for a GPU that nobody has
// measured and that is described by "inherits".

/// Whether another generation stands for the device's.
bool has_neighbour(const Device& device);

/// The device with all that it would inherit from the profile of a GPU of the next generation (of the newest, the one
/// before it): fits of kernels, how much longer they take in a step, efficiencies and the host's launches. Its peaks,
/// memory, multiprocessors and power stay, and the fits are taken at that power. A dtype that the other has no fit for
/// takes that of its 16 bits. The device itself where it has no neighbour.
Device of_neighbour(Device device);

}  // namespace accosim

#include "sim/evidence/refit.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/fit/pooled_kernels.hpp"

namespace accosim {
namespace {

/// Whether the fit is of such kernels.
bool is_of(const KernelFit& fit, const KernelSample& sample, const Device& device) {
  if (fit.architecture != device.architecture) return false;
  if (sample.kernel.kind != KernelKind::kGemm)
    return fit.dtypes.empty() && fit.flash_3 == sample.kernel.attention.flash_3;
  return std::ranges::find(fit.dtypes, sample.dtype) != fit.dtypes.end();
}

bool between_nodes(const MeasuredCollective& measured) { return measured.query.nodes > 1; }

bool is_sample(const PublishedCase& one, Asked asked) { return one.asked == asked && one.scored() && one.in_fits; }

MeasuredCollective sample_of(const PublishedCase& one, const std::string& publisher) {
  return {publisher, one.collective, Seconds{one.measured}, {}, weight_of(one.trust)};
}

}  // namespace

std::vector<MeasuredCollective> measured_collectives(const Published& published) {
  const std::map<std::string, std::string> publishers = publishers_of(published);
  std::vector<MeasuredCollective> samples;
  for (const PublishedCase& one : published.cases)
    if (is_sample(one, Asked::kCollectiveTime)) samples.push_back(sample_of(one, publishers.at(one.source)));
  return samples;
}

Refits::Refits(const Published& published) : published_(published) {
  const std::map<std::string, std::string> publishers = publishers_of(published);
  for (const PublishedCase& one : published.cases) {
    const std::string& publisher = publishers.at(one.source);
    if (one.asked == Asked::kKernelTime) devices_.emplace(one.device, *one.kernel.device);
    const bool kernel = is_sample(one, Asked::kKernelTime), collective = is_sample(one, Asked::kCollectiveTime);
    if (kernel) kernels_.push_back({publisher, one.device, one.kernel.dtype, one.kernel.kernel, Seconds{one.measured}});
    if (collective) collectives_.push_back({one.device, sample_of(one, publisher)});
    if (kernel || collective || is_step_sample(one)) seen_.push_back({publisher, one.device});
  }
}

int Refits::samples_of(const LeftOut& left_out) const {
  return static_cast<int>(
      std::ranges::count_if(seen_, [&](const LeftOut& each) { return left_out.holds(each.publisher, each.device); }));
}

void Refits::fit_all(const std::vector<const PublishedCase*>& asked, int jobs, NetworkKind network) {
  for (const PublishedCase* one : asked) {
    const bool plays = one->scenario != nullptr;
    of_kernels_ |= plays || one->asked == Asked::kKernelTime;
    of_links_ |= plays || one->asked == Asked::kCollectiveTime;
    of_steps_ |= plays;
  }
  if (of_steps_) steps_ = step_samples(published_, jobs, network);
  if (of_kernels_) kernel_fits_ = fit_kernels(kernels_, devices_, CrossValidation::kNo);
  if (!of_links_) return;
  link_fits_ = fit_collectives(mapped<MeasuredCollective>(collectives_, &Collective::measured), {},
                               CrossValidation::kNo, Unmeasured::kShared);
}

std::vector<KernelFit> Refits::kernels_without(const LeftOut& left_out) const {
  const auto is_left_out = [&](const KernelSample& sample) { return left_out.holds(sample.source, sample.device); };
  std::vector<KernelFit> fits;
  std::map<std::string, double> framework;  // which samples of one architecture alone may not show
  for (const KernelFit& known : kernel_fits_)
    if (known.framework != 1) framework.emplace(known.what, known.framework);
  for (const KernelFit& known : kernel_fits_) {
    std::vector<KernelSample> own = matching(
        kernels_, [&](const KernelSample& sample) { return is_of(known, sample, devices_.at(sample.device)); });
    const std::size_t all = own.size();
    std::erase_if(own, is_left_out);
    if (own.size() == all) {
      fits.push_back(known);
      continue;
    }
    for (KernelFit& fit : fit_kernels(own, devices_, CrossValidation::kNo, framework)) fits.push_back(std::move(fit));
  }
  return fits;
}

std::vector<LinkFit> Refits::links_without(const LeftOut& left_out) const {
  // All boards share numbers and all fabrics have one prior, so all of them change where one does; and fabrics are
  // fitted with the boards.
  bool boards = false, fabrics = false;
  std::vector<MeasuredCollective> rest;
  for (const Collective& each : collectives_) {
    const bool out = left_out.holds(each.measured.source, each.device);
    if (out) (between_nodes(each.measured) ? fabrics : boards) = true;
    if (!out) rest.push_back(each.measured);
  }
  if (!boards && !fabrics) return link_fits_;
  std::vector<LinkFit> standing;
  if (!boards) {
    std::ranges::copy_if(link_fits_, std::back_inserter(standing),
                         [](const LinkFit& fit) { return !fit.between_nodes; });
    std::erase_if(rest, std::not_fn(between_nodes));
  }
  return fit_collectives(rest, std::move(standing), CrossValidation::kNo, Unmeasured::kShared);
}

Refit Refits::without(const LeftOut& left_out) const {
  Refit refit;
  if (of_steps_) {
    refit.steps = fit_steps(
        matching(steps_, [&](const StepSample& sample) { return !left_out.holds(sample.publisher, sample.device); }));
  }
  if (of_links_) {
    // A kind that only this source measured does not keep its constants, which came from it.
    refit.links = [fits = links_without(left_out)](NodeGroup group) { return with_links(std::move(group), fits); };
  }
  if (of_kernels_) {
    refit.device = [fits = kernels_without(left_out)](Device device) {
      device.gemm = {};
      device.attention.reset();
      device.flash_3.reset();
      return with_pooled(with_fits(std::move(device), fits), fits);
    };
  }
  return refit;
}

}  // namespace accosim

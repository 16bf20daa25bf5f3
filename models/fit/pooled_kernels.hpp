// Constants of GEMMs for an architecture and a dtype that nobody measured: from the fits of all others together, so
// that no single one of them stands for what it is not.
#pragma once

#include <vector>

#include "models/fit/fit_kernels.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// Partial pooling. The log of each constant is taken as a common part, one of the architecture and one of the units
/// that compute (CUDA cores for fp32, tensor cores for all else); each is shrunk towards none (the common part towards
/// the prior of the fits), as strongly as a well sampled fit pulls it. A fit of n samples has the weight n / (n + 20).
/// The spread is the root mean square of the fits' spreads with these weights; marked as inherited. Needs a GEMM fit.
GemmFit pooled_gemm(const std::vector<KernelFit>& fits, const Device& device, Dtype dtype);

/// The device with the fits of its architecture in place of its own. A dtype that has none and had none before takes
/// pooled_gemm() of these and `others`, where the architecture has a fit of another. Marked as inherited, as is a fit
/// without a sample of this device.
Device with_fits(Device device, const std::vector<KernelFit>& fits, const std::vector<KernelFit>& others = {});

/// Fills what the device lacks: pooled constants for dtypes that it has a peak and no fit for, and the first fit of
/// attention. Nothing where there is no fit of the kind.
Device with_pooled(Device device, const std::vector<KernelFit>& fits);

/// The GEMM fits that profiles hold of kernels that were measured on them, one of an architecture and a class of
/// dtypes, to pool the fits of a user's GPU with.
std::vector<KernelFit> fits_of(const std::vector<Device>& profiles);

/// `fits`, and those of `others` whose architecture and dtypes have none among them.
std::vector<KernelFit> with_others(std::vector<KernelFit> fits, const std::vector<KernelFit>& others);

}  // namespace accosim

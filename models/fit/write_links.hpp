// Writes fitted constants of links into a cluster's file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/fit/fit_collectives.hpp"

namespace accosim {

/// The constants of a fit as members of "intra" or "nics" of a node group, with four digits.
void set_constants(JsonValue& links, const LinkFit& fit);
/// What the constants were fitted to, and how far off they are there.
std::string citation_of(const LinkFit& fit, const std::string& sources);

/// The cluster (a JSON object in `text`) with the constants of each node group's links replaced where a fit is of their
/// kind, with four digits and a citation, with NCCL's release `nccl` where it has none, and with the `doubt` that
/// speaks against the samples in place of an older one; all other keys stay as they are. `file` is for errors. Throws
/// ScenarioError when the text is no cluster with a list of nodes, and where a fit is not plausible.
std::string cluster_with_links(const std::string& text, const std::string& file, const std::vector<LinkFit>& fits,
                               const std::string& sources, std::optional<NcclRelease> nccl = {},
                               const std::string& doubt = {});

}  // namespace accosim

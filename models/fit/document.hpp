// Opens every kind of document that accocal writes, and reads it as strictly as a scenario: within limits, and
// reporting all mistakes at once, each with its place.
#pragma once

#include <string>
#include <system_error>
#include <vector>

#include "models/base/units.hpp"
#include "models/read/parts.hpp"

namespace accosim {

struct DocumentKind {
  const char* schema;  ///< "accosim.run/1"
  const char* writer;  ///< "accocal train": for the error about a file of another kind
};

/// Passes the document's top object to `read`, which must ask for every key that it may have. `name` is how the file is
/// shown. Throws ScenarioError with all that is wrong; another schema counts as one mistake.
void read_document(const std::string& text, const std::string& name, const DocumentKind& kind, const ReadPart& read);

/// Whether the text is a document of that schema, whatever else is wrong with it.
bool has_schema(const std::string& text, const std::string& schema);

/// The *.json in a folder, by name.
std::vector<std::string> json_files_in(const std::string& directory, std::error_code& error);

inline constexpr int kMostMeasuredRanks = 1024;  ///< as many as a cluster may have node groups

struct MeasuredNetwork {
  std::string kind;              ///< loopback, paced or netns
  std::vector<double> rates;     ///< one a rank, B/s; empty where nothing limits
  std::vector<double> bursts;    ///< of each rank's token bucket, B; empty where there is none
  std::vector<double> payloads;  ///< of each rate what is payload, B/s; empty: not told
};

/// The network between `ranks` ranks (0: unknown number). `advice` tells the user what to do about a list of rates or
/// bursts of another length.
MeasuredNetwork read_network(ObjectReader& network, int ranks, const char* advice);

/// Refuses a "median_s" outside its "p10_s" and "p90_s", where these were read well.
void check_median(ObjectReader& sample, Seconds median, Seconds p10, Seconds p90);

}  // namespace accosim

// What accocal measured comes in documents of several kinds. All of them are opened here, so that each is read as
// strictly as a scenario: within limits, every mistake with its place, all of them at once.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "models/base/reader.hpp"
#include "models/base/units.hpp"

namespace accosim {

struct DocumentKind {
  const char* schema;  ///< "accosim.run/1"
  const char* writer;  ///< "accocal train": for the error about a file of another kind
};

/// Gives the document's top to `read`, which takes every key that it may have. `name` is how the file is shown. Throws
/// ScenarioError with all that is wrong; a document of another schema is one mistake.
void read_document(const std::string& text, const std::string& name, const DocumentKind& kind,
                   const std::function<void(ObjectReader&)>& read);

/// Whether the text is a document of that schema, whatever else is wrong with it.
bool has_schema(const std::string& text, const std::string& schema);

/// Reads the object at `key`; an absent one is an error.
void read_object(ObjectReader& parent, const char* key, const std::function<void(ObjectReader&)>& read);
/// Reads each object of a list of `least` to `most`.
void read_objects(ObjectReader& parent, const char* key, std::size_t least, std::size_t most,
                  const std::function<void(ObjectReader&)>& read);

inline constexpr int kMostMeasuredRanks = 1024;  ///< node groups of a machine

struct MeasuredNetwork {
  std::string kind;            ///< loopback, paced or netns
  std::vector<double> rates;   ///< one a rank, B/s; empty where nothing limits
  std::vector<double> bursts;  ///< of each rank's token bucket, B; empty where there is none
};

/// The network between `ranks` ranks; 0: nobody knows how many. `advice` is what would mend a list of another length.
MeasuredNetwork read_network(ObjectReader& network, int ranks, const char* advice);

/// Refuses a "median_s" outside its "p10_s" and "p90_s", where these were read well.
void check_median(ObjectReader& sample, Seconds median, Seconds p10, Seconds p90);

/// Keys that are there for people, or for others.
void pass_over(ObjectReader& reader, std::initializer_list<const char*> keys);

}  // namespace accosim

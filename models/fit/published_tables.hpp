// Files of published measurements whose cases are the rows of tables. For load_published(); others use
// models/fit/published.hpp.
#pragma once

#include "models/base/reader.hpp"
#include "models/fit/published_file.hpp"
#include "models/read/read_kernel_tables.hpp"

namespace accosim {

void read_collective_tables(ObjectReader& top, PublishedFile& file);
void read_kernel_tables(ObjectReader& top, PublishedFile& file);

}  // namespace accosim

// How many processes a verb may use at a time.
#pragma once

#include "sim/app/verb.hpp"

namespace accosim {

/// -j, --jobs.
Option jobs_option();

}  // namespace accosim

// What a program that was run tells its user.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/holds.hpp"
#include "tests/support/program.hpp"

namespace accosim {

/// It ended with that code, and what it said on standard error holds that.
inline void expect_told(const ProgramRun& run, int code, const std::string& part) {
  EXPECT_EQ(run.exit_code, code) << part << "\n" << run.err;
  EXPECT_TRUE(holds(run.err, part));
}

}  // namespace accosim

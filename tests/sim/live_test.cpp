// Is it told when accocal says that all went well and has left nothing to read?
#include "sim/evidence/live.hpp"

#include <gtest/gtest.h>

#include <string>

#include "models/base/errors.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

TEST(Live, WhatAccocalDidNotWriteIsTold) {
  const Scratch scratch;
  LiveOptions options;
  options.accocal = "/bin/true";
  options.folder = scratch.path("");
  try {
    validate_live(options);
    FAIL() << "was taken for samples";
  } catch (const BadEnvironment& error) {
    const std::string path = options.folder + "/samples-2.json";
    EXPECT_EQ(error.what(), "\"" + path + "\" no such file; check the path");
  }
}

}  // namespace
}  // namespace accosim

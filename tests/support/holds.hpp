// Does a text hold a part? If not, the failure shows the text.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace accosim {

inline testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess() << "\"" << part << "\" is in\n" << text;
  return testing::AssertionFailure() << "\"" << part << "\" is not in\n" << text;
}

}  // namespace accosim

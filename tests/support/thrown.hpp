// What goes wrong, as a test looks at it.
#pragma once

#include <string>

namespace accosim {

/// What `body` throws, in its words; empty where it throws no Error.
template <typename Error, typename Body>
std::string thrown_by(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace accosim

#include "reports/op_class_name.hpp"

namespace accosim {

const char* name_of(OpClass cls) {
  switch (cls) {
    case OpClass::kForward: return "forward";
    case OpClass::kBackward: return "backward";
    case OpClass::kOptimizer: return "optimizer";
    case OpClass::kCopy: return "copy";
    case OpClass::kCommunication: return "communication";
    case OpClass::kHost: return "host";
    case OpClass::kPause: return "pause";
    case OpClass::kCounted: return "counted";
    case OpClass::kMark: return "mark";
  }
  return "other";
}

}  // namespace accosim

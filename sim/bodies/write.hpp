// Puts a body into a program, with what an update rule hooks into it: before a parameter is needed, after a gradient is
// there. Without hooks a pass is one op; hooks cut it where they stand.
#pragma once

#include <functional>
#include <memory>

#include "models/base/units.hpp"
#include "sim/bodies/body.hpp"
#include "sim/graph/builder.hpp"

namespace accosim {

/// What a rule writes where a pass needs a tensor. `stands`: whether it stands there; the pass is then cut.
struct Before {
  std::function<bool(Pass, int set, int tensor)> stands;
  std::function<OpRef(ProgramBuilder&, Pass, int set, int tensor)> write;  ///< the op that the pass then waits for
};

/// What a rule writes when a gradient is there, after the op that the pass is cut into. The last one of a pass ends it.
struct After {
  std::function<bool(int set, int tensor)> stands;
  std::function<void(ProgramBuilder&, int set, int tensor, OpRef)> write;
};

/// All may be empty.
struct Hooks {
  Before first{};                                 ///< the first forward pass that needs the tensor
  Before before{};                                ///< every pass
  After after{};                                  ///< every pass that gives it
  After last{};                                   ///< the last one
  std::function<OpRef(ProgramBuilder&)> begin{};  ///< of every round: what its first pass waits for
  std::function<void(ProgramBuilder&)> end{};
  bool in_pieces = false;  ///< every piece is an op of its own, cut nowhere
};

/// How many micro-batches.
struct Often {
  int least = 1;
  OpRef until{-1, 0};    ///< as many more as begin before this op has ended; none: exactly `least`
  int every = 1;         ///< micro-batches between two looks at that
  Seconds look{};        ///< that a look makes the GPU wait, the host having waited for it
  bool written = false;  ///< one after the other, not as loops
};

/// At least one round, where there is anything to be done: a flight has no fewer micro-batches than that. Rounds that
/// `first` and `last` touch are written apart, the others are a loop: of the body's own lanes, or of all
/// lanes of the program where the rule hooks into every round. A body without a round is a flight of what it opens,
/// and throws std::logic_error where more is asked. The lanes of a body run on from round to round, each behind what it
/// waits for.
void write(ProgramBuilder& program, const Body& body, const Often& often, const Hooks& hooks = {});

/// A flight that is not drained between two updates or rounds of one: rules write what they do between its rounds. The
/// pipeline is filled once, so each stage is as many forward passes ahead as there are stages behind it.
class OpenFlight {
 public:
  /// Writes what fills the pipeline. Throws std::logic_error for a body without rounds.
  OpenFlight(ProgramBuilder& program, const Body& body);
  ~OpenFlight();
  OpenFlight(const OpenFlight&) = delete;
  OpenFlight& operator=(const OpenFlight&) = delete;

  /// `often.least` rounds of the body, or more until the op; none for 0.
  void go_on(const Often& often);
  /// Drains the pipeline.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Its pieces between the last gradient and the step, after `ready`; what the step waits for.
OpRef write_finish(ProgramBuilder& program, const Body& body, OpRef ready);

}  // namespace accosim

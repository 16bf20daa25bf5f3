// Runs a simulation in a child process and brings back what it found: SimGrid allows one simulation a process, and a
// crash in it must not take the caller's other results along.
#pragma once

#include <functional>

#include "models/spec/trace.hpp"
#include "sim/player/player.hpp"

namespace accosim {

/// Calls `body` in a forked child; every span that it reports reaches `sink` here, in the same order. An exception of
/// the body is thrown again here with its text, a std::logic_error or std::range_error as such and any other as
/// a std::runtime_error; a child that dies is a std::runtime_error that says how.
///
/// Where `done` is given and says so after a span, the child is stopped and what it would have returned is not known.
Played play_in_child(const SpanSink& sink, const std::function<Played(const SpanSink&)>& body,
                     const std::function<bool()>& done = {});

}  // namespace accosim

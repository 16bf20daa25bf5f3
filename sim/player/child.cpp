#include "sim/player/child.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/processes/child.hpp"

namespace accosim {
namespace {

constexpr std::size_t kAtOnce = 256;  ///< spans in a record

enum Tag : std::uint8_t { kSpans, kPlayed, kLogicError, kRangeError, kOtherError };

void play(Parent& parent, const SpanSink& sink, const std::function<Played(const SpanSink&)>& body) {
  try {
    std::vector<Span> waiting;
    const auto send = [&] {
      if (!waiting.empty())
        parent.send({kSpans, {reinterpret_cast<const char*>(waiting.data()), waiting.size() * sizeof(Span)}});
      waiting.clear();
    };
    SpanSink to_parent;
    if (sink)
      to_parent = [&](const Span& span) {
        waiting.push_back(span);
        if (waiting.size() == kAtOnce) send();
      };
    const Played played = body(to_parent);
    send();
    parent.send({kPlayed, as_bytes(played)});
  } catch (const std::exception& error) {
    const bool logic = dynamic_cast<const std::logic_error*>(&error) != nullptr;
    const bool range = dynamic_cast<const std::range_error*>(&error) != nullptr;
    parent.send({logic ? kLogicError : range ? kRangeError : kOtherError, error.what()});
  }
}

}  // namespace

Played play_in_child(const SpanSink& sink, const std::function<Played(const SpanSink&)>& body,
                     const std::function<bool()>& done) {
  Child child([&](Parent& parent) { play(parent, sink, body); });
  do {
    while (const std::optional<Record> record = child.next()) {
      switch (record->tag) {
        case kSpans:
          for (std::string_view left = record->bytes; !left.empty(); left.remove_prefix(sizeof(Span))) {
            sink(from_bytes<Span>(left));
            if (done && done()) return {};
          }
          break;
        case kPlayed: return from_bytes<Played>(record->bytes);
        case kLogicError: throw std::logic_error(std::string(record->bytes));
        case kRangeError: throw std::range_error(std::string(record->bytes));
        default: throw std::runtime_error(std::string(record->bytes));
      }
    }
  } while (child.take(true));
  const int status = child.wait();
  throw std::runtime_error(WIFSIGNALED(status)
                               ? fmt::format("the simulation's process was ended by signal {}", WTERMSIG(status))
                               : std::string("the simulation's process ended without a result"));
}

}  // namespace accosim

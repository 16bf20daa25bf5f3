// Does a forked process bring back what it found, say how it ended, and never outlive who asked?
#include "sim/player/child.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/processes/child.hpp"

namespace accosim {
namespace {

bool is_childless() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

/// What play_in_child() throws where its body is `body`.
template <class Error>
std::string error_of(const std::function<Played(const SpanSink&)>& body) {
  try {
    play_in_child([](const Span&) {}, body);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Child, SpansComeInTheirOrderAndThenWhatWasPlayed) {
  constexpr int kSpans = 100'000;  // more than a socket holds
  std::vector<int> ops;
  const Played played = play_in_child([&](const Span& span) { ops.push_back(span.op); },
                                      [](const SpanSink& sink) {
                                        for (int i = 0; i < kSpans; ++i) {
                                          Span span;
                                          span.op = i;
                                          sink(span);
                                        }
                                        Played result;
                                        result.end = Seconds{7};
                                        return result;
                                      });
  EXPECT_EQ(played.end, Seconds{7});
  ASSERT_EQ(ops.size(), static_cast<std::size_t>(kSpans));
  for (int i = 0; i < kSpans; ++i) ASSERT_EQ(ops[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(is_childless());
}

TEST(Child, AnErrorIsThrownHereAsWhatItWas) {
  EXPECT_EQ(error_of<std::logic_error>([](const SpanSink&) -> Played { throw std::logic_error("cannot be"); }),
            "cannot be");
  EXPECT_EQ(error_of<std::range_error>([](const SpanSink&) -> Played { throw std::range_error("too long"); }),
            "too long");
  EXPECT_EQ(error_of<std::runtime_error>([](const SpanSink&) -> Played { throw std::bad_alloc(); }),
            std::bad_alloc().what());
}

TEST(Child, OneThatDiesSaysHow) {
  const auto dies = [](const SpanSink&) -> Played {
    std::raise(SIGKILL);
    return {};
  };
  EXPECT_EQ(error_of<std::runtime_error>(dies), "the simulation's process was ended by signal 9");
  EXPECT_EQ(error_of<std::runtime_error>([](const SpanSink&) -> Played { _exit(0); }),
            "the simulation's process ended without a result");
  EXPECT_TRUE(is_childless());
}

TEST(Child, WhatTheSinkThrowsEndsIt) {
  const auto throws = [](const Span&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(play_in_child(throws,
                             [](const SpanSink& sink) -> Played {
                               for (;;) sink(Span{});
                             }),
               std::runtime_error);
  EXPECT_TRUE(is_childless());
}

TEST(Child, RecordsAreWholeHoweverTheyArrive) {
  Child child([](Parent& parent) {
    for (std::uint8_t tag = 1; tag < 4; ++tag) parent.send({tag, std::string(70'000U * (tag - 1U), 'x')});
    std::size_t order = 0;
    while (parent.read(&order, sizeof order)) {
      parent.send({9, as_bytes(order + 1)});
      parent.flush();
    }
  });
  ASSERT_TRUE(child.write(as_bytes(std::size_t{41})));
  std::vector<std::size_t> sizes;
  std::size_t answer = 0;
  while (answer == 0 && child.take(true))
    while (const std::optional<Record> record = child.next())
      if (record->tag == 9)
        answer = from_bytes<std::size_t>(record->bytes);
      else
        sizes.push_back(record->bytes.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 70'000, 140'000}));
  EXPECT_EQ(answer, 42U);
  EXPECT_TRUE(child.take(false)) << "nothing is here, more may come";
}

}  // namespace
}  // namespace accosim

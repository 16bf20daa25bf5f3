// Does work in children come back whole, in order, with its errors?
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/evaluation/parallel.hpp"
#include "sim/player/child.hpp"
#include "sim/processes/child.hpp"
#include "sim/processes/workers.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

TEST(Parallel, ResultsComeInTheOrderOfTheWorkWhateverTheJobs) {
  for (const int jobs : {1, 2, 3, 16}) {
    const auto results =
        in_children(jobs, 10, [](std::size_t i) { return std::string(i, static_cast<char>('a' + i)); });
    ASSERT_EQ(results.size(), 10u);
    for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], std::string(i, static_cast<char>('a' + i)));
  }
  EXPECT_TRUE(in_children(4, 0, [](std::size_t) { return std::string(); }).empty());
}

TEST(Parallel, TheFirstErrorIsThrownHere) {
  const auto work = [](std::size_t i) -> std::string {
    if (i == 5 || i == 2) throw std::runtime_error("part " + std::to_string(i));
    return "";
  };
  EXPECT_EQ(thrown_by<std::logic_error>([&] { in_children(4, 8, work); }), "part 2");
}

TEST(Parallel, AChildThatDiesIsAnError) {
  EXPECT_THROW(in_children(2, 4,
                           [](std::size_t i) {
                             if (i == 3) std::raise(SIGKILL);
                             return std::string("done");
                           }),
               std::runtime_error);
}

// Does a forked process bring back what it found, say how it ended, and never outlive who asked?

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
                                          sink(Span{.op = i});
                                        }
                                        return Played{.end = Seconds{7}};
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
    while (parent.read(&order, sizeof order)) parent.send({9, as_bytes(order + 1)});
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

// Does a piece of work that ends badly cost itself and nothing else?

std::map<std::size_t, Outcome> all_of(const WorkerOptions& options, std::size_t count,
                                      const std::function<std::string(std::size_t)>& work) {
  std::size_t next = 0;
  std::map<std::size_t, Outcome> outcomes;
  in_workers(
      options, [&] { return next < count ? std::optional(next++) : std::nullopt; }, work,
      [&](std::size_t index, Outcome outcome) {
        EXPECT_TRUE(outcomes.emplace(index, std::move(outcome)).second) << index << " came twice";
      },
      {});
  return outcomes;
}

TEST(Workers, EveryPieceComesOnce) {
  for (const int jobs : {1, 2, 7}) {
    const auto all = all_of({.jobs = jobs}, 50, [](std::size_t i) { return std::string(i, 'x'); });
    ASSERT_EQ(all.size(), 50U);
    for (const auto& [i, outcome] : all) {
      EXPECT_EQ(outcome.text.size(), i);
      EXPECT_EQ(outcome.failure, "");
    }
  }
  EXPECT_TRUE(all_of({.jobs = 3}, 0, [](std::size_t) { return std::string(); }).empty());
}

TEST(Workers, APieceMayBeLargerThanAPipeHolds) {
  const auto all =
      all_of({.jobs = 2}, 3, [](std::size_t i) { return std::string(3'000'000, static_cast<char>('a' + i)); });
  for (const auto& [i, outcome] : all) EXPECT_EQ(outcome.text, std::string(3'000'000, static_cast<char>('a' + i)));
}

TEST(Workers, OneThatStopsInTheMiddleOfItsAnswerHoldsNobodyUp) {
  // 256 MB take much longer through a pipe than the 5 ms after which the process stops.
  const auto work = [](std::size_t i) {
    std::string text(i == 0 ? 256'000'000 : 1, 'x');
    if (i == 0) {
      std::signal(SIGALRM, [](int) { std::raise(SIGSTOP); });
      ualarm(5000, 0);
    }
    return text;
  };
  const auto all = all_of({.jobs = 2, .timeout = Seconds{0.5}}, 4, work);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all.at(0).failure, "took longer than 0.5 s");
  for (const std::size_t i : {1U, 2U, 3U}) EXPECT_EQ(all.at(i).text, "x");
}

TEST(Workers, WhatEndsBadlyCostsItsOwnPiece) {
  const auto work = [](std::size_t i) -> std::string {
    switch (i % 6) {
      case 1: throw std::runtime_error("no such thing");
      case 2: throw std::bad_alloc();
      case 3: std::raise(SIGKILL); break;
      case 4: _exit(9);
      case 5:
        std::signal(SIGTERM, SIG_DFL);
        std::raise(SIGTERM);
        break;
      default: break;
    }
    return "good";
  };
  const auto all = all_of({.jobs = 2}, 30, work);
  ASSERT_EQ(all.size(), 30U);
  const char* const failures[] = {"",
                                  "no such thing",
                                  "ran out of memory",
                                  "its process was killed, as it is where memory runs out",
                                  "its process ended with code 9",
                                  "its process died of signal 15 (Terminated)"};
  for (const auto& [i, outcome] : all) {
    EXPECT_EQ(outcome.failure, failures[i % 6]);
    EXPECT_EQ(outcome.text, i % 6 == 0 ? "good" : "");
  }
}

TEST(Workers, APieceThatHangsIsEndedAndOthersGoOn) {
  const auto all = all_of({.jobs = 2, .timeout = Seconds{0.3}}, 8, [](std::size_t i) {
    if (i == 3)
      for (;;) pause();
    return std::string("good");
  });
  ASSERT_EQ(all.size(), 8U);
  for (const auto& [i, outcome] : all) EXPECT_EQ(outcome.failure, i == 3 ? "took longer than 0.3 s" : "");
}

TEST(Workers, WhatThePieceForkedEndsWithIt) {
  const auto all = all_of({.jobs = 1, .timeout = Seconds{0.3}}, 1, [](std::size_t) {
    if (fork() == 0)
      for (;;) pause();
    for (;;) pause();
    return std::string();
  });
  EXPECT_EQ(all.at(0).failure, "took longer than 0.3 s");
}

}  // namespace
}  // namespace accosim

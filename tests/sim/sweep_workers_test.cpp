// Does a piece of work that ends badly cost itself and nothing else?
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <new>
#include <stdexcept>

#include "sim/processes/workers.hpp"

namespace accosim {
namespace {

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

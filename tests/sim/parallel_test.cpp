// Does work in children come back whole, in order, with its errors?
#include "sim/evaluation/parallel.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>

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

TEST(Parallel, ResultsLargerThanAPipeArrive) {
  const auto results = in_children(3, 7, [](std::size_t i) { return std::string(300'000 + i, 'x'); });
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].size(), 300'000 + i);
}

TEST(Parallel, TheFirstErrorIsThrownHere) {
  const auto work = [](std::size_t i) -> std::string {
    if (i == 5 || i == 2) throw std::runtime_error("part " + std::to_string(i));
    return "";
  };
  try {
    in_children(4, 8, work);
    FAIL() << "no error";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "part 2");
  }
}

TEST(Parallel, AChildThatDiesIsAnError) {
  EXPECT_THROW(in_children(2, 4,
                           [](std::size_t i) {
                             if (i == 3) std::raise(SIGKILL);
                             return std::string("done");
                           }),
               std::runtime_error);
}

}  // namespace
}  // namespace accosim

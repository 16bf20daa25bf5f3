// Do fits that were saved, because they saw nothing of what is left out, give what fits of all the rest would?
#include "sim/evidence/refit.hpp"

#include <gtest/gtest.h>

#include "build_info/project.hpp"
#include "models/collectives/collective_query.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {
namespace {

/// The shipped cases of a few small sources: kernels on A100 and H100, collectives on several kinds of links.
Published small_cases() {
  Published all = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  Published few;
  for (const PublishedSource& source : all.sources)
    for (const char* key : {"azure_kernels", "eleuther_cookbook", "aws_p3dn_2019", "azure_nd_h100", "coreweave_a100_32",
                            "ml_engineering_a100"})
      if (source.key == key) few.sources.push_back(source);
  for (const PublishedCase& one : all.cases)
    for (const PublishedSource& source : few.sources)
      if (one.source == source.key) few.cases.push_back(one);
  return few;
}

double time_with(const PublishedCase& one, const Refit& refit) {
  if (one.asked == Asked::kKernelTime)
    return kernel_time(one.kernel.kernel, refit.device(*one.kernel.device), one.kernel.dtype).value;
  Cluster cluster = *one.collective.cluster;
  for (NodeGroup& group : cluster.nodes) group = refit.links(group);
  CollectiveQuery query = one.collective;
  query.cluster = std::make_shared<const Cluster>(std::move(cluster));
  return collective_time(query).value;
}

/// Whether no case of `all` was measured inside a node on the links that are inside the case's nodes.
bool is_of_unmeasured_board(const PublishedCase& one, const Published& all) {
  if (one.asked != Asked::kCollectiveTime) return false;
  const auto board = [](const PublishedCase& each) {
    const IntraLink& link = each.collective.cluster->nodes.front().intra;
    return std::pair(link.kind, link.generation);
  };
  return std::none_of(all.cases.begin(), all.cases.end(), [&](const PublishedCase& other) {
    return other.asked == Asked::kCollectiveTime && other.collective.nodes == 1 && board(other) == board(one);
  });
}

TEST(Refits, WhatASourceHadNoPartInIsFittedOnceAndTheSame) {
  // By hand: without a source, all fits are those of a world in which its cases were never read.
  const Published published = small_cases();
  Refits refits(published);
  refits.fit_all({.kernels = true, .links = true}, {});
  for (const PublishedSource& left_out : published.sources) {
    const LeftOut out{left_out.publisher, ""};
    ASSERT_GT(refits.samples_of(out), 0) << left_out.key;
    Published rest = published;
    std::erase_if(rest.cases, [&](const PublishedCase& one) {
      for (const PublishedSource& source : published.sources)
        if (source.key == one.source) return source.publisher == left_out.publisher;
      return false;
    });
    Refits of_rest(rest);
    of_rest.fit_all({.kernels = true, .links = true}, {});
    const Refit saved = refits.without(out), fresh = of_rest.without({"nobody", "nothing"});
    // Of what stays: a kind of links that only this source measured takes a relative's, of which `rest` knows nothing.
    for (const PublishedCase& one : rest.cases) {
      if (one.asked == Asked::kNothing || is_of_unmeasured_board(one, rest)) continue;
      EXPECT_EQ(time_with(one, saved), time_with(one, fresh)) << one.id << " without " << left_out.key;
    }
  }
}

TEST(Refits, WhatNoFitSawIsNotSeen) {
  Published published = small_cases();
  Refits refits(published);
  EXPECT_EQ(refits.samples_of({"nobody", ""}), 0);
  EXPECT_GT(refits.samples_of({"", "H100-SXM"}), 0);
  for (PublishedCase& one : published.cases) one.left_out = "a rule";
  EXPECT_EQ(Refits(published).samples_of({"", "H100-SXM"}), 0);
}

}  // namespace
}  // namespace accosim

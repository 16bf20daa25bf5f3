// What the readers of one file of published measurements share.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "models/base/reader.hpp"
#include "models/fit/published_case.hpp"
#include "models/read/references.hpp"

namespace accosim {

struct PublishedFile {
  PublishedSource source;
  std::string directory;              ///< of the file
  std::string shown;                  ///< the same as it is printed
  std::vector<std::string> inferred;  ///< for all its cases
  std::string memory_explanation;     ///< for those without their own
  Diagnostics& diagnostics;
  References& references;
  std::set<std::string>& ids;  ///< taken so far, in all files
  std::vector<PublishedCase>& cases;
  bool measured_machine = false;  ///< whose steps go by its own kernels and links
};

/// The keys that every case has: id, trust, configuration, inferred, explanation, memory_explanation, left_out,
/// not_expressible, published.
PublishedCase read_case(ObjectReader& reader, PublishedFile& file, const char* group);
inline constexpr std::size_t kLongText = 2000;
std::vector<std::string> read_texts(ObjectReader& reader, const char* key);
/// Adds the case unless its id is taken, which is an error at `origin`.
void add_case(PublishedFile& file, PublishedCase one, const JsonOrigin& origin, const std::string& pointer);
/// At the reader's object.
void add_case(PublishedFile& file, PublishedCase one, ObjectReader& reader);

/// Elements of a list; an error when `key` is something else. Absent: none.
std::vector<JsonValue*> list_of(ObjectReader& reader, const char* key);
/// Each of them, which is told where it is no object; `read` finishes it. Absent: none.
void read_each(ObjectReader& top, const char* key, const std::function<void(ObjectReader&)>& read);

/// Of the files whose cases are the rows of tables (published_tables.cpp).
void read_collective_tables(ObjectReader& top, PublishedFile& file);
void read_kernel_tables(ObjectReader& top, PublishedFile& file);

}  // namespace accosim

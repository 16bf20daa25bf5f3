// What all parsers share: what counts as a refusal, and the scratch folder.
#include "tests/fuzz/parsers.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>

#include "models/base/errors.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/shipped.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

/// As scenarios/ lies in the tree, so that relative names lead to the shipped files.
void link_shipped_files(const Scratch& scratch) {
  const fs::path shipped = fs::path(data_dir()) / "scenarios";
  fs::create_directories(scratch.path("paper"));
  fs::create_directories(scratch.path("validation"));
  for (const char* folder : {"clusters", "llms", "validation/tables"})
    fs::create_directory_symlink(shipped / folder, scratch.path(folder));
  for (const fs::directory_entry& entry : fs::directory_iterator(shipped / "paper"))
    fs::create_symlink(entry.path(), scratch.path("paper/" + entry.path().filename().string()));
}

const Scratch& scratch_folder() {
  static const Scratch kScratch;
  static const bool kLinked = (link_shipped_files(kScratch), true);
  static_cast<void>(kLinked);
  return kScratch;
}

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "FOUND: %s\n", printable(what, 400).c_str());
  std::abort();
}

}  // namespace

void require(bool holds, const std::string& what) {
  if (!holds) give_up(what);
}

void require_printable(const std::string& text, const std::string& what) {
  const std::string wrong = not_for_terminals(text);
  require(wrong.empty(), what + " holds " + wrong + ": " + text);
}

std::string scratch_file(const std::string& name, const std::string& text) {
  return scratch_folder().write(name, text);
}

bool is_one_in(int n, const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return (hash >> 32) % static_cast<std::uint64_t>(n) == 0;
}

bool try_parser(const Parser& parser, const std::string& text) {
  try {
    parser.read(text);
    return true;
  } catch (const ScenarioError& error) {
    require(!error.errors.empty(), "a refusal without a word");
    for (const std::string& line : error.errors) {
      require(!line.empty(), "a refusal with an empty line");
      require_printable(line, "a refusal");
    }
  } catch (const BadInput& error) {  // which accocal makes printable where it prints it
    require(*error.what() != '\0', "a refusal without a word");
  } catch (const std::range_error& error) {  // told by the program as a scenario out of range
    require_printable(error.what(), "a refusal");
  } catch (const std::logic_error& error) {
    give_up(std::string("a bug of ours: ") + error.what());
  } catch (const std::exception& error) {
    give_up(std::string("an exception that is no refusal: ") + error.what());
  }
  return false;
}

}  // namespace accosim

// By device and inode, or by folder and name where there is no file yet.
#include "models/base/outputs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "models/base/errors.hpp"
#include "models/base/input_file.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEnough = std::size_t{1} << 16;  // of a file to know it by

std::string without_spaces(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

/// Empty, or written by the same verb.
bool is_ours(const std::string& path, const OutputKind& kind) {
  const std::string head = beginning_of(path, kEnough);
  if (head.empty()) return true;
  const std::string text = without_spaces(head);
  return text.rfind(without_spaces(kind.begins), 0) == 0 && text.find(without_spaces(kind.holds)) != std::string::npos;
}

/// Two names of one file.
bool is_same_file(const std::string& a, const std::string& b) {
  struct stat at_a {};
  struct stat at_b {};
  const bool a_exists = stat(a.c_str(), &at_a) == 0, b_exists = stat(b.c_str(), &at_b) == 0;
  if (a_exists != b_exists) return false;
  if (a_exists) return at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino;
  std::error_code error;
  const auto whole = [&error](const std::string& path) { return fs::weakly_canonical(behind_links(path), error); };
  return whole(a) == whole(b);
}

bool is_of(const std::string& path, fs::file_type type) {
  std::error_code error;
  return fs::status(path, error).type() == type;
}

/// By its name: what it is instead of `kind`, empty when it may be.
std::string other_extension(const std::string& path, const OutputKind& kind) {
  const std::string extension = lower(fs::path(path).extension().string());
  if (extension == kind.extension) return "";
  constexpr std::array kOthers = {".json", ".csv", ".svg", ".png", ".jpg", ".pdf", ".html", ".htm", ".md"};
  return std::ranges::find(kOthers, extension) == kOthers.end() ? "" : extension;
}

}  // namespace

void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs, bool force) {
  std::vector<std::string> wrong;
  std::vector<const Output*> before;
  for (const Output& output : outputs) {
    if (output.path.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      wrong.push_back(fmt::format("{} {}: {}", output.option, printable(output.path, 300), why));
    };
    // Devices that take anything, such as /dev/null, may take more than one.
    const bool device = is_of(output.path, fs::file_type::character);
    const bool regular = is_of(output.path, fs::file_type::regular);
    const auto same = [&](const std::string& other) { return !device && is_same_file(output.path, other); };
    const auto earlier = std::ranges::find_if(before, [&](const Output* other) { return same(other->path); });
    const std::string extension = other_extension(output.path, output.kind);
    const auto input =
        std::ranges::find_if(inputs, [&](const std::string& path) { return !path.empty() && same(path); });
    if (output.path == "-") {
      refuse("names no file; write /dev/stdout to have it printed");
    } else if (earlier != before.end()) {
      refuse(fmt::format("is the file of {} too; name another for one", (*earlier)->option));
    } else if (input != inputs.end()) {
      refuse("is what is read; name another file");
    } else if (!extension.empty() && !device) {
      refuse(fmt::format("{}, and no {}; name it {}", output.kind.what, extension.substr(1),
                         printable(fs::path(output.path).replace_extension(output.kind.extension).string(), 300)));
    } else if (regular && !output.in_place && !force && !is_ours(output.path, output.kind)) {
      refuse(
          "a file that this verb did not write is there, and is left as it is; name another, or add --force to "
          "replace it");
    } else {
      check_writable(output.path);
    }
    before.push_back(&output);
  }
  if (wrong.empty()) return;
  std::string lines;
  for (const std::string& line : wrong) lines += (lines.empty() ? "" : "\n") + line;
  throw BadInput(lines);
}

void tell_written(const std::string& path, const std::string& what, std::string_view program) {
  if (!path.empty() && !is_written_directly(path))
    tell("", fmt::format("{}: wrote {} ({})", program, printable(path, 300), what));
}

std::string so_many(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

OutputKind trace_kind() { return {"a trace is JSON for Perfetto", ".json", R"({"displayTimeUnit":)", ""}; }

OutputKind document_kind(const std::string& schema) {
  return {"it is a JSON document", ".json", fmt::format(R"({{"schema":"{}")", schema), ""};
}

OutputKind table_kind(const std::string& heading) { return {"it is a table, CSV", ".csv", heading, ""}; }

}  // namespace accosim

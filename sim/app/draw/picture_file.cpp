#include "sim/app/draw/picture_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "models/base/descriptor.hpp"
#include "models/base/errors.hpp"
#include "models/base/outputs.hpp"
#include "models/base/system_words.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConverter = "rsvg-convert";

std::string extension_of(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

/// A pipe, a device or the standard output, which have no extension and take SVG.
bool is_stream(const std::string& path) {
  struct stat target {};
  struct stat output {};
  if (stat(path.c_str(), &target) != 0 || S_ISDIR(target.st_mode)) return false;
  const bool is_output =
      fstat(STDOUT_FILENO, &output) == 0 && target.st_dev == output.st_dev && target.st_ino == output.st_ino;
  return is_output || !S_ISREG(target.st_mode);
}

bool is_table(const std::string& path) { return extension_of(path) == ".csv"; }

bool is_converted(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".png" || extension == ".pdf";
}

bool is_installed(const char* program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  return false;
}

[[noreturn]] void become_converter(const std::string& format, const std::string& zoom, int input, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  if (zoom.empty())
    execlp(kConverter, kConverter, "--format", format.c_str(), static_cast<char*>(nullptr));
  else
    execlp(kConverter, kConverter, "--format", format.c_str(), "--zoom", zoom.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

BadEnvironment failed(const std::string& why) { return BadEnvironment(fmt::format("{}: {}", kConverter, why)); }

/// Its standard error is ours. What it writes goes into a file in memory, as large as it is.
std::string converted(const std::string& svg, const std::string& format, double dots) {
  const std::string zoom = format == "png" && dots != 1 ? shortest(dots) : "";
  const Descriptor input(memfd_create("svg", MFD_CLOEXEC)), output(memfd_create("picture", MFD_CLOEXEC));
  if (!input || !output || write(input.get(), svg.data(), svg.size()) != static_cast<ssize_t>(svg.size()) ||
      lseek(input.get(), 0, SEEK_SET) != 0)
    throw failed(system_words(errno));
  const pid_t child = fork();
  if (child < 0) throw failed(system_words(errno));
  if (child == 0) become_converter(format, zoom, input.get(), output.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw failed("failed; write the picture as .svg instead");
  std::string picture(static_cast<std::size_t>(std::max<off_t>(0, lseek(output.get(), 0, SEEK_END))), '\0');
  if (pread(output.get(), picture.data(), picture.size(), 0) != static_cast<ssize_t>(picture.size()))
    throw failed(system_words(errno));
  return picture;
}

}  // namespace

Option theme_option() {
  return {.names = "--theme",
          .help = "Colours: light, dark, or print (greys and patterns)",
          .value = std::string("light"),
          .choices = {"light", "dark", "print"},
          .default_shown = true};
}

Theme theme_of(const Arguments& arguments) {
  const std::string& theme = arguments.text("--theme");
  return theme == "light" ? Theme::kLight : theme == "dark" ? Theme::kDark : Theme::kPrint;
}

void check_picture(const std::string& path, const std::string& csv, const std::vector<std::string>& inputs,
                   bool force) {
  const std::string extension = extension_of(path);
  const fs::path named_right = fs::path(path).replace_extension(".svg");
  if (!is_stream(path) && extension != ".svg" && !is_table(path) && !is_converted(path))
    throw BadInput(fmt::format("--output {}: a picture is .svg, .png or .pdf; name it {}, or .csv for its numbers",
                               printable(path, 300), printable(named_right.string(), 300)));
  // What rsvg-convert writes does not say who asked for it, so it is replaced with --force only.
  const OutputKind picture{"it is a picture", extension, "<svg", kDrawnByUs};
  const OutputKind table = table_kind("schedule");  // as all of them begin
  check_outputs({{"--output", path, is_table(path) ? table : picture}, {"--csv", csv, table}}, inputs, force);
  if (is_converted(path) && !is_installed(kConverter))
    throw BadEnvironment(
        fmt::format("--output {}: {} makes {} files, and is not installed; install the package librsvg2-bin, or name "
                    "it {}, which needs nothing",
                    printable(path, 300), kConverter, extension.substr(1), printable(named_right.string(), 300)));
}

void write_picture(const std::string& path, const std::string& csv, const Drawing& figure, const std::string& what) {
  if (is_table(path))
    write_whole(path, figure.csv());
  else if (is_converted(path))
    write_whole(path, converted(figure.svg(), extension_of(path).substr(1), figure.dots));
  else
    write_whole(path, figure.svg());
  tell_written(path, what);
  if (csv.empty()) return;
  write_whole(csv, figure.csv());
  tell_written(csv, "table of the " + what);
}

}  // namespace accosim

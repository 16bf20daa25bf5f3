# The include table, read from the #include lines: models <- sim, models <- reports, and the homes of the third parties.
# A violation is printed as `file:line: what is wrong; what would be right`.

function wrong(what) { print FILENAME ":" FNR ": " what }
function is_impl(path) { return path ~ /\.(cpp|cu)$/ }

# Which of our own headers a file may see.
function own_header_allowed(from, header, to) {
  if (from == "tests") return 1
  if (header ~ /^sim\/app\//) return FILENAME ~ /^sim\/app\//  # the program, which nothing builds on
  if (to == from) return 1
  if (to == "build_info") return is_impl(FILENAME)  # generated: models/build_info.cmake
  if (FILENAME ~ /^sim\/app\//) return to == "models" || to == "reports"
  if (from == "sim") return to == "models"
  if (from == "reports") return header ~ /^models\/(units|json|spec|trace|text|memory|machine_samples|measured_run|fit_[a-z]+|schedule_traits)\.hpp$/ || header ~ /^sim\/(metrics|graph|explain|validation|live|measured_timeline)\.hpp$/
  if (from == "calibration") return header ~ /^models\/(units|json|spec|trace|quantity|descriptor|errors|outputs|standard_streams|text|text_file|whole_file|step_kernel|accocal_step)\.hpp$/
  return 0
}

# Where a third party's header may be; empty when here, else where to put it.
function home_elsewhere(from, header) {
  if (header ~ /^(simgrid|xbt)\//) return FILENAME == "sim/simgrid_network.cpp" ? "" : "sim/simgrid_network.cpp is SimGrid's only home"
  if (header ~ /^CLI\//) return FILENAME ~ /^(sim\/app\/command_line|calibration\/main)\.cpp$/ ? "" : "CLI11 is at home in sim/app/command_line.cpp and in calibration/main.cpp"
  if (header ~ /^nlohmann\//) return FILENAME ~ /^(models\/json|tests\/json_test)\.cpp$/ ? "" : "JSON is read and written with models/json.hpp; nlohmann is at home in models/json.cpp, and in the test that holds ours against it"
  if (header ~ /^Eigen\//) return (is_impl(FILENAME) && from ~ /^(models|calibration)$/) || FILENAME == "calibration/gpt_passes.hpp" ? "" : "Eigen stays in .cpp files of models and calibration, and in calibration/gpt_passes.hpp"
  if (header ~ /^(gtest|gmock)\//) return from == "tests" ? "" : "GoogleTest stays in tests"
  if (header ~ /^(cuda|nccl|cublas|nvtx|nvml|cupti)/) return from == "calibration" ? "" : "CUDA and NCCL stay in calibration"
  if (header ~ /^fmt\//) return ""
  if (header ~ /\// && header !~ /^(sys|netinet|arpa|linux|sanitizer)\//) return from == "calibration" ? "" : "it has no home in the include table (tests/lint/includes.awk)"
  return ""
}

FNR == 1 { from = FILENAME; if (!sub(/\/.*/, "", from)) from = "." }

/^[ \t]*#[ \t]*include[ \t]*"/ {
  header = $0
  sub(/^[^"]*"/, "", header)
  sub(/".*/, "", header)
  to = header
  sub(/\/.*/, "", to)
  if (header !~ /\// || to !~ /^(models|sim|reports|calibration|tests|build_info)$/)
    wrong("\"" header "\" is not written from the root; write \"" from "/...\", and <...> for what is not ours")
  else if (!own_header_allowed(from, header, to))
    wrong(from " must not see \"" header "\"; models prices, sim plays, reports draws, one direction")
}

/^[ \t]*#[ \t]*include[ \t]*</ {
  header = $0
  sub(/^[^<]*</, "", header)
  sub(/>.*/, "", header)
  home = home_elsewhere(from, header)
  if (header ~ /^(models|sim|reports|calibration|tests)\//) wrong("<" header "> is ours; write it in quotes")
  else if (home != "") wrong("<" header "> is not at home here; " home)
}

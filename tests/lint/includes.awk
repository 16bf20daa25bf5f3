# The include table, read from the #include lines: which folder sees which, and the homes of the third parties. A folder
# sees itself, its row of `sees`, and nothing else of ours; what is below never includes what is above.
# A violation is printed as `file:line: what is wrong; what would be right`.

BEGIN {
  models = "models/base models/draw models/spec models/read models/launch models/collectives models/price models/fit models/recorded"
  sees["models/base"] = ""
  sees["models/draw"] = "models/base models/spec"
  sees["models/spec"] = "models/base"
  sees["models/read"] = "models/base models/spec"
  sees["models/launch"] = "models/base models/spec models/read"
  sees["models/collectives"] = "models/base models/spec"
  sees["models/price"] = "models/base models/spec models/collectives"
  sees["models/fit"] = "models/base models/spec models/read models/collectives models/price"
  sees["models/recorded"] = sees["models/fit"] " models/fit models/draw"

  sees["sim/graph"] = models
  sees["sim/network"] = models " sim/graph"
  sees["sim/bodies"] = models " sim/graph"
  sees["sim/schedules"] = models " sim/graph sim/bodies"
  sees["sim/processes"] = "models/base"
  sees["sim/player"] = models " sim/graph sim/network sim/processes"
  sees["sim/messages"] = models " sim/player"
  sees["sim/evaluation"] = sees["sim/player"] " sim/player sim/bodies sim/schedules"
  sees["sim/result"] = sees["sim/evaluation"] " sim/evaluation sim/messages"
  sees["sim/explain"] = sees["sim/result"] " sim/result"
  sees["sim/knobs"] = sees["sim/evaluation"] " sim/evaluation"
  sees["sim/what_if"] = sees["sim/explain"] " sim/explain sim/knobs"
  sees["sim/study"] = sees["sim/what_if"] " sim/what_if"
  sees["sim/sweep"] = sees["sim/study"] " sim/study"
  sees["sim/advise"] = sees["sim/sweep"] " sim/sweep"
  sees["sim/evidence"] = sees["sim/what_if"] " sim/what_if"
  sees["sim/bench"] = sees["sim/evidence"]
  sees["reports"] = "models/base models/draw models/spec models/fit models/recorded sim/graph sim/evaluation sim/result sim/explain sim/what_if sim/evidence"  # what results are made of
  sees["reports/plot"] = sees["reports"] " reports"
  sees["reports/explain"] = sees["reports"] " reports"
  sees["reports/graph"] = sees["reports"] " reports"
  sees["reports/trace"] = sees["reports"] " reports"
  sees["reports/evidence"] = sees["reports"] " reports"
  sees["reports/sweep"] = sees["reports"] " reports reports/plot sim/sweep"
  sees["reports/advise"] = sees["reports"] " reports sim/advise"
  sees["reports/launch"] = sees["reports"] " reports models/launch"
  sees["sim/app"] = sees["sim/evidence"] " sim/evidence sim/study sim/sweep reports reports/launch reports/evidence reports/explain reports/graph reports/plot reports/trace reports/sweep"
  sees["sim/app/shell"] = sees["sim/app"] " sim/app"
  sees["sim/app/sweep"] = sees["sim/app"] " sim/app"
  sees["sim/app/advise"] = sees["sim/app/sweep"] " sim/app/sweep sim/advise reports/advise"
  sees["sim/app/draw"] = sees["sim/app/sweep"] " sim/app/sweep"

  sees["calibration/base"] = "models/base models/spec"
  sees["calibration/ranks"] = sees["calibration/base"] " calibration/base"
  sees["calibration/train"] = sees["calibration/ranks"] " calibration/ranks"
  # It draws the document that it writes as the reader of that document does.
  sees["calibration/converge"] = sees["calibration/train"] " calibration/train models/fit models/recorded models/draw"
  sees["calibration/device"] = sees["calibration/train"] " calibration/train"
  sees["calibration/measure"] = sees["calibration/device"] " calibration/device"
  sees["calibration/cuda"] = sees["calibration/device"] " calibration/device"
  sees["calibration"] = sees["calibration/measure"] " calibration/measure calibration/converge models/draw"  # main.cpp
}

function wrong(what) { print FILENAME ":" FNR ": " what }
function is_impl(path) { return path ~ /\.(cpp|cu)$/ }
function folder_of(path) { return match(path, /\/[^\/]*$/) ? substr(path, 1, RSTART - 1) : "." }

function own_header_allowed(header, to) {
  if (from ~ /^tests($|\/)/) return 1
  if (to == from) return 1
  if (to == "build_info") return is_impl(FILENAME)  # generated: models/base/build_info.cmake
  return index(" " sees[from] " ", " " to " ") > 0
}

# Where a third party's header may be; empty when here, else where to put it.
function home_elsewhere(header) {
  if (header ~ /^(simgrid|xbt)\//) return FILENAME == "sim/network/simgrid_network.cpp" ? "" : "sim/network/simgrid_network.cpp is SimGrid's only home"
  if (header ~ /^CLI\//) return FILENAME ~ /^(sim\/app\/command_line|calibration\/(main|help))\.cpp$/ ? "" : "CLI11 is at home in sim/app/command_line.cpp and in calibration/main.cpp and help.cpp"
  if (header ~ /^nlohmann\//) return FILENAME ~ /^(models\/base\/json|tests\/base\/json_test)\.cpp$/ ? "" : "JSON is read and written with models/base/json.hpp; nlohmann is at home in models/base/json.cpp, and in the test that holds ours against it"
  if (header ~ /^Eigen\//) return (is_impl(FILENAME) && from ~ /^(models|calibration)/) || FILENAME == "calibration/train/gpt_passes.hpp" ? "" : "Eigen stays in .cpp files of models and calibration, and in calibration/train/gpt_passes.hpp"
  if (header ~ /^(gtest|gmock)\//) return from ~ /^tests($|\/)/ ? "" : "GoogleTest stays in tests"
  if (header ~ /^(cuda|nccl|cublas|nvtx|nvml|cupti)/) return from == "calibration/cuda" ? "" : "CUDA and NCCL stay in calibration/cuda"
  if (header == "yaml.h") return FILENAME == "models/launch/yaml.cpp" ? "" : "libyaml is at home in models/launch/yaml.cpp"
  if (header ~ /^toml\+\+\//) return FILENAME == "models/launch/toml.cpp" ? "" : "toml++ is at home in models/launch/toml.cpp"
  if (header == "zlib.h") return FILENAME == "sim/app/gzip.cpp" ? "" : "zlib is at home in sim/app/gzip.cpp"
  if (header ~ /^fmt\//) return ""
  if (header ~ /\// && header !~ /^(sys|netinet|arpa|linux|sanitizer)\//) return "it has no home in the include table (tests/lint/includes.awk)"
  return ""
}

FNR == 1 {
  from = folder_of(FILENAME)
  if (from !~ /^tests($|\/)/ && !(from in sees)) wrong("no folder of the include table; put it into one, or give " from " a row in tests/lint/includes.awk")
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
  header = $0
  sub(/^[^"]*"/, "", header)
  sub(/".*/, "", header)
  to = folder_of(header)
  if (to !~ /^(models|sim|reports|calibration|tests|build_info)($|\/)/)
    wrong("\"" header "\" is not written from the root; write \"" from "/...\", and <...> for what is not ours")
  else if (!own_header_allowed(header, to))
    wrong(from " must not see \"" header "\"; models prices, sim plays, reports draws, one direction")
}

/^[ \t]*#[ \t]*include[ \t]*</ {
  header = $0
  sub(/^[^<]*</, "", header)
  sub(/>.*/, "", header)
  home = home_elsewhere(header)
  if (header ~ /^(models|sim|reports|calibration|tests)\//) wrong("<" header "> is ours; write it in quotes")
  else if (home != "") wrong("<" header "> is not at home here; " home)
}

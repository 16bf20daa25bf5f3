#!/usr/bin/env bash
# The lint must be able to fail: a small tree in order passes, and each violation put into it alone is found, in the file
# and on the line where it is.
set -u
lint=$(dirname -- "$(readlink -f -- "$0")")/lint.sh
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
failures=0

fail() {
  printf 'FAILED: %s\n' "$1"
  failures=$((failures + 1))
}

make_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{models/{base,spec,price,fit},sim/{network,player,schedules,result,app},reports,calibration/cuda,tests/{lint,models},build}
  local file
  for file in models/base/units.hpp models/price/price.hpp models/fit/load.cpp sim/result/metrics.hpp sim/player/player.hpp sim/app/command_line.cpp sim/app/run.cpp \
    models/base/json.cpp models/spec/schedule_traits.cpp sim/network/simgrid_network.cpp sim/schedules/ddp.cpp reports/console.cpp calibration/cuda/probe.cu \
    tests/models/price_test.cpp; do
    printf '// Why this file exists.\n' >"$tree/$file"
  done
  printf '// Why.\nconstexpr ModelFamily kOne{.name = "one",\nconstexpr ModelFamily kTwo = like("two", kOne);\n%s\n' \
    'constexpr ModelFamily kMeasured{.name = "measured", .measured = true};' >"$tree/models/spec/model_families.cpp"
  printf 'column("measured"); // family "one", as in "two"\ntitle("one of two");\n' >>"$tree/sim/result/metrics.hpp"
  printf 'model.family = "one";\n' >>"$tree/tests/models/price_test.cpp"
  printf '#include <nlohmann/json.hpp>\n' >>"$tree/models/base/json.cpp"
  printf '#include <Eigen/Dense>\n#include "models/base/units.hpp"\n' >>"$tree/models/fit/load.cpp"
  printf '#include <CLI/CLI.hpp>\n#include "reports/console.hpp"\n' >>"$tree/sim/app/command_line.cpp"
  printf '#include <simgrid/s4u.hpp>\n#include <sys/wait.h>\n' >>"$tree/sim/network/simgrid_network.cpp"
  printf '#include "models/price/price.hpp"\n#include "sim/graph/graph.hpp"\n#include <fmt/format.h>\n' >>"$tree/sim/schedules/ddp.cpp"
  printf '#include "models/base/units.hpp"\n#include "sim/result/metrics.hpp"\n' >>"$tree/reports/console.cpp"
  printf '      {.name = "ddp",\n      {.name = "zero1",\n' >>"$tree/models/spec/schedule_traits.cpp"
  printf '    {"ddp", build_ddp},\n' >>"$tree/sim/schedules/ddp.cpp"
  printf '"ddp"\n' >>"$tree/tests/models/price_test.cpp"
  printf '#include <cuda_runtime.h>\n#include <nccl.h>\n' >>"$tree/calibration/cuda/probe.cu"
  printf '#include <gtest/gtest.h>\n#include "sim/player/player.hpp"\n' >>"$tree/tests/models/price_test.cpp"
  printf '#!/bin/sh\n# Why this script exists.\n' >"$tree/tests/run.sh"
  printf 'a network, at work, on a workstation, work/ and http://example.org/work-in-progress\n' >"$tree/README.md"
  printf '#include "ours/and/wrong.hpp"\n' >"$tree/build/generated.cpp"
  printf '# Why.\ncalibration 2000\nmodels 2000\nreports 2000\nsim 2000\ntests 2000\n' >"$tree/tests/lint/budget"
}

make_tree
bash "$lint" "$tree" || fail 'a tree in order was refused'

# violation FILE LINE TEXT: TEXT appended to FILE is found at LINE.
violation() {
  make_tree
  printf '%s\n' "$3" >>"$tree/$1"
  local said
  if said=$(bash "$lint" "$tree"); then
    fail "passed: $1 with $3"
  elif [ "$(grep -c . <<<"$said")" != 1 ] || ! grep -q "^$1:$2: " <<<"$said"; then
    fail "$1 with $3 should be one finding on line $2, not: $said"
  fi
}

violation models/base/units.hpp 2 '#include "sim/player/player.hpp"'
violation models/base/units.hpp 2 '#include "reports/console.hpp"'
violation models/base/units.hpp 2 '#include <nlohmann/json.hpp>'
violation models/base/units.hpp 2 '#include <Eigen/Dense>'
violation models/base/units.hpp 2 '#include <cuda_runtime.h>'
violation models/base/units.hpp 2 '#include "price.hpp"'
violation models/base/units.hpp 2 '#include <models/price/price.hpp>'
violation models/base/units.hpp 2 '# include <boost/any.hpp>'
violation models/base/units.hpp 2 '#include "models/spec/spec.hpp"'
violation models/price/price.hpp 2 '#include "models/fit/fit_gpu.hpp"'
violation sim/player/player.hpp 2 '#include "sim/app/verb.hpp"'
violation sim/player/player.hpp 2 '#include "sim/result/metrics.hpp"'
violation sim/schedules/ddp.cpp 6 '#include "sim/player/player.hpp"'
violation sim/app/run.cpp 2 '#include <CLI/CLI.hpp>'
violation sim/app/run.cpp 2 '#include "calibration/cuda/probe.hpp"'
violation reports/console.cpp 4 '#include "sim/app/verb.hpp"'
violation models/fit/load.cpp 4 '#include <nlohmann/json.hpp>'
violation models/fit/load.cpp 4 '  #include "calibration/cuda/probe.hpp"'
violation sim/player/player.hpp 2 '#include "reports/console.hpp"'
violation sim/player/player.hpp 2 '#include <simgrid/s4u.hpp>'
violation sim/schedules/ddp.cpp 6 '#include <simgrid/s4u.hpp>'
violation sim/schedules/ddp.cpp 6 '#include <CLI/CLI.hpp>'
violation sim/schedules/ddp.cpp 6 '#include <nlohmann/json.hpp>'
violation reports/console.cpp 4 '#include "models/price/price.hpp"'
violation reports/console.cpp 4 '#include "sim/player/player.hpp"'
violation reports/console.cpp 4 '#include <nlohmann/json.hpp>'
violation reports/console.cpp 4 '#include <gtest/gtest.h>'
violation calibration/cuda/probe.cu 4 '#include "models/price/price.hpp"'
violation calibration/cuda/probe.cu 4 '#include "sim/result/metrics.hpp"'
violation models/base/units.hpp 2 'if (spec.name == "ddp") return;'
violation reports/console.cpp 4 'text = "write \"zero1\"";'
violation models/base/units.hpp 2 'typedef int Number;'
violation models/base/units.hpp 2 'int number(void);'
violation models/base/units.hpp 2 '  assert(number() > 0);'
violation models/price/price.hpp 2 'const bool together = model.family == "one";'
violation sim/player/player.hpp 2 'if (name == "two") return;'
violation sim/player/player.hpp 2 'return scenario.model.family == "measured";'
violation calibration/cuda/probe.cu 4 'const char* model = "{\"model_type\": \"two\"}";'
violation README.md 2 "see /wor""k/main for it"
violation README.md 2 "(../share""d/design.md)"
violation README.md 2 "/wor""k"

make_tree
printf 'accosim_tests(models_tests FOLDER models price_test LIBRARIES accosim_models)\n' >"$tree/tests/CMakeLists.txt"
bash "$lint" "$tree" >/dev/null || fail 'a test that is built was refused'
printf '// Why.\n' >"$tree/tests/models/forgotten_test.cpp"
bash "$lint" "$tree" | grep -q '^tests/models/forgotten_test.cpp:1: is in no program' || fail 'a test that is not built passed'

# Rooms and their budget. A blank line is none, one of 250 columns three; umlauts are as wide as other letters.
# over ROW FOUND: with ROW in the table, the one finding begins with FOUND; without FOUND there is none.
over() {
  local said
  printf '%s\n' "$1" >>"$tree/tests/lint/budget"
  said=$(bash "$lint" "$tree")
  case ${2:-lint: }$(grep -c . <<<"$said") in *1) ;; *) fail "$1 should be one finding, not: $said" ;; esac
  case $said in "${2:-lint: }"*) ;; *) fail "$1 should be ${2:-in order}, not: $said" ;; esac
}
make_room() {
  make_tree
  printf '// Why.\n\n \t\n%s\n// %s\n' "$(printf '%250s' | tr ' ' /)" "$(printf '%117s' | sed 's/ /ü/g')" >"$tree/models/price/price.hpp"
}
make_room && over 'models/price 5'
make_room && over 'models/price 4' 'models/price:1: 5 lines; its budget is 4 (tests/lint/budget), 1 too many; '
make_room && over 'models/prices 4' 'tests/lint/budget:7: models/prices holds no file; '
make_room && over 'models/price' 'tests/lint/budget:7: is no row; '
make_room && over 'sim 2000' 'tests/lint/budget:7: is no row; '
make_room && printf '#!/bin/sh\n# Why.\n' >"$tree/run" && over '# The root.' 'run:1: belongs to no room; '
over '. 2'
make_room && mkdir "$tree/tools" && printf '.a { }\n' >"$tree/tools/a.css" && over '# Tools.' 'tools/a.css:1: belongs to no room; '
make_room && mkdir "$tree/models/price/part" && printf '// Why.\n' >"$tree/models/price/part/a.js" && over 'models/price 6'
make_room && rm "$tree/tests/lint/budget"
bash "$lint" "$tree" | grep -q '^tests/lint/budget:1: is missing' || fail 'a tree without a budget passed'

# What is printed of it, and what is taken off.
make_room
printf 'models/price 9\nmodels/gone 9\nreports/page 1\n' >>"$tree/tests/lint/budget"
sed -i 's/^sim .*/sim 1/' "$tree/tests/lint/budget"
mkdir -p "$tree"/{tools,reports/page} && printf '.a { }\n.b { }\n' | tee "$tree/tools/a.css" >"$tree/reports/page/a.css"
counted=$(bash "${lint%lint.sh}budget.sh" --count "$tree" | sed -E 's/ +/ /g')
for row in 'models/price 5 9' 'models/gone 0 9' 'reports/page 2 1' 'tools 2 -'; do
  grep -qx "$row" <<<"$counted" || fail "the rooms are counted otherwise than $row: $counted"
done
bash "${lint%lint.sh}budget.sh" --lower "$tree"
[ "$(sed -E 's/ +/ /g' "$tree/tests/lint/budget" | grep -E '^#|models/|page|sim')" = '# Why.
sim 1
models/price 5
reports/page 1' ] || fail "the budget was lowered to another: $(cat "$tree/tests/lint/budget")"

# One name, one type, in whatever form it is written; what only looks like a second one passes.
# twice TEXT [FINDING]: TEXT in sim/player/player.hpp, which has `Worth` in line 3 of models/price/price.hpp beside it.
twice() {
  make_tree
  printf 'namespace accosim {\nstruct Worth {\n};\n}  // namespace accosim\n' >>"$tree/models/price/price.hpp"
  printf '%b\n' "$1" >>"$tree/sim/player/player.hpp"
  local said
  said=$(bash "$lint" "$tree")
  case $said in "${2:-lint: }"*) ;; *) fail "$1 should be ${2:-in order}, not: $said" ;; esac
}
for second in 'struct Worth {' 'class Worth final : public Price {' 'enum class Worth : int {' 'using Worth = double;' \
  'template <class T, class = A<B<T>>> struct Worth {' 'struct alignas(16) Worth {' 'struct Worth\n    : Price {' \
  'struct Worth { int x; };  // short;'; do
  twice "namespace accosim {\n$second\n}  // namespace accosim" \
    'sim/player/player.hpp:3: accosim::Worth is also defined in models/price/price.hpp; '
done
twice 'namespace accosim {\nnamespace {\nint f() {\n}\n}  // namespace\nstruct Worth {\n};\n}  // namespace accosim' 'sim/player/player.hpp:7: '
twice 'namespace accosim {\nstruct Other;\n}\nnamespace accosim {\nstruct Worth {' 'sim/player/player.hpp:6: '
for other in 'struct Worth;' 'enum class Worth : int;' 'struct Worth::Part {' 'struct Price {\n  struct Worth {\n  };\n};' \
  'using other::Worth;' 'template <>\nstruct Worth<int> {' 'namespace {\nstruct Worth {\n};\n}  // namespace' \
  'struct Worth worth_of(int x) {' 'struct Worth\n    worth;'; do
  twice "namespace accosim {\n$other\n}  // namespace accosim"
done
twice 'namespace accosim {\nint f();\nint g();\n}' 'sim/player/player.hpp:2: a namespace without an end '
twice 'namespace accocal {\nstruct Worth {\n};\n}  // namespace accocal'
twice 'namespace accosim::test {\nstruct Worth {\n};\n}  // namespace accosim::test'

make_tree
for i in $(seq 2 700); do printf '// Line %s.\n' "$i" >>"$tree/models/base/units.hpp"; done
bash "$lint" "$tree" >/dev/null || fail 'a file of 700 lines was refused'
printf '// One more.\n' >>"$tree/models/base/units.hpp"
bash "$lint" "$tree" | grep -q '^models/base/units.hpp:701: ' || fail 'a file of 701 lines passed'
# circle FILE LINE [FILE HEADER]...: headers that FILEs include make a circle, which is found at FILE:LINE.
circle() {
  make_tree
  local at=$1:$2
  shift 2
  while [ $# != 0 ]; do
    [ -f "$tree/$1" ] || printf '// Why.\n' >"$tree/$1"
    printf '#include "%s"\n' "$2" >>"$tree/$1"
    shift 2
  done
  [ "$(bash "$lint" "$tree" | grep -c "^$at: closes a circle: ")" = 1 ] || fail "a circle closed at $at passed"
}
circle models/price/b.hpp 2 models/price/a.hpp models/price/b.hpp models/price/b.hpp models/price/a.hpp
circle models/price/b.cpp 2 models/price/a.hpp models/price/b.hpp models/price/b.cpp models/price/a.hpp
circle models/price/c.cpp 2 models/price/a.cpp models/price/b.hpp models/price/b.hpp models/price/c.hpp \
  models/price/c.cpp models/price/a.hpp
make_tree
printf '// Why.\n#include "sim/player/player.hpp"\n' >"$tree/sim/player/player_state.hpp"
printf '#include "sim/player/player_state.hpp"\n' >>"$tree/sim/player/player.hpp"
bash "$lint" "$tree" >/dev/null || fail 'a circle that is known was refused'
make_tree
printf '#pragma once\n// Too late.\n' >"$tree/models/base/late.hpp"
bash "$lint" "$tree" | grep -q '^models/base/late.hpp:1: ' || fail 'a source without an opening comment passed'
make_tree
printf '#include "models/price/price.hpp"\n' >"$tree/models/price/price.cpp"
bash "$lint" "$tree" >/dev/null || fail 'a source that begins with its own header was refused'
printf '#include "models/base/units.hpp"\n' >"$tree/models/price/price.cpp"
bash "$lint" "$tree" | grep -q '^models/price/price.cpp:1: ' || fail 'a source that begins with another header passed'
make_tree
printf '#!/bin/sh\nset -e\n' >"$tree/bare"
bash "$lint" "$tree" | grep -q '^bare:1: ' || fail 'a script without an opening comment passed'

# The plan of the rooms: what stands on nothing first, tests left out, includes counted.
rm -rf "${tree:?}"/*
mkdir -p "$tree"/{base,top/draw,tests}
printf '// Why.\n#include <vector>\n' >"$tree/base/a.hpp"
printf '#include "base/a.hpp"\n#include "base/a.hpp"\n#include "made/by_the_build.hpp"\n' >"$tree/top/b.cpp"
printf '#include "top/b.hpp"\n  #include "base/a.hpp"\n' | tee "$tree/tests/c.cpp" >"$tree/top/draw/c.cpp"
[ "$("${lint%lint.sh}rooms.sh" "$tree" | tail -n +2 | sed -E 's/ +/ /g')" = 'base 1 2
top 1 3 base
top/draw 1 2 base top' ] || fail 'the plan of the rooms is another'
"${lint%lint.sh}rooms.sh" --dot "$tree" | grep -qx '  "top" -> "base" \[label=2\];' || fail 'the drawing of the rooms lacks an arrow'
rm -rf "${tree:?}"/*
bash "$lint" "$tree" >/dev/null && fail 'an empty tree passed'

[ "$failures" = 0 ] && echo 'every violation was found'

#!/usr/bin/env bash
# Runs a share of a program's tests and shows what did not pass: `shard.sh REPORT PROGRAM [--each]`. Which share, GoogleTest's
# own GTEST_TOTAL_SHARDS and GTEST_SHARD_INDEX say; GTEST_FILTER chooses among all. With --each every test has a process of its
# own. ACCOSIM_FIFTH (0 to 4) leaves four of five tests to the other numbers. GoogleTest's report goes to REPORT.xml, with
# --each to REPORT-1.xml and so on; a test that ends its process leaves none, and its name in REPORT.running. Exits 0 when all
# passed.
set -u
report=$1 program=$2 each=${3:-}
if [ -n "${ACCOSIM_FIFTH:-}" ]; then
  GTEST_SHARD_INDEX=$((GTEST_SHARD_INDEX + ACCOSIM_FIFTH * GTEST_TOTAL_SHARDS)) GTEST_TOTAL_SHARDS=$((5 * GTEST_TOTAL_SHARDS))
fi
mkdir -p -- "$(dirname -- "$report")" && rm -f -- "$report"[.-]*

# run XML: PROGRAM with what else the environment says. The lines of tests that passed are left out.
run() {
  GTEST_OUTPUT=xml:$1 ${each:+env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX} "$program" 2>&1 | awk -v running="${1%.xml}.running" '
    /^\[ RUN      \] / { name = $4; held = $0 "\n"; print name >running; close(running); next }
    name != "" && index($0, "[       OK ] " name " ") == 1 { name = held = ""; next }
    name != "" && /^\[  (FAILED |SKIPPED) \] / { printf "%s%s\n", held, $0; name = held = ""; next }
    name != "" { held = held $0 "\n"; next }
    /^(Note: |Running main|\[(==========|----------|  PASSED  )\]|$)/ { next }
    { print; fflush() }
    END { if (name != "") printf "%sended its process: %s\n", held, name; else system("rm -f \"" running "\"") }'
  return "${PIPESTATUS[0]}"
}

if [ -z "$each" ]; then
  run "$report.xml"
  exit
fi
listed=$("$program" --gtest_list_tests) || { printf '%s does not list its tests\n' "$program" && exit 1; }
status=0 number=0
while IFS= read -r test; do
  number=$((number + 1))
  [ $((number % GTEST_TOTAL_SHARDS)) = "$GTEST_SHARD_INDEX" ] || continue
  GTEST_FILTER=$test run "$report-$number.xml" || status=1
done < <(awk '/^[^ ]/ { suite = $1; next } { print suite $1 }' <<<"$listed")
exit "$status"

# What ./check and .ci/run share: run a CTest preset and count. Sourced by bash, with $root set to the clone.

passed=0 failed=0 skipped=0 failures=''
# tally: what failed, a line each, since it may stand far above; then the counts.
tally() {
  printf '%s' "$failures"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
}

# count_tests JUNIT_FILE: adds what CTest wrote to passed, failed and skipped. CTest files a test whose executable or
# fixture is missing under "skipped", like one that skipped itself; only the latter is, here.
count_tests() {
  local counts
  counts=$(awk '
    /^\t<testcase / { match($0, /status="[a-z]+"/); status = substr($0, RSTART + 8, RLENGTH - 9) }
    /^\t<testcase / && status == "run" { passed++ }
    /^\t<testcase / && status == "fail" { failed++ }
    /^\t<testcase / && status == "disabled" { skipped++ }
    /^\t\t<skipped / && status == "notrun" { if ($0 ~ /message="SKIP_/) skipped++; else failed++ }
    END { print passed + 0, failed + 0, skipped + 0 }' "$1") || return 1
  set -- $counts
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# add_failures LINES: for tally.
add_failures() { [ -z "$1" ] || failures+=$1$'\n'; }

# run_tests PRESET CTEST_ARGS...: a run that CTest could not do, or that it calls failed although no test was, counts as
# one failure.
run_tests() {
  local preset=$1 results before=$failed status
  results=$(folder_of "$1")/tests.$$.xml
  shift
  (cd "$root" && CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)} \
    ctest --preset "$preset" --output-junit "$results" "$@" </dev/null) | narrate show_test
  status=${PIPESTATUS[0]}
  if [ -e "$results" ]; then
    count_tests "$results"
    add_failures "$(sed -nE 's/^\t<testcase name="([^"]*)".* status="fail".*/FAILED: \1/p' "$results")"
  fi
  rm -f "$results"
  if [ "$status" != 0 ] && [ "$failed" = "$before" ]; then failed=$((failed + 1)); fi
}

# show_test LINE: a line of ctest's; while nothing comes, the test that was begun last is named.
show_test() {
  printf '%s\n' "$1"
  told=$SECONDS
  case $1 in *Start*:*) now="still testing: ${1##*: }" ;; esac
}

# What ./check and .ci/run share: run a CTest preset and count. Sourced by bash, with $root set to the clone.

passed=0 failed=0 skipped=0 failures=''
# tally: what failed, a line each, since it may stand far above; then the counts.
tally() {
  printf '%s' "$failures"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
}

# add_failures LINES: for tally.
add_failures() { [ -z "$1" ] || failures+=$1$'\n'; }

# outcomes JUNIT SAID: a line a test, `passed|failed|skipped SECONDS NAME`. Tests of GoogleTest come from its own reports in
# the folder SAID, which tests/shard.sh leaves, the others from CTest. A share of a program that failed although no test in its
# reports did (it crashed, leaked, ran out of time) is itself one that failed. CTest files a test whose executable or fixture
# is missing under "skipped", like one that skipped itself; only the latter is, here.
outcomes() {
  outcomes_of_reports "$2" |
    awk '
      function of(key,  text) { text = $0; if (!sub(".* " key "=\"", "", text)) return ""; sub(/".*/, "", text); return text }
      !junit { print $1, $2, $3; reported[$4]; if ($1 == "failed") explained[$4]; next }
      /^\t<testcase / { name = of("name"); how = of("status"); time = of("time"); skip = 0 }
      /^\t\t<skipped / { if (/message="SKIP_/) skip = 1 }
      /^\t<\/testcase>/ || /^\t<testcase .*\/>/ {
        how = how == "run" ? "passed" : how == "disabled" || how == "notrun" && skip ? "skipped" : "failed"
        if (!(name in reported) && !(how == "passed" && name ~ /_tests\.[0-9]+$/)) print how, time, name
        else if (how == "failed" && !(name in explained)) print how, time, name
      }' - junit=1 "$1"
}

# outcomes_of_reports SAID: the same of GoogleTest's reports alone, with the share that each test was in at the end of its line.
# A test that ended its process, or that was running when it was ended, has left its name.
outcomes_of_reports() {
  find "$1" -name '*.xml' -o -name '*.running' | sort | tr '\n' '\0' | xargs -0 -r awk '
    function of(key,  text) { text = $0; if (!sub(".* " key "=\"", "", text)) return ""; sub(/".*/, "", text); return text }
    FNR == 1 { share = FILENAME; sub(/.*\//, "", share); sub(/(-[0-9]+)?\.(xml|running)$/, "", share) }
    FILENAME ~ /running$/ { print "failed", 0, $0, share; next }
    /<testcase / {
      if (name != "") print how, time, name, from
      name = ""
      if (of("status") != "run") next
      name = of("classname") "." of("name"); time = of("time"); from = share
      how = of("result") == "skipped" ? "skipped" : "passed"
    }
    /<failure / { how = "failed" }
    END { if (name != "") print how, time, name, from }'
}

# run_tests PRESET [FILTER] CTEST_ARGS...: FILTER chooses tests in the manner of GoogleTest. A run that CTest could not do, or
# that it calls failed although no test was, counts as one failure. What came of each test stays in $outcomes.
run_tests() {
  local preset=$1 folder before=$failed status
  folder=$(folder_of "$1")
  shift
  outcomes=$folder/outcomes
  case ${1:-} in
    '' | -*) unset GTEST_FILTER ;;
    *)
      export GTEST_FILTER=$1
      shift
      set -- -L '^gtest$' "$@" ;;
  esac
  rm -rf "$folder/said" "$folder/tests.xml" && mkdir -p "$folder/said"
  (cd "$root" && CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)} \
    ctest --preset "$preset" --output-junit "$folder/tests.xml" "$@" </dev/null) | narrate show_test
  status=${PIPESTATUS[0]}
  [ -e "$folder/tests.xml" ] && outcomes "$folder/tests.xml" "$folder/said" >"$outcomes" || : >"$outcomes"
  set -- $(awk '{ ++n[$1] } END { print n["passed"] + 0, n["failed"] + 0, n["skipped"] + 0 }' "$outcomes")
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
  add_failures "$(sed -n 's/^failed [^ ]* /FAILED: /p' "$outcomes")"
  if [ "$status" != 0 ] && [ "$failed" = "$before" ]; then failed=$((failed + 1)); fi
}

# show_test LINE: a line of ctest's; while nothing comes, the test that was begun last is named.
show_test() {
  printf '%s\n' "$1"
  told=$SECONDS
  case $1 in *Start*:*) now="still testing: ${1##*: }" ;; esac
}

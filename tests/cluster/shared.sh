# What the tests of sweeps on clusters share. Sourced by bash, with $program and $root set. They submit and run the commands
# of scenarios/how-to/sweep-on-a-cluster.md as they stand there, only with fewer parts and a smaller sweep.

work=$(mktemp -d) || exit 1
page=$root/scenarios/how-to/sweep-on-a-cluster.md
failures=0

fail() {
  printf 'FAILED: %s\n' "$1"
  failures=$((failures + 1))
}

skip() {
  printf 'skipped: %s\n' "$1"
  exit 77 # SKIP_RETURN_CODE
}

# stop PID...: ends processes of ours, at once where they do not go within two seconds.
stop() {
  local pid tries
  for pid in "$@"; do
    kill "$pid" 2>/dev/null
    for tries in {1..20}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
  done
}

# prepare_sweep: the page's sweep with 12 points, and whole.jsonl, what one process makes of it. `accosim` is the program.
prepare_sweep() {
  mkdir -p "$work/bin" "$work/alone" && ln -s "$program" "$work/bin/accosim" || exit 1
  export PATH="$work/bin:$PATH"
  cat >"$work/what-if.sweep.json" <<'END'
{
  "schema": "accosim.sweep/1",
  "scenario": "a100_v100",
  "schedules": ["acco", "ddp"],
  "over": ["/cluster/nodes/1/count=0..2:3", "/training/micro_batch_size=1..4:4"]
}
END
  (cd "$work" && accosim sweep what-if.sweep.json -j 2 -o alone/whole.jsonl >alone/out) || fail 'the sweep on one machine'
}

# line_of_page PATTERN PARTS: the page's first command that begins so, for so many parts instead of 64.
line_of_page() {
  sed -nE "s/^ +(($1).*)/\1/p" "$page" | sed -E "s/\b64\b/$2/g" | head -n 1
}

# expect_whole WHAT PARTS: merged by the page's command, the parts in the current folder are the whole.
expect_whole() {
  local merge
  merge=$(line_of_page 'accosim merge' "$2")
  if [ "$(ls rows.*-of-"$2".jsonl 2>/dev/null | wc -l)" != "$2" ]; then
    fail "$1: there are not $2 files of parts"
  elif ! eval "$merge" >merge.out 2>&1 || [ -z "$merge" ]; then
    fail "$1: '$merge' failed: $(cat merge.out)"
  elif ! cmp "$work/alone/whole.jsonl" rows.jsonl; then
    fail "$1: the merged parts are not what one process writes"
  else
    printf '%s: %s parts, merged, have the %s bytes of one process\n' "$1" "$2" "$(wc -c <rows.jsonl)"
  fi
}

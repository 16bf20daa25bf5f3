#!/usr/bin/env bash
# Whatever happens to a sweep, no point is lost and none comes twice: it is killed at random moments, its workers are killed
# and hang, memory and the disk run out, a folder cannot be written, two write one file. Prints what happened how often, what
# the user read, and what was lost or doubled, which must be nothing. `kill_sweep.sh PROGRAM ROOT [KILLS [SEED]]`.
set -u
program=$(readlink -f -- "${1:?usage: kill_sweep.sh PROGRAM ROOT [KILLS [SEED]]}") root=${2:?usage: kill_sweep.sh PROGRAM ROOT}
kills=${3:-100} seed=${4:-1}
few=$(((kills + 4) / 5)) # rounds of what is no kill of the sweep
RANDOM=$seed
# Disks of our own to fill: file systems are mounted where nobody else sees them.
if [ -z "${KILL_SWEEP_MOUNTS:-}" ]; then
  for space in 'unshare -m' 'unshare -rm'; do
    if $space mount -t tmpfs tmpfs /mnt 2>/dev/null; then
      KILL_SWEEP_MOUNTS=yes exec $space --propagation private bash "$0" "$program" "$root" "$kills" "$seed"
    fi
  done
  KILL_SWEEP_MOUNTS=no
fi

work=$(mktemp -d) || exit 1
group=''   # of processes with little memory, as a folder
running='' # processes of ours
clean_up() {
  [ -z "$running" ] || kill -9 $running 2>/dev/null
  wait
  [ -z "$group" ] || rmdir "$group" 2>/dev/null
  umount "$work/disk" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # for who is killed or runs out of something
all_lost=0 all_doubled=0 failures=0

fail() {
  printf 'FAILED: %s\n' "$1"
  failures=$((failures + 1))
}

# sweep FILE OPTION...: 8 points for each number of accumulated steps. Nothing waits for it.
sizes=25
[ "$kills" -ge 20 ] || sizes=6
points=$((8 * sizes))
sweep_words() {
  words=("$program" sweep finetune_1x8_a100 --over '/training/micro_batch_size=1..8:8' --schedule acco -j 2
    --over "/training/gradient_accumulation_steps=2..$((2 * sizes)):$sizes" -o "$@")
}
start() {
  sweep_words "$@"
  "${words[@]}" >"$work/out" 2>"$work/err" </dev/null &
  pid=$! running="$running $!"
}
# ended PID: leaves its $status.
ended() {
  wait "$1" 2>/dev/null
  status=$?
  running=${running/ $1/}
}
run() {
  start "$@"
  ended "$pid"
}

# after MILLISECONDS: sleeps so long.
after() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }
random_below() { printf -v "$2" %d $(((RANDOM * 32768 + RANDOM) % ($1 + 1))); }
milliseconds() { printf '%s' "${EPOCHREALTIME/[.,]/}" | sed 's/...$//'; }

# indices FILE: of its whole lines; what comes behind the last line's end is what a killed one was writing.
indices() {
  { [ ! -s "$1" ] || if [ -n "$(tail -c 1 "$1")" ]; then sed '$d' "$1"; else cat "$1"; fi; } |
    sed -nE 's/^\{"index":([0-9]+),.*\}$/\1/p' | sort
}

# count_since: adds to $lost what $work/before has and $work/now has not, and to $doubled what is in $work/now twice.
count_since() {
  lost=$((lost + $(sort -u "$work/before" | comm -23 - <(sort -u "$work/now") | wc -l)))
  doubled=$((doubled + $(uniq -d "$work/now" | wc -l)))
}

# look FILE: counts against what was there at the last look.
look() {
  indices "$1" >"$work/now"
  count_since
  cp "$work/now" "$work/before"
}

# look_at_end FILE: every point once, and the bytes of a sweep that nothing happened to. The next one begins with none.
look_at_end() {
  seq 0 $((points - 1)) | sort >"$work/before"
  indices "$1" >"$work/now"
  count_since
  cmp "$work/whole.jsonl" "$1" || fail "$case_name: other bytes than where nothing happened"
  : >"$work/before"
}

begin_case() {
  case_name=$1 rounds=0 lost=0 doubled=0
  : >"$work/before" >"$work/said"
}
# heard: what the user read at the end of a round, or the row's reason; numbers and paths are the same to us.
heard() { sed -E "s|$work/(disk/)?||g; s/\b[0-9]+ rows/N rows/; s/\b(killed|two|part)\.jsonl/rows.jsonl/" >>"$work/said"; }
heard_error() { grep '.' "$work/err" | tail -n 1 | heard; }
heard_rows() { sed -nE 's/.*"why":"([^"]*)".*/failed point: \1/p' "$1" | heard; }
end_case() {
  printf '%-44s %6d %6d %8d  %s\n' "$case_name" "$rounds" "$lost" "$doubled" "$1" >>"$work/table"
  sort "$work/said" | uniq -c | sort -rn | sed -E 's/^ *([0-9]+) /    \1 x /' >>"$work/table"
  all_lost=$((all_lost + lost)) all_doubled=$((all_doubled + doubled))
}
skip_case() { printf '%-44s skipped: %s\n' "$1" "$2" >>"$work/table"; }

# ---- what happens ----

killed() {
  local whole=0 early=0 moment had
  begin_case 'sweep killed (kill -9), sent again'
  rm -f "$work/killed.jsonl"
  while [ "$rounds" -lt "$kills" ]; do
    start "$work/killed.jsonl" --resume
    random_below $((taken * 6 / 10)) moment
    after "$moment"
    kill -9 "$pid" 2>/dev/null
    ended "$pid"
    if [ "$status" = 137 ]; then
      rounds=$((rounds + 1))
      had=$(wc -l <"$work/before")
      look "$work/killed.jsonl"
      [ "$had" != "$(wc -l <"$work/before")" ] || early=$((early + 1))
    elif [ "$status" = 0 ]; then # it was done before
      look_at_end "$work/killed.jsonl"
      rm -f "$work/killed.jsonl"
      whole=$((whole + 1))
    else
      heard_error
      fail "$case_name: exit $status: $(tail -n 1 "$work/err")"
      return
    fi
  done
  run "$work/killed.jsonl" --resume
  [ "$status" = 0 ] || fail "$case_name: the last: exit $status: $(cat "$work/err")"
  look_at_end "$work/killed.jsonl"
  end_case "$((whole + 1)) whole sweeps in between and at the end; $early kills before a row was added"
}

# workers_of PID: their ids. Not every kernel has /proc/PID/task/PID/children.
workers_of() {
  cat /proc/[0-9]*/stat 2>/dev/null | sed -nE "s/^([0-9]+) \(.*\) [A-Za-z] $1 .*/\1/p"
}

# harm_workers SIGNAL OPTION...: sends it to one worker at a random moment, then plays again what failed by that.
harm_workers() {
  local signal=$1 moment workers tries=0
  shift
  while [ "$rounds" -lt "$few" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt $((20 * few)) ]; then
      fail "$case_name: no worker was met at work in $((tries - 1)) sweeps"
      break
    fi
    rm -f "$work/killed.jsonl"
    start "$work/killed.jsonl" "$@"
    random_below $((taken / 2)) moment
    after $((moment + 30))
    workers=($(workers_of "$pid"))
    if [ "${#workers[@]}" = 0 ] || ! kill "-$signal" "${workers[RANDOM % ${#workers[@]}]}" 2>/dev/null; then
      ended "$pid"
      continue # it is done already, or none was there yet
    fi
    ended "$pid"
    [ "$status" = 0 ] || fail "$case_name: exit $status: $(cat "$work/err")"
    grep -q '"status":"failed"' "$work/killed.jsonl" || { [ "$signal" = KILL ] && continue; } # it was between two points
    rounds=$((rounds + 1))
    heard_rows "$work/killed.jsonl"
    look "$work/killed.jsonl"
    run "$work/killed.jsonl" --resume --retry
    look_at_end "$work/killed.jsonl"
  done
  end_case 'the others played on; --retry played it again'
}

# small_disk: an empty one of 16 MB, or fails.
small_disk() {
  mkdir -p "$work/disk"
  mount -t tmpfs -o size=16m tmpfs "$work/disk" || { fail "$case_name: mount"; return 1; }
}

full_disk() {
  local pages bytes tries=0
  begin_case 'disk full, sent again with room'
  bytes=$(wc -c <"$work/whole.jsonl")
  while [ "$rounds" -lt "$few" ] && [ "$tries" -lt $((20 * few)) ]; do
    tries=$((tries + 1))
    small_disk || return
    # Room for a page to nearly twice the rows, which is what putting them in order takes.
    random_below $((bytes * 2 / 4096 - 2)) pages
    head -c $((16 * 1024 * 1024 - (pages + 1) * 4096)) /dev/zero >"$work/disk/others"
    run "$work/disk/rows.jsonl"
    rm "$work/disk/others"
    if [ "$status" != 0 ]; then
      rounds=$((rounds + 1))
      heard_error
      look "$work/disk/rows.jsonl"
      run "$work/disk/rows.jsonl" --resume
      [ "$status" = 0 ] || fail "$case_name: with room again: exit $status: $(cat "$work/err")"
    fi
    look_at_end "$work/disk/rows.jsonl"
    [ "$(ls "$work/disk")" = rows.jsonl ] || fail "$case_name: it left $(ls "$work/disk")"
    umount "$work/disk"
  done
  end_case 'at random bytes'
}

read_only() {
  local name
  begin_case 'folder that cannot be written'
  small_disk || return
  head -c 20000 "$work/whole.jsonl" >"$work/disk/part.jsonl"
  cp "$work/disk/part.jsonl" "$work/part.jsonl"
  if ! mount -o remount,ro "$work/disk" 2>/dev/null; then
    umount "$work/disk"
    skip_case "$case_name" 'nothing can be made read-only here'
    return
  fi
  for name in rows part; do
    run "$work/disk/$name.jsonl" --resume
    rounds=$((rounds + 1))
    heard_error
    [ "$status" = 4 ] || fail "$case_name: exit $status, not 4: $(cat "$work/err")"
  done
  cmp "$work/part.jsonl" "$work/disk/part.jsonl" || fail "$case_name: what was there is another"
  [ ! -e "$work/disk/rows.jsonl" ] || fail "$case_name: there is a file"
  mount -o remount,rw "$work/disk"
  run "$work/disk/part.jsonl" --resume
  look_at_end "$work/disk/part.jsonl"
  umount "$work/disk"
  end_case 'with nothing, and with a cut file in it; exit 4'
}

two_of_one_file() {
  local first moment refused=0
  begin_case 'two write one file'
  while [ "$rounds" -lt "$few" ]; do
    rounds=$((rounds + 1))
    rm -f "$work/two.jsonl"
    start "$work/two.jsonl" --resume
    first=$pid
    random_below $((taken * 11 / 10)) moment # at times when the first is just done
    after "$moment"
    # Every other time the first does not go on while the second waits for it.
    [ $((rounds % 2)) = 0 ] || kill -STOP "$first" 2>/dev/null
    run "$work/two.jsonl" --resume
    kill -CONT "$first" 2>/dev/null
    if [ "$status" != 0 ]; then
      refused=$((refused + 1))
      heard_error
    fi
    ended "$first"
    if [ "$status" != 0 ]; then
      heard_error
      run "$work/two.jsonl" --resume
    fi
    look_at_end "$work/two.jsonl"
  done
  end_case "$refused times the second was refused, else it waited"
}

# Its last point needs some 160 MB, the others 15 to 25; that many more of address space, of which all need some 70.
large_words() {
  words=("$program" sweep mixed_a100_v100 --over /cluster/nodes/0/count=1,2,3,4,65537 --schedule acco -j 1
    --no-tuned -o "$work/large.jsonl" "$@")
}
# one_too_large WHOLE: of 5 points the last failed; and without the limit all are there.
one_too_large() {
  rounds=1
  heard_rows "$work/large.jsonl"
  look "$work/large.jsonl"
  [ "$(grep -c '"status":"failed"' "$work/large.jsonl")" = 1 ] || fail "$case_name: not one point failed: $(cat "$work/err")"
  large_words --resume --retry
  "${words[@]}" >"$work/out" 2>"$work/err" || fail "$case_name: without the limit: $(cat "$work/err")"
  look "$work/large.jsonl"
  [ "$(wc -l <"$work/before")" = 5 ] || lost=$((lost + 1))
  ! grep -q '"status":"failed"' "$work/large.jsonl" || fail "$case_name: --retry left a point"
  end_case '--retry with memory played it again'
}

# little_memory FOLDER: makes it a group whose processes have 24 MB; fails where this user may not, or the kernel cannot.
little_memory() {
  mkdir "$1" 2>/dev/null || return 1
  group=$1
  if [ -e "$1/memory.max" ]; then
    echo 24M >"$1/memory.max" && { [ ! -e "$1/memory.swap.max" ] || echo 0 >"$1/memory.swap.max"; }
  else
    echo 24M >"$1/memory.limit_in_bytes"
  fi 2>/dev/null
}
out_of_memory() {
  local folder
  for folder in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    little_memory "$folder/accosim-kill-sweep-$$" && break
    [ -z "$group" ] || rmdir "$group" 2>/dev/null
    group=''
  done
  if [ -z "$group" ]; then
    skip_case 'worker killed where memory ran out' 'no group of processes with less memory can be made here'
    return
  fi
  begin_case 'worker killed where memory ran out'
  large_words
  (echo "$BASHPID" >"$group/cgroup.procs" && exec "${words[@]}") >"$work/out" 2>"$work/err" ||
    fail "$case_name: exit $?: $(cat "$work/err")"
  one_too_large
}

too_little_memory() {
  begin_case 'point that needs more than --memory'
  rm -f "$work/large.jsonl"
  large_words --memory '96 MiB'
  "${words[@]}" >"$work/out" 2>"$work/err" || fail "$case_name: exit $?: $(cat "$work/err")"
  one_too_large
}

cd "$root" || exit 1
since=$(milliseconds)
run "$work/whole.jsonl"
taken=$(($(milliseconds) - since))
[ "$status" = 0 ] || { cat "$work/err"; exit 1; }
killed
begin_case 'worker killed (kill -9)'
harm_workers KILL
begin_case 'worker that hangs (--timeout 1 s)'
harm_workers STOP --timeout '1 s'
two_of_one_file
if [ "$KILL_SWEEP_MOUNTS" = yes ]; then
  full_disk
  read_only
else
  skip_case 'disk full; folder that cannot be written' 'no file system can be mounted here (unshare -m, unshare -rm)'
fi
if grep -q __asan_init "$program"; then
  skip_case 'memory runs out' 'a program with sanitizers takes all that there is'
else
  out_of_memory
  too_little_memory
fi

printf 'seed %s, %s points in %s ms where nothing happens\n\n' "$seed" "$points" "$taken"
printf '%-44s %6s %6s %8s\n' '' rounds lost doubled
cat "$work/table"
printf '\n%d points lost, %d doubled\n' "$all_lost" "$all_doubled"
[ "$all_lost$all_doubled$failures" = 000 ]

#!/usr/bin/env bash
# Asks two builds of accosim the same: every verb, over the scenarios that are shipped. For a change that should move no
# answer. Numbers that differ by at most 1e-12 of themselves count as the same; of other lines each that differs is shown.
#
#   tests/same_answers.sh BEFORE AFTER [WORD]   only what has WORD in its command line
#
# Exits 0 where all answers are the same, 1 where one differs. Takes some minutes.
set -u
root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
[ $# -ge 2 ] && [ -x "$1" ] && [ -x "$2" ] || { sed -n '5p' "$0" | cut -c5- >&2; exit 2; }
before=$(realpath -e -- "$1") after=$(realpath -e -- "$2") only=${3:-}
cd -- "$root" || exit 2
export ACCOSIM_DATA_DIR=$root
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

# What is asked, a command line each; @ stands for a file that the command writes.
questions() {
  local file
  for file in $(grep -rl --include='*.json' '"schema": *"accosim.scenario/1"' scenarios | sort); do
    case $file in
      *405b* | *175b* | *three_d*) # large: what tunes both sides takes long
        printf '%s\n' "compare $file --no-tuned" "compare $file --no-tuned --json" "resolve $file" ;;
      *)
        printf '%s\n' "compare $file" "compare $file --json" "run $file" "run $file --csv" "explain $file" "resolve $file" ;;
    esac
  done
  for file in mixed_a100_v100 overlap_2x4_a100 straggler_4x8_a100; do
    printf '%s\n' "advise $file" "advise $file --json" "report $file -o @.html" "sweep $file --over /cluster/nodes/0/nics/bandwidth=10,100\\ Gbit/s --csv @.csv"
    for kind in timeline breakdown memory ladder; do printf '%s\n' "plot --kind $kind $file -o @.svg"; done
  done
  printf '%s\n' 'validate' 'validate --json' 'validate --markdown' 'validate --paper-rows' 'validate --memory-verdicts' 'validate --nccl-choices' \
    'validate --leave-out source' 'explain mixed_a100_v100 --json' 'diff mixed_a100_v100 overlap_2x4_a100' 'explain llama-2-7b_fsdp_hsdp --growth' \
    'compare mixed_a100_v100 --seeds 3 --set /training/compute_jitter=0.02' 'explain mixed_a100_v100 --messages' \
    'compare nowhere' 'compare mixed_a100_v100 --set /training/batch=4' 'compare --help' 'sweep --help' 'advise --help' 'man' \
    'list' 'list devices' 'list models' 'list clusters' 'list scenarios' 'list knobs'
}

# numbers_alike A B: whether two files differ in the last digits of numbers alone.
numbers_alike() {
  cmp -s "$1" "$2" && return
  paste -d '\001' "$1" "$2" | awk -F '\001' '
    function parts(text, into, words,   n) { gsub(/[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/, "\002&\002", text); return split(text, into, "\002") }
    NF != 2 { exit 1 }
    $1 == $2 { next }
    { n = parts($1, a); if (n != parts($2, b)) exit 1
      for (i = 1; i <= n; ++i) {
        if (a[i] == b[i]) continue
        if (i % 2) exit 1
        off = a[i] - b[i]; size = a[i] < 0 ? -a[i] : a[i]
        if ((off < 0 ? -off : off) > 1e-12 * size) exit 1
      } }'
}

# answer PROGRAM NAME QUESTION: into $folder/NAME, with how it ended.
answer() {
  local file=$folder/file words
  rm -f "$file".*
  words=${3//@/$file}
  eval "\"$1\" $words" </dev/null >"$folder/$2" 2>&1
  printf 'exit %d\n' $? >>"$folder/$2"
  cat "$file".* >>"$folder/$2" 2>/dev/null
}

asked=0 differ=0
while IFS= read -r question; do
  case $question in *"$only"*) ;; *) continue ;; esac
  asked=$((asked + 1))
  answer "$before" before "$question"
  answer "$after" after "$question"
  numbers_alike "$folder/before" "$folder/after" && continue
  differ=$((differ + 1))
  printf '== accosim %s\n' "$question"
  diff "$folder/before" "$folder/after" | head -n 12 | cut -c 1-240
done < <(questions)
printf '%d questions, %d answers differ\n' "$asked" "$differ"
[ "$differ" = 0 ]

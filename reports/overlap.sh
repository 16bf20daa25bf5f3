#!/usr/bin/env bash
# Writes reports/published/overlap.md and overlap.svg: ACCO over a ZeRO-1 that is overlapped both ways, on networks of
# several rates. `overlap.sh [PROGRAM]`; PROGRAM is ./accosim unless named.
set -eu
shopt -s inherit_errexit
root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
program=$(realpath -- "${1:-$root/accosim}")
unset COLUMNS NO_COLOR ACCOSIM_DATA_DIR
cd -- "$root"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rates='10,16,20,25,32,40,50,64,80,100,125,160,200,250,320,400 Gbit/s'
"$program" sweep overlap_2x4_a100 --no-tuned --over "/cluster/nodes/0/nics/bandwidth=$rates" \
  --over /cluster/nodes/0/nics/count=1,2,4 --over /training/gradient_accumulation_steps=4,8,16 \
  -o "$folder/rows.jsonl" --csv "$folder/rows.csv" >"$folder/summary.txt"
"$program" plot --kind curve "$folder/rows.jsonl" --axis bandwidth --at count=1 --at gradient_accumulation_steps=4 \
  -o reports/published/overlap.svg

# How ACCO and hybrid sharding compare, a row a rate, a column for each number of micro-batches and adapters.
table() {
  awk -F, -v label="$1" '
    NR == 1 {
      for (i = 1; i <= NF; ++i) column[$i] = i
      next
    }
    $column["schedule"] == label {
      rate = $column["/cluster/nodes/0/nics/bandwidth"]
      if (!(rate in seen)) { seen[rate] = 1; rates[++n] = rate }
      steps = $column["/training/gradient_accumulation_steps"]
      count = $column["/cluster/nodes/0/nics/count"]
      speedup[rate, steps, count] = $column["speedup_same_batch"]
      grown[rate, steps, count] = $column["batch_inflation"]
    }
    END {
      split("4 8 16", rows, " "); split("1 2 4", counts, " ")
      for (i = 1; i <= n; ++i) {
        printf "| %s |", rates[i]
        for (a = 1; a <= 3; ++a)
          for (c = 1; c <= 3; ++c)
            printf " %.2f%s |", speedup[rates[i], rows[a], counts[c]],
                   (grown[rates[i], rows[a], counts[c]] > 1.2 ? "*" : "")
        print ""
      }
    }' "$folder/rows.csv"
}

# "257 Gbit/s": the rate above which the other schedule takes over, whatever the batch grows to.
end_of_gain() {
  local words
  words=$("$program" sweep overlap_2x4_a100 --no-tuned --schedule 'zero1 overlapped' --schedule acco --batch-growth 1000 \
    --over '/cluster/nodes/0/nics/bandwidth=10..400:33:log Gbit/s' --set "/cluster/nodes/0/nics/count=$1" \
    --set "/training/gradient_accumulation_steps=$2" | tr '\n' ' ' |
    sed -nE 's/.*zero1 overlapped takes over from acco above ([^.]*[0-9](\.[0-9]+)?) ?Gbit\/s of bandwidth.*/\1 Gbit\/s/p')
  [ -n "$words" ] || { echo "overlap.sh: the sweep does not say where the gain ends" >&2; return 1; }
  printf '%s' "$words"
}

head='| rate of an adapter | 4, one | 4, two | 4, four | 8, one | 8, two | 8, four | 16, one | 16, two | 16, four |
|---|---|---|---|---|---|---|---|---|---|'
{
  cat <<'TEXT'
# What is left of ACCO's gain where ZeRO-1 hides its communication too

Written by `reports/overlap.sh`, which sweeps `scenarios/overlap_2x4_a100.json`: GPT-Neo 2.7B on two nodes of 4 A100, 16 to 64 samples an
update and GPU. All speedups are over a ZeRO-1 that reduces its gradients beside the backward pass and gathers
its parameters beside the next forward pass, played at as many samples an update. A column is a number of micro-batches an update and
of adapters a node. `*`: the batch has grown more than 1.2 times, so that the schedule may not be called the winner.

## ACCO

TEXT
  printf '%s\n' "$head"
  table acco
  printf '\n## Where its gain ends\n\nAbove this rate of an adapter the overlapped ZeRO-1 is the faster one at the same batch.\n\n'
  printf '| micro-batches an update | one adapter | two | four |\n|---|---|---|---|\n'
  for steps in 4 8 16; do
    printf '| %s |' "$steps"
    for count in 1 2 4; do
      words=$(end_of_gain "$count" "$steps")
      printf ' %s |' "$words"
    done
    printf '\n'
  done
  printf '\n## Hybrid sharding\n\nZeRO-3 inside a node; shards are all-reduced between nodes once an update.\n\n%s\n' "$head"
  table hybrid
  printf '\n## One adapter, 4 micro-batches\n\n![Speedup over the overlapped ZeRO-1 at equal samples an update, against the rate of the adapter](overlap.svg)\n'
} >"$folder/overlap.md"
cat -- "$folder/overlap.md" >reports/published/overlap.md

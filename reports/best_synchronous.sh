#!/usr/bin/env bash
# Writes reports/published/best_synchronous.md with its pictures: ACCO over the best synchronous schedule on the clusters
# of the paper's runs, on networks of several rates, and where that gain ends. `pages.sh best_synchronous` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
rate=/cluster/nodes/0/nics/bandwidth
rates='10,16,20,25,32,40,50,64,80,100,125,160,200,250,320,400 Gbit/s'

# sweep_of SCENARIO: its rows, table and summary, in files named after it, and its picture.
sweep_of() {
  "$program" sweep "$1" --over "$rate=$rates" -o "$folder/$1.jsonl" --csv "$folder/$1.csv" >"$folder/$1.txt"
  "$program" plot --kind curve "$folder/$1.jsonl" --by best-synchronous -o "$out/reports/published/best_synchronous_$1.svg"
}

# table SCENARIO: a row a rate.
table() {
  printf '| rate of an adapter | ACCO over the best synchronous | its batch grown | DPU over it | best synchronous |\n|---|---|---|---|---|\n'
  awk -F '"best_synchronous":"' 'NR > 1 { split($2, form, "\""); print form[1] }' "$folder/$1.jsonl" >"$folder/forms"
  awk -F, -v forms="$folder/forms" '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    {
      rate = $column["/cluster/nodes/0/nics/bandwidth"]
      if (!(rate in seen)) { seen[rate] = 1; rates[++n] = rate }
      over[rate, $column["schedule"]] = $column["speedup_over_best_synchronous"]
      grown[rate, $column["schedule"]] = $column["batch_inflation"]
    }
    function times(value) { return value == "" ? "-" : sprintf("%.2f", value) }
    END {
      for (i = 1; i <= n; ++i) {
        getline form <forms
        r = rates[i]
        printf "| %s | %s | %s | %s | %s |\n", r, times(over[r, "acco"]), times(grown[r, "acco"]), times(over[r, "dpu"]), form
      }
    }' "$folder/$1.csv"
}

# words SCENARIO: what the summary says of ACCO beside the best synchronous schedule.
words() {
  tr '\n' ' ' <"$folder/$1.txt" | grep -oE 'acco is faster than that at [^.]*(\.[0-9][^.]*)*\.' |
    sed 's/^acco is faster than that/ACCO is faster than the best synchronous schedule/' | grep . ||
    { echo "best_synchronous.sh: the sweep of $1 does not say where the gain ends" >&2; return 1; }
}

for scenario in finetune_2x4_a100 pretrain_4x8_a100; do sweep_of "$scenario"; done
{
  cat <<'TEXT'
# What is left of ACCO's gain over the best synchronous schedule

Written by `reports/pages.sh best_synchronous`, which sweeps the scenarios of the ACCO paper's runs over the rate of a network adapter. The best
synchronous schedule is the fastest of twelve tuned forms of DDP, ZeRO-1 to 3 and hybrid sharding and of the scenario's own schedules
(`sim/what_if/README.md`). Speedups are at equal samples an update: the best synchronous schedule accumulates as
many as ACCO comes to. Where ACCO's batch has grown more than 1.2 times, ACCO may not be called the winner, whatever its speedup.
The four adapters of a node share a host that copies 21.2 GB/s, sent and received together: above some 21 Gbit/s each their rate changes little.
`-`: the best synchronous schedule cannot be played at so few samples.
TEXT
  for scenario in finetune_2x4_a100 pretrain_4x8_a100; do
    printf '\n## %s\n\n' "$scenario"
    words "$scenario"
    printf '\n'
    table "$scenario"
    printf '\n![Speedup over the best synchronous schedule at equal samples an update, against the rate of the adapter](best_synchronous_%s.svg)\n' "$scenario"
  done
} >"$out/reports/published/best_synchronous.md"

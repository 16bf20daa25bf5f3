#!/usr/bin/env bash
# Writes the figures of reports/published/best_synchronous.md and its pictures: ACCO and the best synchronous schedule, both
# tuned, on the clusters of the paper's runs, on networks of several rates. `pages.sh best_synchronous` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
rate=/cluster/nodes/0/nics/bandwidth
rates='5,10,16,25,32,50,64,100,125,200,250,400 Gbit/s'
direct='/cluster/nodes/0/nics={"count": 4, "kind": "infiniband", "bandwidth": "100 Gbit/s"}'

# sweep_of SCENARIO NAME SETTINGS...: its rows and summary, in files of that name.
sweep_of() {
  "$program" sweep "$1" --schedule acco --schedule zero1 "${@:3}" -o "$folder/$2.jsonl" --csv "$folder/$2.csv" >"$folder/$2.txt"
}

# rows NAME [LABEL]: a row a rate, or of the label in its place.
rows() {
  sed -n 's/.*"best_synchronous":"\([^"]*\)","best_delayed":"\([^"]*\)".*/\2\t\1/p' "$folder/$1.jsonl" >"$folder/forms"
  awk -F, -v forms="$folder/forms" -v label="${2:-}" '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    function times(over) { return over == "" ? "-" : sprintf("%.2f", over) }
    $column["schedule"] == "acco" {
      written = times($column["speedup_over_best_synchronous"])
      written_grown = $column["batch_inflation"]
    }
    $column["schedule"] == "best delayed or local" {
      getline form <forms
      split(form, names, "\t")
      if (label == "") rate = $column["/cluster/nodes/0/nics/bandwidth"]; else rate = label
      printf "| %s | %s | %s | %.2f | %s | %.2f | %s |\n", rate, times($column["speedup_over_best_synchronous"]), names[1], \
             $column["batch_inflation"], written, written_grown, names[2]
    }' "$folder/$1.csv"
}

for scenario in finetune_2x4_a100 pretrain_4x8_a100; do
  sweep_of "$scenario" "$scenario" --set "$direct" --over "$rate=$rates"
  sweep_of "$scenario" "$scenario.copies" --over "$rate=100 Gbit/s"
  "$program" plot --kind curve "$folder/$scenario.jsonl" --by best-synchronous -o "$out/reports/published/best_synchronous_$scenario.svg"
done
# section NAME: its table.
section() {
  printf '| bandwidth of a NIC | ACCO tuned, over the best synchronous | ACCO tuned | its batch grown | ACCO as written | its batch grown | best synchronous |\n'
  printf '|---|---|---|---|---|---|---|\n'
  rows "$1"
  rows "$1.copies" '100 Gbit/s, hosts copy'
}
region_finetune() { section finetune_2x4_a100; }
region_pretrain() { section pretrain_4x8_a100; }

fill_regions reports/published/best_synchronous.md >"$out/reports/published/best_synchronous.md"

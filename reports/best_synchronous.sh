#!/usr/bin/env bash
# Writes reports/published/best_synchronous.md with its pictures: ACCO and the best synchronous schedule, both tuned, on the
# clusters of the paper's runs, on networks of several rates. `pages.sh best_synchronous` calls it.
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
{
  cat <<'TEXT'
# What is left of ACCO's gain over the best synchronous schedule

Written by `reports/pages.sh best_synchronous`, which sweeps the scenarios of the ACCO paper's runs over the bandwidth of a NIC, with GPUDirect.
Both sides are tuned: each is the fastest at any micro-batch that makes the same global batch and fits (`sim/study/README.md`). Speedups
are at equal samples a step: the synchronous schedule accumulates as many as ACCO comes to. ACCO may win only where its batch has
grown at most 1.2 times, so of its micro-batches one is taken at which it has not, where there is one. The last row is the scenario as it
is shipped, whose hosts copy what is sent: their memory binds there, whatever the NIC. `-`: the synchronous schedule cannot be
simulated at so few samples.
TEXT
  for scenario in finetune_2x4_a100 pretrain_4x8_a100; do
    printf '\n## %s\n\n' "$scenario"
    printf '| bandwidth of a NIC | ACCO tuned, over the best synchronous | ACCO tuned | its batch grown | ACCO as written | its batch grown | best synchronous |\n'
    printf '|---|---|---|---|---|---|---|\n'
    rows "$scenario"
    rows "$scenario.copies" '100 Gbit/s, hosts copy'
    printf '\n![Speedup over the best synchronous schedule at equal samples a step, against the bandwidth of the NIC](best_synchronous_%s.svg)\n' "$scenario"
  done
} >"$out/reports/published/best_synchronous.md"

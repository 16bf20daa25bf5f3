#!/usr/bin/env bash
# Writes scenarios/three_d/README.md with its pictures: what ACCO gains where models are split over tensor ranks and
# stages, for three sizes on three networks. `pages.sh three_d` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
cd -- scenarios/three_d
rate=/cluster/nodes/0/nics/bandwidth
steps=/training/gradient_accumulation_steps

# rows SCENARIO NAME STEPS: a line a point: name, tokens, adapter, form of the best synchronous schedule; its seconds, share
# of idle time and GiB; speedups over it of ZeRO-1, ACCO drained, ACCO, DPU and of ACCO tuned; GiB and form of that.
rows() {
  "$program" sweep "$1.json" --over "$steps=$3" --over "$rate=400,100,25 Gbit/s" -o "$folder/$1.jsonl" \
    --csv "$folder/$1.csv" >/dev/null
  "$program" sweep "$1.json" --set "$steps=${3#*,}" --over "$rate=25..400:9:log Gbit/s" -o "$folder/$1.curve.jsonl" >/dev/null
  "$program" plot --kind curve "$folder/$1.curve.jsonl" --by best-synchronous -o "$out/scenarios/three_d/$1.svg" >/dev/null
  sed -n 's/.*"best_synchronous":"\([^"]*\)","best_delayed":"\([^"]*\)".*/\1\t\2/p' "$folder/$1.jsonl" >"$folder/forms"
  awk -F, -v OFS='\t' -v forms="$folder/forms" -v model="$2" -v many="${3%,*}" '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    { gsub(/"[^"]*"/, "") }
    { speedup[++n] = $column["speedup_over_best_synchronous"] }
    n == 5 { gib = $column["memory_resident_bytes"] / 2 ^ 30 }
    n == 6 {
      getline both <forms
      split(both, form, "\t")
      sub(/^zero1, overlapped both ways, /, "", form[1])
      split($column["/cluster/nodes/0/nics/bandwidth"], adapter, " ")
      print model, $column["/training/gradient_accumulation_steps"] == many ? "4M" : "1M", adapter[1], form[1],
        $column["update_time_s"], $column["gpu_idle_fraction"], $column["memory_resident_bytes"] / 2 ^ 30,
        speedup[1], speedup[2], speedup[3], speedup[4], speedup[5], gib, form[2]
      n = 0
    }' "$folder/$1.csv"
}

{
  rows llama_3_8b_64 'Llama 3 8B, 64 GPUs' 64,16
  rows llama_3_70b_512 'Llama 3 70B, 512 GPUs' 64,16
  rows gpt3_175b_1024 'GPT-3 175B, 1,024 GPUs' 256,64
} >"$folder/rows"
[ "$(wc -l <"$folder/rows")" = 18 ] || { echo "three_d.sh: not all of 18 points were predicted" >&2; exit 1; }

# between TOKENS ADAPTER COLUMN: least and greatest speedup of a column, where both match.
between() {
  awk -F'\t' -v tokens="$1" -v adapter="$2" -v column="$3" '
    $2 ~ tokens && $3 ~ adapter { if (!n++ || $column < low) low = $column; if (n == 1 || $column > high) high = $column }
    END { printf "%.2f to %.2f", low, high }' "$folder/rows"
}

{
  cat <<'TEXT'
# What ACCO gains beside tensor and pipeline parallelism

Written by `reports/pages.sh three_d`; not to be edited by hand. H100 in servers of 8, 8 replicas, a tensor over 4 or 8 GPUs of a server, 2, 8
or 16 stages: the layout is given, and not searched for. Both sides are tuned (`sim/study/README.md`), each at its best micro-batch for the
same global batch: of Megatron-LM's distributed optimizer overlap, buckets and virtual stages; of ACCO whether its pipeline is drained
twice an update, as it is written, or keeps the parameters before and goes on (`"pipeline_flush": false`).

TEXT
  printf '**Tuned, ACCO is %s times as fast as the best synchronous schedule at 4M tokens an update and %s at 1M on NICs of 100 or 400 Gbit/s, and %s on 25 Gbit/s.** ' \
    "$(between 4M '00$' 12)" "$(between 1M '00$' 12)" "$(between . '^25$' 12)"
  printf '**Drained, with the micro-batch of the file, it is %s times as fast: it gains at no size, on no network.**\n\n' "$(between . . 9)"
  cat <<'TEXT'
What it gains over interleaved stages is what is left of their bubble. DPU, which communicates once an update, gains more, with gradients
that are one update late.

| model | tokens | Gbit/s a GPU | best synchronous: zero1, overlapped both ways, ... | s | idle | GiB | ZeRO-1, not interleaved | ACCO, drained | ACCO, no flush | DPU, no flush | ACCO tuned | GiB | ACCO tuned: which |
|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|
TEXT
  awk -F'\t' '{ printf "| %s | %s | %s | %s | %.2f | %.1f %% | %.1f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f | %s |\n", $1, $2, $3, $4, $5, 100 * $6, $7, $8, $9, $10, $11, $12, $13, $14 }' "$folder/rows"
  cat <<'TEXT'

`s` to `GiB` are of the best synchronous schedule: seconds of its update, share in which a GPU computes nothing, memory. Then speedups over
it, of the file's schedules at its micro-batch, and of ACCO tuned. No run of
ACCO on a pipeline has been published; what no flush does to the loss is not known.

1M tokens an update, by the rate of an adapter:

![Llama 3 8B on 64 GPUs](llama_3_8b_64.svg)

![Llama 3 70B on 512 GPUs](llama_3_70b_512.svg)

![GPT-3 175B on 1,024 GPUs](gpt3_175b_1024.svg)

    ./accosim compare scenarios/three_d/llama_3_70b_512.json --wide
    reports/pages.sh three_d
TEXT
} >"$out/scenarios/three_d/README.md"

#!/usr/bin/env bash
# Writes scenarios/three_d/README.md with its pictures: what ACCO gains where models are split over tensor ranks and
# stages, for three sizes on three networks. `pages.sh three_d` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
cd -- scenarios/three_d
rate=/cluster/nodes/0/nics/bandwidth
steps=/training/gradient_accumulation_steps

# rows SCENARIO NAME STEPS: a line a point: name, tokens, adapter, chunks a stage of the best synchronous schedule (its
# form, where that is no other); its seconds, share of idle time and GiB; speedups over it of ZeRO-1, ACCO drained, ACCO,
# DPU; GiB of ACCO.
rows() {
  "$program" sweep "$1.json" --over "$steps=$3" --over "$rate=400,100,25 Gbit/s" -o "$folder/$1.jsonl" \
    --csv "$folder/$1.csv" >/dev/null
  "$program" sweep "$1.json" --set "$steps=${3#*,}" --over "$rate=25..400:9:log Gbit/s" -o "$folder/$1.curve.jsonl" >/dev/null
  "$program" plot --kind curve "$folder/$1.curve.jsonl" --by best-synchronous -o "$out/scenarios/three_d/$1.svg" >/dev/null
  awk -F '"best_synchronous":"' 'NR > 1 { split($2, form, "\""); print form[1] }' "$folder/$1.jsonl" >"$folder/forms"
  awk -F, -v OFS='\t' -v forms="$folder/forms" -v model="$2" -v many="${3%,*}" '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    { gsub(/"[^"]*"/, "") }
    { speedup[++n] = $column["speedup_over_best_synchronous"] }
    n == 2 || n == 3 { gib[n] = $column["memory_resident_bytes"] / 2 ^ 30 }
    n == 5 {
      getline form <forms
      if (sub(/^zero1, overlapped both ways, aligned, /, "", form)) sub(/ chunks a stage$/, "", form)
      split($column["/cluster/nodes/0/nics/bandwidth"], adapter, " ")
      print model, $column["/training/gradient_accumulation_steps"] == many ? "4M" : "1M", adapter[1], form,
        $column["update_time_s"], $column["gpu_idle_fraction"], $column["memory_resident_bytes"] / 2 ^ 30,
        speedup[1], speedup[2], speedup[3], speedup[4], gib[3]
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
or 16 stages. The baseline is Megatron-LM's distributed optimizer at its best: gradients and parameters overlapped, those of all stages at once, and
stages interleaved into as many chunks as are fastest. Drained ACCO is interleaved too, into 8, 10 and 6 chunks. All schedules train on the same samples an update, and wait where communication is late.

TEXT
  printf '**ACCO as it is written drains the pipeline twice an update, and with that it is %s times as fast as the best synchronous schedule: it gains at no size, on no network.** ' "$(between . . 9)"
  printf '**Where stages keep the parameters before and go on (`"pipeline_flush": false`), it is %s times as fast at 4M tokens an update and %s at 1M with adapters of 100 or 400 Gbit/s, and %s with 25 Gbit/s, where the two communications of its update no longer hide behind so few micro-batches.**\n\n' \
    "$(between 4M '00$' 10)" "$(between 1M '00$' 10)" "$(between . '^25$' 10)"
  cat <<'TEXT'
What it gains over interleaved stages is what is left of their bubble. DPU, which communicates once an update, gains more, with gradients
that are one update late. Beside ZeRO-1 whose stages are not interleaved every schedule here looks better.

| model | tokens | Gbit/s a GPU | chunks | s | idle | GiB | ZeRO-1, not interleaved | ACCO, drained | ACCO, no flush | DPU, no flush | GiB, ACCO |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
TEXT
  awk -F'\t' '{ printf "| %s | %s | %s | %s | %.2f | %.1f %% | %.1f | %.2f | %.2f | %.2f | %.2f | %.1f |\n", $1, $2, $3, $4, $5, 100 * $6, $7, $8, $9, $10, $11, $12 }' "$folder/rows"
  cat <<'TEXT'

`chunks` to `GiB`: a stage's chunks in the best synchronous schedule, seconds of its update, share in which a GPU computes nothing,
memory. Then speedups over it. No run of
ACCO on a pipeline has been published; what no flush does to the loss is not known.

1M tokens an update, by the rate of an adapter:

![Llama 3 8B on 64 GPUs](llama_3_8b_64.svg)

![Llama 3 70B on 512 GPUs](llama_3_70b_512.svg)

![GPT-3 175B on 1,024 GPUs](gpt3_175b_1024.svg)

    ./accosim compare scenarios/three_d/llama_3_70b_512.json --wide
    reports/pages.sh three_d
TEXT
} >"$out/scenarios/three_d/README.md"

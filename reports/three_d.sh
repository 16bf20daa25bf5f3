#!/usr/bin/env bash
# Writes the figures of scenarios/three_d/README.md: what ACCO gains where models are split over tensor ranks and stages,
# each side at its own best layout, for three sizes on three networks. `pages.sh three_d` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
cd -- scenarios/three_d

# best SCENARIO OWN SCHEDULE SET...: layout, seconds of an update, share of idle time and GiB of the fastest point of all that
# keep the batch. OWN: the layout as the file writes it.
best() {
  "$program" advise "$1.json" --schedule "$3" --over parallel --json "${@:4}" | awk -v own="$2" '
    /^  "winner": \{/ { on = 1; next }
    on && /^  \}/ { exit }
    on && match($0, /^    "[a-z_]+": /) {
      value = substr($0, RLENGTH + 1)
      gsub(/^"|"?,$/, "", value)
      of[substr($0, 6, RLENGTH - 8)] = value
    }
    END {
      layout = of["options"]
      if (layout ~ /^micro/) layout = own ", " layout
      sub(/the whole model on each GPU/, "TP 1", layout)
      sub(/tensor_parallel_size/, "TP", layout)
      sub(/, sequence_parallel/, "", layout)
      sub(/pipeline_parallel_size/, "PP", layout)
      sub(/virtual_pipeline_stages/, "VPP", layout)
      sub(/expert_parallel_size/, "EP", layout)
      sub(/, expert_tensor_parallel_size 1/, "", layout)
      sub(/, gradient_accumulation_steps.*/, "", layout)
      sub(/micro_batch_size/, "micro-batch", layout)
      if (of["label"] ~ /without a flush/) layout = layout ", no flush"
      print layout "\t" of["update_time_s"] "\t" of["gpu_idle_fraction"] "\t" of["memory_resident_bytes"] / 2 ^ 30
    }'
}

# rows SCENARIO NAME OWN STEPS...: a line a point: name, tokens, adapter, and best() of ZeRO-1 and of ACCO.
rows() {
  local tokens=4M steps rate set
  for steps in "${@:4}"; do
    for rate in ${rates:-400 100 25}; do
      set=(--set "/training/gradient_accumulation_steps=$steps" --set "/cluster/nodes/0/nics/bandwidth=$rate Gbit/s")
      printf '%s\t%s\t%s\t%s\t%s\n' "$2" "$tokens" "$rate" "$(best "$1" "$3" zero1 "${set[@]}")" "$(best "$1" "$3" acco "${set[@]}")"
    done
    tokens=1M
  done
}

{
  rows llama_3_8b_64 'Llama 3 8B, 64 GPUs' 'TP 4, PP 2' 64 16
  rows llama_3_70b_512 'Llama 3 70B, 512 GPUs' 'TP 8, PP 8' 64 16
  rows gpt3_175b_1024 'GPT-3 175B, 1,024 GPUs' 'TP 8, PP 16' 256 64
} >"$folder/rows"
rates='400 100' rows qwen3_30b_64 'Qwen3 30B-A3B, 64 GPUs' 'PP 2, EP 8' 32 >"$folder/experts"

# between TOKENS ADAPTER [FILE]: least and greatest speedup where both match.
between() {
  awk -F'\t' -v tokens="$1" -v adapter="$2" '
    $2 ~ tokens && $3 ~ adapter { times = $5 / $9; if (!n++ || times < low) low = times; if (n == 1 || times > high) high = times }
    END { printf "%.2f to %.2f", low, high }' "$folder/${3:-rows}"
}

region_gain() {
  printf '**ACCO is %s times as fast as the best synchronous schedule at 4M tokens an update and %s at 1M on NICs of 100 or 400 Gbit/s, and %s on 25 Gbit/s.**\n' \
    "$(between 4M '00$')" "$(between 1M '00$')" "$(between . '^25$')"
}

# table FILE
table() {
  echo '| model | tokens | Gbit/s a GPU | best synchronous | s | idle | GiB | ACCO | s | idle | GiB | ACCO is so many times as fast |'
  echo '|---|--:|--:|---|--:|--:|--:|---|--:|--:|--:|--:|'
  awk -F'\t' '{ printf "| %s | %s | %s | %s | %.2f | %.1f %% | %.1f | %s | %.2f | %.1f %% | %.1f | %.2f |\n", $1, $2, $3, $4, $5, 100 * $6, $7, $8, $9, 100 * $10, $11, $5 / $9 }' "$folder/$1"
}
region_rows() { table rows; }

region_experts() {
  printf '**With experts, and no activation recomputed, ACCO is %s times as fast as the best synchronous schedule on NICs of 100 or 400 Gbit/s.**\n\n' "$(between . '00$' experts)"
  table experts
}

fill_regions README.md >"$out/scenarios/three_d/README.md"

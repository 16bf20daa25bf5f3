#!/usr/bin/env bash
# Writes the figures of reports/published/peers.md: the measured steps for which another simulator published its own
# prediction, with ours beside it, and a search of the same space. `pages.sh peers` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

# What Calculon prints, in seconds: `calculon llm-validation` of github.com/calculon-ai/calculon at caa4b11, its table
# "End-to-end".
cat >"$folder/korthikanti" <<'ROWS'
gpt-22b-8x-a100-full	1.40
gpt-22b-8x-a100-selective	1.14
gpt-175b-64x-a100-full	18.03
gpt-175b-64x-a100-selective	13.64
ROWS

# What SimuMax prints, as the error of its TFLOP/s in percent: docs/FULL_RESULTS.md of github.com/MooreThreads/SimuMax at
# 4dcaae5.
cat >"$folder/simumax_a100_pcie" <<'ROWS'
llama3-70b-tp1-pp2-dp4-ep1-mbc4	-1.46
llama3-70b-tp4-pp1-dp2-ep1-mbc4	-0.59
llama3-70b-tp1-pp2-dp4-ep1-mbc8	-0.1
llama3-70b-tp4-pp1-dp2-ep1-mbc8	-1.28
llama3-70b-tp1-pp2-dp4-ep1-mbc32	2.12
llama3-70b-tp4-pp1-dp2-ep1-mbc32	-1.71
llama3-8b-tp1-pp2-dp4-ep1-mbc4	0.04
llama3-8b-tp4-pp1-dp2-ep1-mbc4	1.96
llama3-8b-tp1-pp2-dp4-ep1-mbc8	1.53
llama3-8b-tp4-pp1-dp2-ep1-mbc8	1.35
llama3-8b-tp1-pp2-dp4-ep1-mbc32	3.76
llama3-8b-tp4-pp1-dp2-ep1-mbc32	2.08
ROWS

# table SOURCE NAME IN: IN is `s` where the peer's rows are seconds, `%` where they are errors of TFLOP/s.
table() {
  "$program" validate --case "$1/" --markdown >"$folder/page"
  printf '| step | measured | %s | | ours | | ours, source left out |\n|---|--:|--:|--:|--:|--:|--:|\n' "$2"
  awk -F' *[|] *' -v unit="$3" -v source="$1/" '
    function seconds(text,   part) { split(text, part, " "); return part[1] * (part[2] == "ms" ? 1e-3 : 1) }
    function size(percent) { return percent < 0 ? -percent : percent }
    FNR == NR { split($0, pair, "\t"); theirs[pair[1]] = pair[2]; next }
    index($2, source) != 1 || !(substr($2, length(source) + 1) in theirs) { next }
    {
      name = substr($2, length(source) + 1)
      measured = seconds($3)
      error = unit == "s" ? 100 * (theirs[name] / measured - 1) : 100 * (1 / (1 + theirs[name] / 100) - 1)
      printf "| %s | %s | %.3g s | %+.1f %% | %s | %s | %s |\n", name, $3, measured * (1 + error / 100), error, $4, $6, $5
      ++rows; their += size(error); our += size($6 + 0); left += size($5 + 0)
    }
    END {
      if (!rows) exit 1
      printf "| mean error of %d | | | %.1f %% | | %.1f %% | %.1f %% |\n", rows, their / rows, our / rows, left / rows
    }' "$folder/$1" "$folder/page"
}

# What advise says of the same model, GPUs and batch.
region_turing() {
  echo '```'
  "$program" advise gpt3_175b_1024_a100 --set '/published={}' --set '/schedules=[{"name": "zero1"}]' --set '/baseline=zero1' \
    --set '/model={"model_type": "gpt2", "name": "Turing-NLG 530B", "n_layer": 105, "n_embd": 20480, "n_head": 128, "n_positions": 2048, "vocab_size": 51200}' \
    --set /cluster/nodes/0/count=280 --set /training/micro_batch_size=1 --set /training/gradient_accumulation_steps=280 \
    --set '/training/parallel={"tensor_parallel_size": 8, "pipeline_parallel_size": 35}' --set /training/train_tokens=4587520 \
    --over parallel --over activation_recompute --over overlap --budget 10000 | sed '/^$/,$d'
  echo '```'
}

region_calculon() { table korthikanti Calculon s; }
region_simumax() { table simumax_a100_pcie SimuMax %; }

fill_regions reports/published/peers.md >"$out/reports/published/peers.md"

#!/usr/bin/env bash
# Writes the figures of reports/published/schedules.md and its picture: every schedule on one cluster and over a slow link,
# and what papers published of some of them beside what is predicted. `pages.sh schedules` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

# page SCENARIO [OPTIONS]: its table, and what its columns mean.
page() {
  "$program" compare "scenarios/schedules/$1.json" --markdown "${@:2}" 2>/dev/null | sed 's/^# /## /'
}

# points SCENARIO AXIS [OPTIONS]: schedule, value, seconds of an update, seconds of it exposed, tokens a second.
points() {
  "$program" sweep "scenarios/schedules/$1.json" --over "$2" --no-tuned --by tokens -o "$folder/$1.jsonl" \
    --csv "$folder/$1.csv" --force "${@:3}" >/dev/null 2>&1
  awk -F'"' -v OFS='' '{ for (i = 2; i <= NF; i += 2) gsub(/,/, ";", $i) } 1' "$folder/$1.csv" | awk -F, -v axis="${2%%=*}" '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    { print $column["schedule"] "\t" $column[axis] "\t" $column["update_time_s"] "\t" \
        $column["exposed_communication_s"] "\t" $column["tokens_per_s"] }'
}

region_overlap() {
  echo '| meeting | time beside computation, over computation | published |'
  echo '|---|--:|--:|'
  points overlap_resnet18 '/training/micro_batch_size=128' | awk -F'\t' '
    BEGIN { was["every update"] = "34.6 % (the time of a micro-batch was chosen by it)"; was["overlapped; 2 updates"] = "1.5 %" }
    { name[NR] = $1; time[NR] = $3 }
    $1 == "alone" { alone = $3 }
    END {
      for (i = 1; i <= NR; ++i)
        if (name[i] != "alone")
          printf "| %s | %.1f %% | %s |\n", name[i], 100 * (time[i] / alone - 1), (name[i] in was) ? was[name[i]] : "-"
    }'
}

region_co2() {
  echo '| GPUs | AdamW, tokens a second | CO2 every 12 updates | every 48 |'
  echo '|--:|--:|--:|--:|'
  points co2_7b '/cluster/nodes/0/count=2,16' >"$folder/co2"
  # A node alone has nobody to meet.
  points co2_7b '/cluster/nodes/0/count=1' --set '/schedules=[{"name": "zero2", "label": "adamw"}]' >>"$folder/co2"
  awk -F'\t' '
    { rate[$1, $2] = $5 }
    END {
      for (i = 1; i <= 3; ++i) {
        nodes = i == 1 ? 1 : i == 2 ? 2 : 16
        printf "| %d | %.0f | %s | %s |\n", 8 * nodes, rate["adamw", nodes],
          nodes == 1 ? "-" : sprintf("%.0f", rate["co2; 12", nodes]), nodes == 1 ? "-" : sprintf("%.0f", rate["co2; 48", nodes])
      }
      printf "\nPublished: AdamW 18,444 tokens a second on 8 GPUs, 3,488 on 16 and 22,810 on 128; CO2 every 48 updates 304,736 on 128.\n"
      printf "\nFrom 16 to 128 GPUs a GPU keeps, of its tokens a second: AdamW %.2f (published 0.82), CO2 every 12 updates %.2f (0.86), every 48 %.2f (1.06). From 8 to 16 GPUs AdamW has %.2f times the tokens a second (published 0.19).\n",
        rate["adamw", 16] / rate["adamw", 2] / 8, rate["co2; 12", 16] / rate["co2; 12", 2] / 8,
        rate["co2; 48", 16] / rate["co2; 48", 2] / 8, rate["adamw", 2] / rate["adamw", 1]
    }' "$folder/co2"
}

region_intellect() {
  echo '| setting | 100 updates and meeting, published | utilisation, published | link of a node that our meeting needs for it |'
  echo '|---|--:|--:|--:|'
  points intellect_1 '/cluster/nodes/0/nics/bandwidth=0.1,0.15,0.2,0.3,0.4,0.5,0.7,1,1.4,2,3,4 Gbit/s' |
    awk -F'\t' '
      $1 == "diloco" { split($2, rate, " "); gbit[++n] = rate[1]; meeting[n] = 100 * $4; update = $3 - $4 }
      function needed(seconds,   i, x) {
        for (i = 1; i < n; ++i)
          if (meeting[i] >= seconds && meeting[i + 1] <= seconds) {
            x = (log(seconds) - log(meeting[i])) / (log(meeting[i + 1]) - log(meeting[i]))
            return sprintf("%.2f Gbit/s", exp(log(gbit[i]) + x * (log(gbit[i + 1]) - log(gbit[i]))))
          }
        return "outside of 0.1 to 4 Gbit/s"
      }
      END {
        printf "| USA | 38 min + 103 s (80 to 180) | 95.7 %% | %s |\n", needed(103)
        printf "| USA and Europe | 38 min + 382 s (300 to 600) | 85.6 %% | %s |\n", needed(382)
        printf "| global | 38 min + 469 s (350 to 1,400) | 83.0 %% | %s |\n", needed(469)
        printf "\nA hundred updates take %.1f min here (published 38 min), without their meeting. ", 100 * update / 60
      }'
  cat <<'TEXT'
The report states links of 500 Mbit/s to 4 Gbit/s. Within the USA its meetings need the middle of that range, between the continents
its lower end and less: there every node would have had the slowest of the stated links, which contradicts the range; latency,
TCP and the worst edge of a ring that was made by hand have their part. The published utilisations are 2280 s over 2280 s and the
meeting, an identity. The samples of an update (16 sequences of 8192 tokens a GPU) are not in the report's table.
TEXT
}

region_all() { page all --convergence reports/published/convergence.json; }
region_wan() {
  page wan --convergence reports/published/convergence.json | sed -n '1,/^\*All tokens/p' | sed '/^\*All tokens/d'
}

"$program" plot --kind breakdown scenarios/schedules/all.json -o "$out/reports/published/schedules.svg" >/dev/null 2>&1
fill_regions reports/published/schedules.md >"$out/reports/published/schedules.md"

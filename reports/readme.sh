#!/usr/bin/env bash
# Writes the figures that README.md shows, so that none is older than the program: its regions (setup.sh) come from the
# program's output or from a page of reports/published; and the picture that it shows. `pages.sh readme` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

# An excerpt of `compare`: the answer and the table.
region_compare() {
  printf '```text\n'
  "$program" compare overlap_2x4_a100 | awk -v RS= -v ORS='\n\n' 'NR == 1 || NR == 3' | sed '/^--wide/,$d'
  printf '```\n'
}

# The first table of the page: the groups, with each source left out of the fits and with the shipped constants.
region_errors() {
  printf '| what was measured | cases | mean error, its source left out of the fits | fitted |\n|---|---|---|---|\n'
  awk -F ' *[|] *' '
    /^\| group \|/ { table = 1; next }
    table && /^\|---/ { next }
    table && !/^\|/ { exit }
    table { printf "| %s | %s | %s | %s |\n", $2, $3, $4, $5; rows++ }
    END { exit rows == 0 }' reports/published/validation.md
}

# The errors of the two groups of steps, in a sentence.
region_accuracy() {
  awk -F ' *[|] *' '
    /^\| group \|/ { table = 1; next }
    table && !/^\|/ { exit }
    $2 == "training step" { whole = $3; error = $4 }
    $2 == "training step of a split model" { parts = $3; split_error = $4 }
    END {
      if (!whole || !parts) exit 1
      printf "How good: of %d published training steps, each predicted with its source left out of the fits, the mean error is %s where a\n", whole + parts, error
      printf "GPU holds the model (%d steps) and %s where it is split (%d).\n", whole, split_error, parts
    }' reports/published/validation.md
}

# Whether the intervals hold what they promise, of the steps, each source left out of the fits.
region_intervals() {
  awk -F ' *[|] *' '
    /^\| group \| inside, source left out \|/ { table = 1 }
    table && $2 == "training step" { whole = $3 + 0 }
    table && $2 == "training step of a split model" { split_model = $3 + 0 }
    table && !/^\|/ { exit }
    END {
      if (!whole || !split_model) exit 1
      printf "Intervals aim at 80 %%. Of published steps %.0f %% fell inside where a GPU holds the model and %.0f %% where it is split,\n", whole, split_model
      print "with their source left out of the fits; what widens those of split models is fitted to all of them."
    }' reports/published/validation.md
}

fill_regions README.md >"$out/README.md"
"$program" plot --kind timeline scenarios/paper/finetune_2x4_a100.json -o "$out/reports/published/timeline.svg"

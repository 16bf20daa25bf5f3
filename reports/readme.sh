#!/usr/bin/env bash
# Writes the figures that README.md shows, so that none is older than the program: what stands between
# `<!-- written by reports/readme.sh: NAME -->` and `<!-- end -->` comes from the program's output or from a page of
# reports/published; and the picture that it shows. `pages.sh readme` calls it.
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
      print "with their source left out of the fits."
    }' reports/published/validation.md
}

inside=''
while IFS= read -r line || [ -n "$line" ]; do
  case $line in
    '<!-- written by reports/readme.sh: '*' -->')
      name=${line#'<!-- written by reports/readme.sh: '}
      name=${name%' -->'}
      if [ "$(type -t "region_$name")" != function ]; then
        echo "README.md: no region is named $name; reports/readme.sh has those" >&2
        exit 1
      fi
      printf '%s\n' "$line"
      region=$("region_$name")
      printf '%s\n' "$region"
      inside=$name
      ;;
    '<!-- end -->')
      printf '%s\n' "$line"
      inside=''
      ;;
    *) [ -n "$inside" ] || printf '%s\n' "$line" ;;
  esac
done <README.md >"$out/README.md"
if [ -n "$inside" ]; then
  echo "README.md: the region $inside has no end; write <!-- end --> after it" >&2
  exit 1
fi
"$program" plot --kind timeline scenarios/paper/finetune_2x4_a100.json -o "$out/reports/published/timeline.svg"

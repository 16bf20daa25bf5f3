#!/usr/bin/env bash
# Writes the figures that README.md shows, so that none is older than the program: what stands between
# `<!-- written by reports/readme.sh: NAME -->` and `<!-- end -->` comes from the program's output or from a page of
# reports/published. `readme.sh [PROGRAM]` writes the file anew (PROGRAM is ./accosim unless named); `readme.sh --check
# [PROGRAM]` changes nothing, and where the file is out of date shows the difference and exits 1.
set -eu
shopt -s inherit_errexit
root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
check=no
if [ "${1:-}" = --check ]; then
  check=yes
  shift
fi
program=$(realpath -- "${1:-$root/accosim}")
readme=$root/README.md
unset COLUMNS NO_COLOR ACCOSIM_DATA_DIR
cd -- "$root"

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

written=$(mktemp)
trap 'rm -f "$written"' EXIT
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
done <"$readme" >"$written"
if [ -n "$inside" ]; then
  echo "README.md: the region $inside has no end; write <!-- end --> after it" >&2
  exit 1
fi

if [ "$check" = no ]; then
  # A test holds the committed picture against what this command makes.
  "$program" plot --kind timeline scenarios/paper/finetune_2x4_a100.json -o reports/published/timeline.svg
  cat -- "$written" >"$readme"
elif ! diff -u --label README.md --label 'README.md, as reports/readme.sh writes it' "$readme" "$written"; then
  echo "README.md is out of date; run reports/readme.sh" >&2
  exit 1
fi

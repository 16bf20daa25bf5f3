#!/usr/bin/env bash
# What the rooms hold of their budget (tests/lint/budget). `budget.sh --count [ROOT]` prints each room, its lines and the most
# that it may have (- is a folder without a row), and all of them last; `budget.sh --lower [ROOT]` takes off the table what
# has been saved, and rows of rooms that are gone. It never raises: that is written by hand, with its reason.
set -eu
lint=$(dirname -- "$(readlink -f -- "$0")")
mode=${1:-}
case $mode in --count | --lower) ;; *) echo "usage: budget.sh --count|--lower [ROOT]" >&2 && exit 2 ;; esac
cd -- "${2:-$lint/../..}"
. "$lint/files.sh"

if [ "$mode" = --count ]; then
  awk -v count=1 -f "$lint/budget.awk" tests/lint/budget "${code[@]}" | sort |
    awk '{ print; lines += $2; most += $3 } END { printf "%-24s %6d %6d\n", "all", lines, most }'
else
  lowered=$(awk -v lower=1 -f "$lint/budget.awk" tests/lint/budget "${code[@]}")
  printf '%s\n' "$lowered" >tests/lint/budget
fi

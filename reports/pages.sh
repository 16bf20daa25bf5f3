#!/usr/bin/env bash
# Writes the pages that the program computes, so that none is older than the program. `pages.sh [PAGE...]` writes those that
# are named, or all; with `--check` it changes nothing, shows how each differs from what is committed, and exits 1 if any does.
# `--program PROGRAM` is ./accosim unless named; `--list` prints the names of the pages. Pages of runs and timings (live.md,
# convergence.md, scaling.md) are none of these: they say when and where they were measured.
set -u
root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# In this order: README.md shows figures of validation.md.
pages='validation generalisation generations acco-rows memory-verdicts nccl-choices growth best_synchronous schedules peers
  three_d mixes readme'

usage() {
  printf 'usage: pages.sh [--check] [--program PROGRAM] [PAGE...]\n       pages.sh --list\npages:%s\n' "$(printf ' %s' $pages)" >&2
  exit 2
}

# write NAME: the page with its pictures into $out, at their places in the clone.
write() {
  local page=$out/reports/published/$1.md
  case $1 in
    validation) "$program" validate --markdown --check >"$page" ;; # and no group is worse than its bound
    generalisation)
      "$program" validate --markdown --leave-out source >"$page" && echo >>"$page" &&
        "$program" validate --markdown --leave-out device >>"$page" ;;
    generations) "$program" validate --markdown --leave-out generation >"$page" ;;
    acco-rows) "$program" validate --paper-rows >"$page" ;;
    memory-verdicts) "$program" validate --memory-verdicts >"$page" ;;
    nccl-choices) "$program" validate --nccl-choices >"$page" ;;
    growth)
      "$program" explain llama-2-7b_fsdp_hsdp --growth >"$page" && echo >>"$page" &&
        "$program" explain llama-2-7b_fsdp_hsdp --growth --set /cluster=scenarios/clusters/dgx-h100-4x8.json >>"$page" ;;
    *) bash "reports/$1.sh" "$program" "$out" ;;
  esac
}

check=no program=$root/accosim wanted=()
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=yes ;;
    --list) printf '%s\n' $pages && exit ;;
    --program) program=${2:-} && shift ;;
    *) case " "$(printf '%s ' $pages) in *" $1 "*) wanted+=("$1") ;; *) usage ;; esac ;;
  esac
  shift
done
program=$(realpath -e -- "$program") || exit 2
[ ${#wanted[@]} -gt 0 ] || wanted=($pages)
unset COLUMNS NO_COLOR ACCOSIM_DATA_DIR
cd -- "$root" || exit 2
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

status=0
for name in "${wanted[@]}"; do
  out=$scratch/$name
  mkdir -p "$out/reports/published" "$out/scenarios/three_d"
  if ! write "$name"; then
    printf 'pages.sh: %s could not be written\n' "$name" >&2
    status=1
    continue
  fi
  if [ -z "$(find "$out" -type f)" ]; then
    printf 'pages.sh: %s wrote nothing\n' "$name" >&2
    status=1
  fi
  while IFS= read -r file; do
    if [ "$check" = no ]; then
      cat -- "$out/$file" >"$file" || status=1
    elif ! diff -uN --label "$file" --label "$file, as pages.sh writes it" "$file" "$out/$file" >"$scratch/diff"; then
      head -n 40 "$scratch/diff"
      printf '%s is out of date; run reports/pages.sh %s\n' "$file" "$name" >&2
      status=1
    fi
  done < <(cd "$out" && find . -type f | sed 's|^\./||' | sort)
done
exit "$status"

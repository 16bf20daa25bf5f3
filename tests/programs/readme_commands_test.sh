#!/usr/bin/env bash
# Every command that README.md and the how-to pages about LoRA, timed steps and sound machines show ends well when it is typed as it stands: those
# of code blocks and of the table, with the scenario or the table that each tells to write. Left out: what installs, what makes packages, and the validations, which others run.
#   readme_commands_test.sh PROGRAM ROOT
set -eu
program=$(realpath -- "$1") root=$(realpath -- "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$root/scenarios" "$root/reports" "$root/calibration" .
ln -s "$program" accosim
unset ACCOSIM_DATA_DIR
lora=$root/scenarios/how-to/lora.md steps=$root/scenarios/how-to/your-steps.md
sound=$root/scenarios/how-to/is-my-machine-sound.md
sed -nE '/^ +scenario,/,/^$/ s/^ +//p' "$steps" >steps.csv
for page in "$root/README.md:mine" "$lora:lora"; do
  awk '/^ +\{"model"/ { on = 1 } on { print } /accosim\.scenario\/1/ { on = 0 }' "${page%:*}" >"${page##*:}.json"
done
for rate in 100 400; do
  ./accosim compare mine.json --json --set "/cluster/nodes/0/nics/bandwidth=$rate Gbit/s" >"$([ $rate = 100 ] && echo a || echo b).json"
done

# A command a line: a block's, its continuations joined, and what stands in backticks in a table.
{
  sed -nE '/^ +\.\/acco/ { :more; /\\$/ { N; s/ *\\\n */ /; b more }; s/^ +//; p }' "$root/README.md" "$lora" "$steps" "$sound"
  sed -nE '/^\|/ { s/[^`]*`(\.\/acco[^`]*)`[^`]*/\1\n/g; p }' "$root/README.md" | grep '^./acco'
} | grep -vE -e '--live|validate( --markdown)?$|^./accocal' >commands
ran=0
while IFS= read -r command; do
  if ! bash -c "$command" </dev/null >said 2>&1; then
    printf 'this fails: %s\n' "$command" >&2
    cat said >&2
    exit 1
  fi
  ran=$((ran + 1))
done <commands
[ "$ran" -ge 20 ] || { echo "only $ran commands were found" >&2; exit 1; }

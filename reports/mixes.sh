#!/usr/bin/env bash
# Draws the pictures of scenarios/mixes/README.md, each by the command that stands below it, of the rows of its sweep.
# `pages.sh mixes` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
mkdir -p "$out/scenarios/mixes"
for sweep in scenarios/mixes/*.sweep.json; do
  name=${sweep##*/}
  "$program" sweep "$sweep" -o "$folder/${name%.sweep.json}.jsonl" >/dev/null
done

# As it is typed in a folder with the rows, but that the picture goes to $out.
cd -- "$folder"
ln -s "$out/scenarios" .
ln -s "$program" accosim
sed -nE 's/^    (\.\/accosim plot .*)/\1/p' "$root/scenarios/mixes/README.md" >commands
[ -s commands ] || { echo "mixes.sh: scenarios/mixes/README.md has no command that draws" >&2; exit 1; }
while IFS= read -r command; do bash -c "$command" </dev/null >/dev/null; done <commands

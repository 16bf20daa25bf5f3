#!/usr/bin/env bash
# Writes what scenarios/mixes/README.md shows of the sweeps: its tables, from what they print, and its pictures, each by the
# command that stands below it, of the rows of its sweep. `pages.sh mixes` calls it.
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
mkdir -p "$out/scenarios/mixes"
readme=$root/scenarios/mixes/README.md
names=''
for sweep in scenarios/mixes/*.sweep.json; do
  name=${sweep##*/} name=${name%.sweep.json}
  names="$names $name"
  "$program" sweep "$sweep" -o "$folder/$name.jsonl" --csv "$folder/$name.csv" |
    awk 'BEGIN { RS = "" } { gsub(/\n/, " "); print }' >"$folder/$name.txt" # a line a paragraph
done

# times NAME SCHEDULE COLUMN: least, median and most of a column of the sweep's CSV, of one schedule.
times() {
  awk -F, -v schedule="$2" -v key="$3" '
    NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    { gsub(/"[^"]*"/, "") }
    $column["schedule"] == schedule && $column[key] != "" { print $column[key] }' "$folder/$1.csv" | sort -g |
    awk '{ value[NR] = $1 }
      END {
        if (NR == 0) { print "-"; exit }
        printf "%.2f to %.2f, median %.2f", value[1], value[NR], (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2
      }'
}

region_winners() {
  printf '| sweep | who is the fastest | points at which the interval leaves it open | ACCO over the best synchronous schedule, at equal samples | at the largest batch, times what was asked |\n|---|---|---|---|---|\n'
  for name in $names; do
    open=$(sed -nE 's/.*At ([0-9,]+) points? the interval leaves open.*/\1/p' "$folder/$name.txt")
    grown=$(times "$name" acco batch_inflation)
    grown=${grown#*to }
    printf '| `%s` | %s | %s of %s | %s | %s |\n' "$name.sweep.json" "$(sed -nE '/ is the fastest at |^No schedule/ { p; q }' "$folder/$name.txt")" "${open:-0}" \
      "$(sed -nE 's/^[^:]*: ([0-9,]+) points of .*/\1/p' "$folder/$name.txt")" \
      "$(times "$name" acco speedup_over_best_synchronous)" "${grown%%,*}"
  done
}

region_worth() {
  printf '| sweep | worth it? | over the fastest part alone: the best synchronous schedule | ACCO | ZeRO-1 as written |\n|---|---|---|---|---|\n'
  for name in $names; do
    said=$(sed -nE 's/^Is the slower part worth adding\?.*(With the winner)/\1/p' "$folder/$name.txt")
    [ -n "$said" ] || continue
    printf '| `%s` | %s | %s | %s | %s |\n' "$name" "$said" "$(times "$name" 'best synchronous' speedup_over_alone)" \
      "$(times "$name" acco speedup_over_alone)" "$(times "$name" zero1 speedup_over_alone)"
  done
}

fill_regions "$readme" >"$out/scenarios/mixes/README.md"

# As it is typed in a folder with the rows, but that the picture goes to $out.
cd -- "$folder"
ln -s "$out/scenarios" .
ln -s "$program" accosim
sed -nE 's/^    (\.\/accosim plot .*)/\1/p' "$readme" >commands
[ -s commands ] || { echo "mixes.sh: scenarios/mixes/README.md has no command that draws" >&2; exit 1; }
while IFS= read -r command; do bash -c "$command" </dev/null >/dev/null; done <commands

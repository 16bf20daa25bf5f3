#!/usr/bin/env bash
# The ledger of assumptions is only as good as the names in it: a test that was renamed holds nothing any more, and an
# error that is shown nowhere is a claim. So each test that a row names is in tests/, each row says where its error is
# shown (a group of the validation page or a page that exists), no row stands twice, links lead somewhere, and pages stay
# short enough to be read. The pages are those that models/README.md lists under "Pages".
# `ledger.sh ROOT` prints `file:line: what is wrong; what would be right` for each violation and exits 1 if there is any.
set -u
root=${1:?usage: ledger.sh ROOT}
cd -- "$root" || exit 2
index=models/README.md
validation=reports/published/validation.md
most=14999

for file in "$index" "$validation"; do
  [ -f "$file" ] || { echo "$file:1: is not there; the ledger needs it" && exit 1; }
done

# The tests as Suite.Name, one a line; a long name may stand on the line below its suite.
tests=$(find tests -name '*.cpp' -exec awk '
  FNR == 1 { begun = "" }
  begun != "" { $0 = begun $0; begun = "" }
  /^ *TEST(_F|_P)?\(/ {
    if ($0 !~ /\( *[A-Za-z0-9_]+ *, *[A-Za-z0-9_]+/) { begun = $0; next }
    sub(/^ *TEST(_F|_P)?\( */, "")
    match($0, /^[A-Za-z0-9_]+/)
    suite = substr($0, 1, RLENGTH)
    sub(/^[A-Za-z0-9_]+ *, */, "")
    match($0, /^[A-Za-z0-9_]+/)
    print suite "." substr($0, 1, RLENGTH)
  }' {} +)
[ -n "$tests" ] || { echo "tests:1: no test is found here; rows name tests of this folder" && exit 1; }

groups=$(awk '/^\| group \|/ { on = 1; next } on && /^\|-/ { next } on && !/^\|/ { exit } on { split($0, c, / *\| */); print c[2] }' "$validation")
[ -n "$groups" ] || { echo "$validation:1: its first table names no group; rows name groups of it" && exit 1; }

pages=() found=
while IFS=: read -r line link; do
  page=$(realpath -m --relative-to=. -- "models/$link")
  if [ -f "$page" ]; then pages+=("$page"); else
    found+="$index:$line: lists $link, which is not there; write the page or take it out"$'\n'
  fi
done < <(awk '/^## / { on = $0 == "## Pages" } on && match($0, /\]\([^)]*\.md\)/) { print FNR ":" substr($0, RSTART + 2, RLENGTH - 3) }' "$index")
if [ ${#pages[@]} = 0 ]; then
  echo "$index:1: lists no page; list those of the ledger under \"## Pages\""
  exit 1
fi

found+=$(
  grep -rlE --include='*.md' '^# The ledger:' models sim reports calibration 2>/dev/null | while IFS= read -r page; do
    case " ${pages[*]} " in *" $page "*) ;; *) echo "$page:1: is a page of the ledger that $index does not list; add it under \"## Pages\"" ;; esac
  done
  for page in "$index" "${pages[@]}"; do
    bytes=$(wc -c <"$page")
    [ "$bytes" -le $most ] || echo "$page:1: has $bytes bytes; at most $most, so divide it by subject"
  done

  awk -v index_page="$index" '
    FNR == 1 { ++part; table = 0; dir = FILENAME; sub(/[^\/]*$/, "", dir) }
    part == 1 { tests[$0]; suite = $0; sub(/\..*/, "", suite); suites[suite]; all[++count] = $0; next }
    part == 2 { groups[$0]; next }

    function wrong(what) { print FILENAME ":" FNR ": " what }
    function exists(path,  line, got) { got = (getline line < path); close(path); return got >= 0 }

    {  # links
      rest = $0
      while (match(rest, /\]\([^)]*\)/)) {
        link = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/#.*/, "", link)
        if (link != "" && link !~ /^https?:/ && !exists(dir link)) wrong("links to " link ", which is not there; link to a file that is")
      }
    }
    FILENAME == index_page { next }
    !/^\|/ { table = 0; next }
    !table {
      table = 1
      if ($0 != "| assumption | equation | source | test | error shown in |")
        wrong("begins another table; a table of the ledger begins | assumption | equation | source | test | error shown in |")
      next
    }
    /^\|-/ { next }
    {
      row = $0
      if (!sub(/^\| /, "", row) || !sub(/ \|$/, "", row) || split(row, cells, / \| /) != 5) {
        wrong("is no row of five cells; write | assumption | equation | source | test | error shown in |")
        next
      }
      if (cells[1] in seen) wrong("says what " seen[cells[1]] " says; a row stands on one page, once")
      seen[cells[1]] = FILENAME ":" FNR
      check_tests(cells[4])
      check_shown(cells[5])
    }

    function check_tests(cell,  n, i, names, name, suite, test, dot) {
      if (cell == "-") return
      n = split(cell, names, /, /)
      suite = ""
      for (i = 1; i <= n; ++i) {
        name = names[i]
        if (name !~ /^`[A-Za-z0-9_]*\.[A-Za-z0-9_]*\*?`$/ || name ~ /\.`$/) {
          wrong("has " name " for a test; write `Suite.Name`, `.Name`, `Suite.*` or -, with a comma between, and no counts")
          continue
        }
        name = substr(name, 2, length(name) - 2)
        dot = index(name, ".")
        if (dot > 1) suite = substr(name, 1, dot - 1)
        else if (suite == "") { wrong("begins its tests with " name "; name the suite in full"); continue }
        test = substr(name, dot + 1)
        if (!is_test(suite, test)) wrong("names the test " suite "." test ", which is not in tests/; name one that holds the row")
      }
    }
    function is_test(suite, test,  i, begin) {
      if (test == "*") return suite in suites
      if (test !~ /\*$/) return (suite "." test) in tests
      begin = suite "." substr(test, 1, length(test) - 1)
      for (i = 1; i <= count; ++i) if (substr(all[i], 1, length(begin)) == begin) return 1
      return 0
    }
    function check_shown(cell,  n, i, places, place) {
      n = split(cell, places, /, /)
      for (i = 1; i <= n; ++i) {
        place = places[i]
        if (place == "exact" || place == "not measured") { if (n > 1) wrong("says " place " beside other places; say it alone") }
        else if (place ~ /^`[^`]*`$/) {
          if (!(substr(place, 2, length(place) - 2) in groups))
            wrong("shows its error in the group " place ", which the first table of the validation page does not have; name one that it has")
        } else if (place !~ /^\[[^]]*\]\([^)]*\)$/)  # whose file is looked for above
          wrong("says \"" place "\" of its error; write `a group` of the validation page, [a page](path), exact or not measured, with a comma between")
      }
    }' <(printf '%s\n' "$tests") <(printf '%s\n' "$groups") "$index" "${pages[@]}"
)

if [ -n "$found" ]; then
  printf '%s\n' "$found"
  exit 1
fi

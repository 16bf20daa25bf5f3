#!/usr/bin/env bash
# The plan of the house, read from its #include lines: each folder but the tests' with its files and lines, and which folders
# it sees, those that all else stands on first. `rooms.sh` prints a table; `rooms.sh --dot` a drawing for Graphviz, whose arrows
# say how many includes they are: `tests/lint/rooms.sh --dot | tred | dot -Tsvg > rooms.svg` (tred leaves out those that follow
# from others). A ROOT behind it is another tree.
set -eu
drawn=
if [ "${1:-}" = --dot ]; then drawn=yes && shift; fi
cd -- "${1:-$(dirname -- "$(readlink -f -- "$0")")/../..}"

find . \( -name '.?*' -o -path ./build -o -path ./tests -o -name node_modules \) -prune -o \
  -type f \( -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.h' \) -print | sort | sed 's|^\./||' |
  xargs -d '\n' awk -v drawn=$drawn '
    FNR == 1 { room = FILENAME; sub(/\/[^\/]*$/, "", room); ++files[room] }
    { ++lines[room] }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      to = $0
      sub(/^[^"]*"/, "", to)
      sub(/\/[^\/]*".*/, "", to)
      if (to != room) ++includes[room, to]
    }

    END {
      # How many rooms stand below each other; where they go round in a circle it stops at their number.
      for (room in files) ++rooms
      for (moved = 1; moved && turns++ < rooms;) {
        moved = 0
        for (pair in includes) {
          split(pair, ends, SUBSEP)
          if (ends[2] in files && floor_of[ends[1]] <= floor_of[ends[2]]) moved = floor_of[ends[1]] = floor_of[ends[2]] + 1
        }
      }
      for (room in files)
        if (drawn) printf "0 \"%s\" [label=\"%s\\n%d files, %d lines\"];\n", room, room, files[room], lines[room]
        else printf "%d 0 %s %d %d\n", floor_of[room], room, files[room], lines[room]
      for (pair in includes) {
        split(pair, ends, SUBSEP)
        if (!(ends[2] in files)) continue  # what the build makes
        if (drawn) printf "1 \"%s\" -> \"%s\" [label=%d];\n", ends[1], ends[2], includes[pair]
        else printf "%d 1 %s %s\n", floor_of[ends[1]], ends[1], ends[2]
      }
    }' | LC_ALL=C sort -k1,1n -k3,3 -k2,2n -k4 |
  awk -v drawn=$drawn '
    function say() { sub(/ +$/, "", line); print line }
    BEGIN {
      if (drawn) print "digraph rooms {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];"
      else printf "%-24s %5s %6s  sees\n", "room", "files", "lines"
    }
    drawn { sub(/^[01]/, " "); print; next }
    $2 == 0 { if (NR > 1) say(); line = sprintf("%-24s %5d %6d ", $3, $4, $5); next }
    length(line " " $4) > 100 { say(); line = sprintf("%37s ", "") }
    { line = line " " $4 }
    END { if (drawn) line = "}"; say() }'

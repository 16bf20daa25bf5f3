# How many lines each room has, and may have. A room is a row of the table, which is the first file: a folder and the most
# lines of what is in it and in the folders below that have no row; "." is the root's own files alone. Blank lines are none,
# and a line counts as often as it is wider than .clang-format lets it be, so that long lines save nothing.
# Prints `file:line: what is wrong; what would be right`; with -v count=1 each room, its lines and its budget; with
# -v lower=1 the table, in which no budget is above what its room has.

BEGIN { table = ARGV[1]; columns = 120 }

FILENAME == table {
  row[++rows] = $0
  if (/^#/ || NF == 0) next
  if (NF != 2 || $2 !~ /^[0-9]+$/ || $1 in most) {
    if (!count && !lower) print table ":" FNR ": is no row; a row is a room, once, and the most lines it may have"
    next
  }
  most[$1] = $2
  at[$1] = FNR
  next
}

function room_of(path,   folder) {
  folder = path
  if (!sub(/\/[^\/]*$/, "", folder)) return "."
  while (!(folder in most) && sub(/\/[^\/]*$/, "", folder)) { }
  if (folder in most) return folder
  sub(/\/[^\/]*$/, "", path)
  return path
}

FNR == 1 {
  room = room_of(FILENAME)
  holds[room] = 1
  if (!(room in most) && !count && !lower) print FILENAME ":1: belongs to no room; give its folder a row in " table
}

/[^ \t\r]/ {
  wide = length($0)
  if (wide > columns) wide -= gsub(/[\200-\277]/, "")  # what continues a character of UTF-8
  lines[room] += wide > columns ? int((wide + columns - 1) / columns) : 1
}

END {
  if (count) {
    for (room in most) holds[room] = 1
    for (room in holds) printf "%-24s %6d %6s\n", room, lines[room], (room in most) ? most[room] : "-"
  } else if (lower) {
    for (i = 1; i <= rows; ++i) {
      split(row[i], part)
      if (at[part[1]] != i) print row[i]
      else if (part[1] in holds) printf "%-24s %6d\n", part[1], lines[part[1]] < part[2] ? lines[part[1]] : part[2]
    }
  } else {
    for (room in most) {
      if (!(room in holds)) print table ":" at[room] ": " room " holds no file; take its row away"
      else if (lines[room] > most[room])
        print room ":1: " lines[room] " lines; its budget is " most[room] " (" table "), " lines[room] - most[room] " too many; take something away, or say in the commit why the room must grow"
    }
  }
}

# No circles inside a folder: a module is x.hpp with its x.cpp, and where A sees B, by however many steps, B does not see
# A. Between folders the include table sees to it. `file:line: what is wrong; what would be right`.

BEGIN {
  # Circles that stand, each by the step that closes it. One that is mended goes off the list.
  known["sim/app/trace", "sim/app/schedules"] = 1
  known["sim/player/child", "sim/player/player"] = 1
  known["sim/player/player_state", "sim/player/player"] = 1
  known["calibration/ranks/namespaces", "calibration/ranks/local_network"] = 1
  known["calibration/train/gpt_passes", "calibration/train/gpt"] = 1
  known["calibration/train/rank", "calibration/train/training"] = 1
  known["calibration/train/summary", "calibration/train/training"] = 1
}

function module_of(path) { sub(/\.[a-z]+$/, "", path); return path }
function folder_of(path) { return match(path, /\/[^\/]*$/) ? substr(path, 1, RSTART - 1) : "." }

/^[ \t]*#[ \t]*include[ \t]*"/ {
  header = $0
  sub(/^[^"]*"/, "", header)
  sub(/".*/, "", header)
  from = module_of(FILENAME)
  to = module_of(header)
  if (from == to || folder_of(from) != folder_of(to) || from ~ /^tests\// || (from, to) in known || (from, to) in at) next
  at[from, to] = FILENAME ":" FNR
  next_of[from] = next_of[from] " " to
}

# Looks at all that `module` sees. state: 1 on the way that is being followed, 2 looked at.
function follow(module, way,   steps, count, i, to, circle) {
  state[module] = 1
  way = way " " module
  count = split(next_of[module], steps, " ")
  for (i = 1; i <= count; ++i) {
    to = steps[i]
    if (state[to] == 1) {
      circle = substr(way " ", index(way " ", " " to " ") + 1)
      gsub(/ $/, "", circle)
      gsub(/ /, ", which sees ", circle)
      print at[module, to] ": closes a circle: " circle ", which sees " to "; move what both need into a third"
    } else if (!state[to]) {
      follow(to, way)
    }
  }
  state[module] = 2
}

END {
  for (module in next_of) all[++modules] = module
  # By name, so that it is always the same step of a circle that is told.
  for (i = 2; i <= modules; ++i)
    for (j = i; j > 1 && all[j] < all[j - 1]; --j) { swap = all[j]; all[j] = all[j - 1]; all[j - 1] = swap }
  for (i = 1; i <= modules; ++i)
    if (!state[all[i]]) follow(all[i], "")
}

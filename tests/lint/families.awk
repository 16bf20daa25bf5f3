# A family of models is its row in models/spec/model_families.cpp; elsewhere its name may be in tests and in comments alone.
# The first file is the one with the rows, from which the names are read. `file:line: what is wrong; what would be right`.

FILENAME ~ /models\/spec\/model_families\.cpp$/ {
  if (/^constexpr ModelFamily k[A-Z]/ && split($0, quoted, "\"") > 2) names[quoted[2]] = 1
  next
}
FILENAME ~ /^tests\// { next }

{
  line = $0
  sub(/\/\/.*/, "", line)
  for (name in names) {
    # "measured" is a word too, and a heading of many tables.
    if (name == "measured" && line !~ /family|model_type/) continue
    if (line ~ "\"" name "\\\\?\"") print FILENAME ":" FNR ": decides by the family \"" name "\"; ask its row (models/spec/model_families.hpp) or the fields of Model"
  }
}

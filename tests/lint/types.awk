# One name, one type: what two files of a program define under one name in one namespace is undefined behaviour that no
# compiler and no linker reports. All programs count as one, since a test may link what two of them have. A declaration
# defines nothing, a specialization and a nested type (Outer::Inner too) are other names, and an anonymous namespace keeps
# its names to itself. Read as clang-format leaves it: what is at namespace scope begins its line.
# `file:line: what is wrong; what would be right`.

function check_end() {
  if (depth > 0) print opened_in ":" opened ": a namespace without an end that can be read; close it with }  // namespace"
}
FNR == 1 { check_end(); within = ""; depth = 0; open_head = "" }
END { check_end() }

# Namespaces, as "accosim::"; one that is anonymous, or inside such, has a "-" in it. A body of a single line ends
# without a comment.
/^namespace.*\{([ \t]*\/\/.*)?$/ {
  name = $0
  sub(/^namespace */, "", name)
  sub(/ *\{.*/, "", name)
  outer[++depth] = within
  within = within (name == "" ? "-" : name) "::"
  opened = FNR
  opened_in = FILENAME
  next
}
/^}.*\/\/ namespace/ || (/^}$/ && FNR == opened + 2 && before ~ /;$/) {
  if (depth > 0) within = outer[depth--]
  next
}
{ before = $0 }

function define(name, line,   key) {
  if (within ~ /-/) return
  key = within name
  if (!(key in home)) home[key] = FILENAME
  else if (home[key] != FILENAME) print FILENAME ":" line ": " key " is also defined in " home[key] "; give one of them another name"
}

# A head that its line leaves open is that of a definition if a brace comes before a semicolon.
open_head != "" && /[{;]/ {
  if (/^[^;]*\{/) define(open_head, open_line)
  open_head = ""
}

/^(template|struct|class|union|enum|using|concept)[ <]/ {
  head = $0
  sub(/ *\/\/.*/, "", head)
  if (head ~ /^template/) {
    while (head !~ /^template *<[^<>]*>/ && match(head, /<[^<>]*>/)) head = substr(head, 1, RSTART - 1) "#" substr(head, RSTART + RLENGTH)
    sub(/^template *<[^<>]*> */, "", head)
  }
  name = head
  if (head ~ /^(using|concept) +[A-Za-z_0-9]+ *(=|$)/) {
    sub(/^[a-z]+ +/, "", name)
    sub(/[^A-Za-z_0-9].*/, "", name)
    define(name, FNR)
  } else if (sub(/^(struct|class|union|enum( class| struct)?) +/, "", name)) {
    gsub(/(\[\[[^]]*\]\]|alignas\([^)]*\)) */, "", name)
    if (name !~ /^[A-Za-z_0-9]+( final)?( *$| *:[^:]| *\{)/) next  # a declaration, or a specialization
    sub(/[^A-Za-z_0-9].*/, "", name)
    if (head ~ /\{/) define(name, FNR)
    else if (head !~ /;/) { open_head = name; open_line = FNR }
  }
}

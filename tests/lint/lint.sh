#!/usr/bin/env bash
# Keeps the house in order where a compiler cannot: which folder may include which, where each heavy header has its only
# home, that no modules of a folder see each other in a circle, that rooms keep to their budget and files stay small, that
# no two types have one name, that nothing asks for a schedule or a family of models by its name, that files say why they
# exist, that typedef, (void) and assert are not used, and that no text names a place outside the project.
# `lint.sh ROOT` prints `file:line: what is wrong; what would be right` for each violation and exits 1 if there is any.
set -u
root=${1:?usage: lint.sh ROOT}
lint=$(dirname -- "$(readlink -f -- "$0")")
cd -- "$root" || exit 2

. "$lint/files.sh"
if [ ${#sources[@]} = 0 ]; then
  echo "lint: no source file under $root"
  exit 1
fi

found=$(
  [ ! -f models/README.md ] || bash "$lint/ledger.sh" .
  awk -f "$lint/includes.awk" "${sources[@]}" || echo "tests/lint/includes.awk:1: could not run"
  awk -f "$lint/circles.awk" "${sources[@]}" || echo "tests/lint/circles.awk:1: could not run"
  awk -f "$lint/types.awk" "${sources[@]}" || echo "tests/lint/types.awk:1: could not run"
  [ ! -f models/spec/model_families.cpp ] || awk -f "$lint/families.awk" models/spec/model_families.cpp "${sources[@]}"

  # What one can still look over: a room by its budget, a file by scrolling. 500 lines are an argument for dividing a file;
  # one noun may be as long as 700.
  if [ -f tests/lint/budget ]; then
    awk -f "$lint/budget.awk" tests/lint/budget "${code[@]}"
  else
    echo 'tests/lint/budget:1: is missing; it says how many lines each room may have'
  fi
  wc -l -- "${sources[@]}" /dev/null | awk '$1 > 700 && $2 != "total" { print $2 ":701: " $1 " lines; at most 700, so divide it" }'

  for file in "${sources[@]}"; do
    IFS= read -r first <"$file"
    case $first in
      //* | '/*'*) ;;
      "#include \"${file%.*}.hpp\"") ;; # which says it
      *) echo "$file:1: no opening comment; a file begins with one paragraph that says why it exists, or with its own header" ;;
    esac
  done
  for file in "${scripts[@]}"; do
    {
      IFS= read -r first
      case $first in '#!'*) IFS= read -r first ;; esac
    } <"$file"
    case $first in '# '* | '"""'*) ;; *) echo "$file:1: no opening comment; a script begins with why it exists" ;; esac
  done

  # A schedule is a row of data; who asks for its name forgets the next one. In the row, and where its functions are;
  # a benchmark names what it measures.
  names=$(sed -nE 's/.*\{\.name = "([a-z0-9_]+)",.*/\1/p' models/spec/schedule_traits.cpp 2>/dev/null | paste -sd '|')
  if [ -n "$names" ]; then
    printf '%s\n' "${sources[@]}" | grep -E '^(models|sim|reports)/' | grep -vE '^models/spec/schedule_traits\.|^sim/(schedules|bench)/' |
      xargs -r -d '\n' grep -nE "\"($names)\\\\?\"" -- /dev/null |
      sed -E 's/^([^:]*:[0-9]+):.*/\1: asks for a schedule by its name; ask a trait of its row in models\/spec\/schedule_traits.cpp/'
  fi
  # What the language has better words for.
  grep -nE '(^|[^_[:alnum:]])(typedef|assert\()|[A-Za-z_>]\(void\)' -- "${sources[@]}" /dev/null |
    sed -E 's/^([^:]*:[0-9]+):.*/\1: write using for typedef, () for (void), and a check that stays in the program for assert/'

  # A test that is in no program never fails.
  if [ -e tests/CMakeLists.txt ]; then
    printf '%s\n' "${sources[@]}" | sed -nE 's|^(tests/.*/([a-z0-9_]+_test[a-z_]*)\.cpp)$|\1 \2|p' |
      awk 'NR == FNR { known[$1]; next } !($2 in known) {
        print $1 ":1: is in no program of tests; name it in tests/CMakeLists.txt"
      }' <(find tests calibration -name CMakeLists.txt -exec grep -ohE '[a-z0-9_]+_test[a-z_]*' {} +) -
  fi

  # The places where the project happens to be developed. The brackets keep this file from naming them.
  grep -nIE '(^|[^A-Za-z0-9_.<-])/wor[k](/|[^A-Za-z0-9_/-]|$)|/tmp/brief[s]|\.\./share[d]/' -- "${files[@]}" /dev/null |
    sed -E 's/^([^:]*:[0-9]+):.*/\1: names a place outside the project; the project speaks of itself alone/'
)

if [ -n "$found" ]; then
  printf '%s\n' "$found"
  exit 1
fi
echo "lint: ${#files[@]} files, ${#sources[@]} of them C++, in order"

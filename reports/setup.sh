# What the scripts that pages.sh calls share. Sourced by bash, with the script's arguments PROGRAM and FOLDER: the clone is
# then the working folder, $program is PROGRAM, $out is FOLDER, which takes the page and its pictures at their places in the
# clone, and $folder is for files that go with the script.
set -euo pipefail
shopt -s inherit_errexit
root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
program=$(realpath -- "$1") out=$(realpath -- "$2")
cd -- "$root"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# fill_regions FILE: the file with what region_NAME prints in place of what stands between
# `<!-- written by reports/SCRIPT: NAME -->`, SCRIPT being this one, and `<!-- end -->`.
fill_regions() {
  local script=${0##*/} line name region inside=''
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      "<!-- written by reports/$script: "*' -->')
        name=${line#"<!-- written by reports/$script: "}
        name=${name%' -->'}
        if [ "$(type -t "region_$name")" != function ]; then
          echo "$1: no region is named $name; reports/$script has those" >&2
          return 1
        fi
        printf '%s\n' "$line"
        region=$("region_$name")
        printf '%s\n' "$region"
        inside=$name
        ;;
      '<!-- end -->')
        printf '%s\n' "$line"
        inside=''
        ;;
      *) [ -n "$inside" ] || printf '%s\n' "$line" ;;
    esac
  done <"$1"
  if [ -n "$inside" ]; then
    echo "$1: the region $inside has no end; write <!-- end --> after it" >&2
    return 1
  fi
}

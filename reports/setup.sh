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

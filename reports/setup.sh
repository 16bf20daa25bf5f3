# What the scripts that write pages share. Sourced by bash, with the script's arguments: $root is the clone, which is then
# the working folder, $program the first argument or ./accosim, and $folder a place for files that goes with the script.
set -eu
shopt -s inherit_errexit
root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
program=$(realpath -- "${1:-$root/accosim}")
unset COLUMNS NO_COLOR ACCOSIM_DATA_DIR
cd -- "$root"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

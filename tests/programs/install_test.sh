#!/usr/bin/env bash
# What is installed works where it was put, without the build folder's data, and is taken away whole.
#   install_test.sh BUILD_FOLDER
set -eu
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$build/install_manifest.txt" "$folder/manifest" 2>/dev/null || true # of an install that somebody made

fail() {
  echo "install: $1" >&2
  exit 1
}

cmake --install "$build" --prefix "$folder/usr" >/dev/null
mv "$folder/usr" "$folder/moved" # found from where the program is
for file in bin/accosim lib*/accosim/libaccosim_simgrid.so share/man/man1/accosim.1 \
  share/bash-completion/completions/accosim share/zsh/site-functions/_accosim share/doc/accosim/copyright; do
  [ -s "$folder/moved/"$file ] || fail "$file is not there"
done
env -i "$folder/moved/bin/accosim" compare finetune_2x4_a100 --json >"$folder/installed.json"
env -i "$build/bin/accosim" compare finetune_2x4_a100 --json | cmp - "$folder/installed.json" || fail 'predicts differently'
# Its data are its own: a profile that is gone is missed.
rm "$folder/moved/share/accosim/calibration/profiles/A100-SXM4-80GB.json"
! env -i "$folder/moved/bin/accosim" compare finetune_2x4_a100 >/dev/null 2>&1 || fail "reads the clone's data"

mv "$folder/moved" "$folder/usr"
cmake --build "$build" --target uninstall >/dev/null
left=$(find "$folder/usr" ! -type d -o -name accosim)
[ -z "$left" ] || fail "left behind: $left"
[ ! -e "$folder/manifest" ] || cp "$folder/manifest" "$build/install_manifest.txt"

#!/usr/bin/env bash
# Links accosim and accocal with g++'s link-time optimizer, which sees all their sources at once and reports a type, a function
# or a variable that two of them define differently: undefined behaviour that no compiler of one source finds.
# `odr.sh ROOT BUILD_FOLDER`; takes some eight minutes of processor time, so .ci/run does it one time in ten.
set -eu
root=$1 folder=$2
cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=OFF -DACCOSIM_CUDA=OFF \
  -DCMAKE_CXX_FLAGS='-flto -Wodr -Werror=odr -Wlto-type-mismatch' -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
  -DCMAKE_AR="$(command -v gcc-ar)" -DCMAKE_RANLIB="$(command -v gcc-ranlib)" >/dev/null
ninja -C "$folder" accosim accocal

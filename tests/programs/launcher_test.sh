#!/usr/bin/env bash
# The launcher's promises, tested on a toy project in a temporary folder with the real ./accosim, ./check, .ci/ and
# presets: when it builds and when it does not, what it leaves alone, and what it says when something is in the way.
# apt, sudo and ninja are stood in for where a real one would change this machine. `launcher_test.sh ROOT`.
set -u
root=${1:?usage: launcher_test.sh ROOT}
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
clone="$work/a clone"
failures=0

fail() {
  printf 'FAILED: %s\n' "$1"
  sed 's/^/  stdout: /' "$work/out"
  sed 's/^/  stderr: /' "$work/err"
  failures=$((failures + 1))
}

# run COMMAND...: leaves $status, $work/out and $work/err.
run() {
  "$@" >"$work/out" 2>"$work/err"
  status=$?
}

expect() { # expect WHAT STATUS STDOUT
  [ "$status" = "$2" ] || fail "$1: exit $status, not $2"
  [ "$(cat "$work/out")" = "$3" ] || fail "$1: stdout is not '$3'"
}
expect_silence() { [ ! -s "$work/err" ] || fail "$1: something was said on stderr"; }
expect_said() { grep -qE -- "$2" "$work/err" || fail "$1: stderr has no '$2'"; }

# The toy echoes its first argument and its stdin, and exits with its second.
make_clone() {
  mkdir -p "$clone"
  cp -R "$root/accosim" "$root/accocal" "$root/check" "$root/.ci" "$root/CMakePresets.json" "$clone/"
  cat >"$clone/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES CXX)
execute_process(COMMAND cat OUTPUT_QUIET) # would eat the program's stdin, were it to get there
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_executable(accosim main.cpp greeting.cpp)
add_executable(accocal EXCLUDE_FROM_ALL main.cpp greeting.cpp)
if(BUILD_TESTING)
  enable_testing()
  add_test(NAME good COMMAND accosim yes 0)
  add_test(NAME skipping COMMAND accosim no 77)
  set_tests_properties(skipping PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME bad COMMAND accosim no 1)
  add_test(NAME absent COMMAND no-such-program)
endif()
END
  cat >"$clone/main.cpp" <<'END'
#include "greeting.hpp"

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  std::cout << greeting() << (argc > 1 ? argv[1] : "") << std::endl;
  std::cout << std::cin.rdbuf();
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
END
  printf '#pragma once\nconst char* greeting();\n' >"$clone/greeting.hpp"
  greet 'hello '
}
greet() { printf '#include "greeting.hpp"\nconst char* greeting() { return "%s"; }\n' "$1" >"$clone/greeting.cpp"; }

make_clone
cd "$work" || exit 1
printf 'one\ntwo' >in

run "$clone/accosim" 'a  b' 7 </dev/null
expect 'first run' 7 'hello a  b'
expect_said 'first run' 'configuring build/release'
expect_said 'first run' 'building accosim in build/release'

[ ! -e "$clone/build/release/bin/accocal" ] || fail 'accosim alone builds accosim alone'
run "$clone/accocal" y </dev/null
expect 'the other program, by its link' 0 'hello y'
expect_said 'the other program' 'building accocal in build/release'
rm "$clone/build/release/bin/accocal"
run "$clone/accosim" z --live </dev/null
[ -x "$clone/build/release/bin/accocal" ] || fail 'what runs both builds both'

run "$clone/accosim" x <in
expect 'second run, reading its stdin' 0 $'hello x\none\ntwo'
expect_silence 'second run'

ln -s "a clone/accosim" link
ln -s "$work/link" link2
run ./link2 y </dev/null
expect 'through two symlinks' 0 'hello y'
expect_silence 'through two symlinks'
(cd "$clone" && bash accosim z </dev/null >"$work/out" 2>"$work/err")
status=$?
expect 'as an argument of bash' 0 'hello z'

greet 'changed '
run "$clone/accosim" <in
expect 'a changed source, stdin not eaten by the build' 0 $'changed \none\ntwo'
expect_said 'a changed source' 'building'

# As git checkout does: an older version, with the time of the checkout.
greet 'older '
run "$clone/accosim" </dev/null
expect 'an older source checked out' 0 'older '

printf 'const char* greeting();\nconst char* extra();\n' >"$clone/greeting.hpp"
printf 'const char* extra() { return "extra "; }\n' >"$clone/extra.cpp"
sed -i 's/<< greeting()/<< extra()/' "$clone/main.cpp"
sed -i 's/greeting.cpp)/greeting.cpp extra.cpp)/' "$clone/CMakeLists.txt"
run "$clone/accosim" </dev/null
expect 'a file added' 0 'extra '

rm "$clone/extra.cpp"
run "$clone/accosim" </dev/null
expect 'a file deleted but still listed' 4 ''
sed -i 's/ extra.cpp)/)/' "$clone/CMakeLists.txt"
sed -i 's/<< extra()/<< greeting()/' "$clone/main.cpp"
run "$clone/accosim" </dev/null
expect 'a file deleted' 0 'older '

sed -i 's/^project.*/&\nadd_compile_definitions(NEW)/' "$clone/CMakeLists.txt"
printf '#include "greeting.hpp"\n#ifdef NEW\nconst char* greeting() { return "defined "; }\n#endif\n' >"$clone/greeting.cpp"
run "$clone/accosim" </dev/null
expect 'a changed CMakeLists.txt' 0 'defined '

printf '#ifdef PRESET\n#define WORD "preset "\n#else\n#define WORD "plain "\n#endif\n' >"$clone/greeting.cpp"
printf 'const char* greeting() { return WORD; }\n' >>"$clone/greeting.cpp"
run "$clone/accosim" </dev/null
expect 'before the presets change' 0 'plain '
sed -i 's/"name": "release",/&\n      "environment": {"CXXFLAGS": "-DPRESET"},/' "$clone/CMakePresets.json"
run "$clone/accosim" <in
expect 'changed presets, stdin not eaten by the configuration' 0 $'preset \none\ntwo'
greet 'hello '

echo 'syntax error here' >>"$clone/greeting.cpp"
run "$clone/accosim" </dev/null
expect 'a compile error' 4 ''
expect_said 'a compile error' 'greeting.cpp:3:1: error'
run "$clone/check"
[ "$status" = 4 ] || fail "a compile error in check: exit $status, not 4"
greet 'hello '

run "$clone/check"
[ "$status" = 1 ] || fail "check with failing tests: exit $status, not 1"
[ "$(tail -n 1 "$work/out")" = '1 passed, 2 failed, 1 skipped' ] || fail 'check: one good, a bad and an absent, one skipping'
run "$clone/check" -R good
[ "$status" = 0 ] || fail "check of the good test: exit $status, not 0"
[ "$(tail -n 1 "$work/out")" = '1 passed, 0 failed, 0 skipped' ] || fail 'check -R good'
run "$clone/check" -R nonesuch
[ "$status" = 1 ] || fail "check of no test: exit $status, not 1"

# Two at once: both end well, and one of them built.
greet 'both '
"$clone/accosim" 1 </dev/null >out1 2>err1 &
"$clone/accosim" 2 </dev/null >out2 2>err2 &
wait
cat out1 out2 | sort >out
cat err1 err2 >err
status=0
expect 'two at once' 0 $'both 1\nboth 2'
[ "$(grep -c 'built 2 of 2' err)" = 1 ] || fail 'two at once: not exactly one of them built'

# While somebody else holds the lock, a launcher with something to do says that it waits, and waits.
greet 'waited '
exec 8>"$clone/build/.lock"
flock 8
: >err # what it holds is of the runs before; the launcher may not have opened it yet when we look
"$clone/accosim" </dev/null >out 2>err 8>&- &
until grep -q 'waiting for it' err || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
kill -0 $! 2>/dev/null || fail 'did not wait for the lock'
exec 8>&-
wait $!
status=$?
expect 'after a wait' 0 'waited '
expect_said 'after a wait' 'waiting for it'
greet 'both '
run "$clone/accosim" </dev/null

cp -a "$clone" "$work/copy"
printf 'const char* greeting() { return "copy "; }\n' >"$work/copy/greeting.cpp"
run "$work/copy/accosim" </dev/null
expect 'a copied clone' 0 'copy '
mv "$work/copy" "$work/moved"
run "$work/moved/accosim" </dev/null
expect 'a moved clone' 0 'copy '
run "$clone/accosim" </dev/null
expect 'the clone it was copied from' 0 'both '
expect_silence 'the clone it was copied from'
clone2=$work/moved
rm -rf "$clone2/build"
mkdir -p "$clone2/build/release"
touch "$clone2/build/release/CMakeCache.txt" # as a configure that was interrupted leaves it
run "$clone2/accosim" </dev/null
expect 'an interrupted configure' 0 'copy '

# A clone may be anywhere that CMake can hold, and its program knows where that is; elsewhere one line says so at once.
# odd NAME builds|refused: a clone in a folder of that name.
odd() {
  local place="$work/odd/$1"
  mkdir -p "$work/odd" && cp -R "$clone" "$place" && rm -rf "$place/build" && mkdir -p "$place/models/base" &&
    cp "$root/models/base/build_info.cmake" "$place/models/base/"
  sed -i 's|^add_executable(accosim|include(models/base/build_info.cmake)\naccosim_build_info(project kSourceFolder "${PROJECT_SOURCE_DIR}")\ninclude_directories("${ACCOSIM_BUILD_INFO_DIR}" "${PROJECT_SOURCE_DIR}")\n&|' "$place/CMakeLists.txt"
  printf '#include "greeting.hpp"\n#include "build_info/project.hpp"\nconst char* greeting() { return accosim::kSourceFolder; }\n' >"$place/greeting.cpp"
  run "$place/accosim" ' here' </dev/null
  if [ "$2" = builds ]; then
    expect "a clone in $1" 0 "$place here"
    run "$place/accosim" ' again' </dev/null
    expect "a clone in $1, again" 0 "$place again"
    expect_silence "a clone in $1, again"
  else
    expect "a clone in $1" 4 ''
    [ "$(grep -c . "$work/err")" = 1 ] || fail "a clone in $1: not refused in one line"
    expect_said "a clone in $1" 'move or clone it elsewhere'
    [ ! -e "$place/build/release/CMakeCache.txt" ] || fail "a clone in $1: refused too late"
  fi
}
export CCACHE_DISABLE=1 # else it would hide that ninja did not understand where the headers are
odd 'two  words' builds
odd 'a[1](2){3}' builds
odd 'x=1,y+2!~-' builds
odd '@PROJECT_NAME@ %s ü:' builds
odd 'c#' refused
odd "it's" refused
odd 'a "b"' refused
odd 'a;b' refused
odd 'this & that' refused
odd 'a*b' refused
odd 'what?' refused
odd 'a$b' refused
odd 'a\b' refused
odd 'a|b' refused
odd 'a<b>' refused
odd 'a^b' refused
odd 'a`b' refused
odd $'a\tb' refused
odd $'a\nb' refused
unset CCACHE_DISABLE

# What is missing, with stand-ins for apt and its surroundings, as a user without rights on a machine without SimGrid.
mkdir -p "$work/stub"
stub() { printf '#!/bin/sh\n# A stand-in.\n%s\n' "$2" >"$work/stub/$1" && chmod +x "$work/stub/$1"; }
stub dpkg-query 'shift 2; for p; do [ "$p" = libsimgrid-dev ] || echo "installed $p"; done'
stub id 'case $1 in -u) echo 1000 ;; *) echo someone ;; esac'
stub sudo 'exit 1'
stub apt-get 'echo "apt-get $*" >>"$APT_LOG"; echo "Err:1 http://deb.example bookworm"; echo "E: Failed to fetch http://deb.example Could not connect"; exit 100'
export APT_LOG=$work/apt.log
with_stubs() { run env PATH="$work/stub:$PATH" "$@"; }

rm -rf "$clone2/build"
with_stubs "$clone2/accosim" </dev/null
expect 'no rights' 4 ''
expect_said 'no rights' 'run: .*apt-get install --no-install-recommends libsimgrid-dev'
[ ! -e "$APT_LOG" ] || fail 'no rights: apt-get was called'
with_stubs "$clone2/check" </dev/null
[ "$status" = 4 ] || fail "no rights, check: exit $status, not 4"

stub id 'case $1 in -u) echo 0 ;; *) echo root ;; esac'
with_stubs "$clone2/accosim" </dev/null
expect 'no network' 4 ''
expect_said 'no network' 'no network'
expect_said 'no network' 'run: .*apt-get install --no-install-recommends libsimgrid-dev'

stub apt-get 'n=$(grep -c . "$APT_LOG" 2>/dev/null || true); echo "apt-get $*" >>"$APT_LOG"
if [ "${n:-0}" -lt 2 ]; then echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1"; exit 100; fi'
rm -f "$APT_LOG"
with_stubs "$clone2/accosim" </dev/null
expect 'apt busy, then installing' 0 'copy '
expect_said 'apt busy' 'installing from Debian: libsimgrid-dev'
expect_said 'apt busy' 'waiting'
[ "$(grep -c ' update' "$APT_LOG")" = 3 ] || fail 'apt busy: update was not tried until it could'
[ "$(grep -c 'install -y --no-install-recommends libsimgrid-dev$' "$APT_LOG")" = 1 ] || fail 'apt busy: not installed once'

# Cannot be brought up to date, but a program is there: it runs, with a warning.
printf 'const char* greeting() { return "newer "; }\n' >"$clone2/greeting.cpp"
stub id 'case $1 in -u) echo 1000 ;; *) echo someone ;; esac'
with_stubs "$clone2/accosim" x 5 </dev/null
expect 'a stale program is better than none' 5 'copy x'
expect_said 'a stale program' 'may be out of date'

# Another user than the builder. Root may write anywhere, so it steps down, where it can.
as_other=()
if [ "$(command id -u)" = 0 ]; then as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
chmod 755 "$work"
[ ${#as_other[@]} != 0 ] || chmod -R a-w "$clone2"
if "${as_other[@]}" test ! -w "$clone2/build/release" && "${as_other[@]}" test -x "$clone2/accosim"; then
  run "${as_other[@]}" "$clone2/accosim" x 6 </dev/null
  expect 'another user, a stale program' 6 'copy x'
  expect_said 'another user, a stale program' 'may be out of date'
  run "${as_other[@]}" "$clone/accosim" x 6 </dev/null
  expect 'another user, a current program' 6 'both x'
  expect_silence 'another user, a current program'
  chmod -R u+w "$clone2"
  rm -rf "$clone2/build/release"
  [ ${#as_other[@]} != 0 ] || chmod -R a-w "$clone2"
  run "${as_other[@]}" "$clone2/accosim" x 6 </dev/null
  expect 'another user, no program' 4 ''
  expect_said 'another user, no program' 'run: .*/moved/accosim --help'
else
  echo 'another user: not tested here'
fi

[ "$failures" = 0 ] && echo 'the launcher keeps its promises'

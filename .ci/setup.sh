# What ./accosim, ./check and .ci/run share: install what is missing from Debian, configure a preset, build it. Sourced
# by bash, with $root set to the clone. Nothing here reads stdin or writes stdout: both belong to the program.

kBuildPackages='g++ cmake ninja-build pkg-config libsimgrid-dev libeigen3-dev nlohmann-json3-dev libfmt-dev libcli11-dev zlib1g-dev libyaml-dev libtomlplusplus-dev'
kNetworkPackages=iproute2 # for accocal's namespaces
kTestPackages="$kBuildPackages $kNetworkPackages libgtest-dev"
kCannot=40   # set_up: the environment is in the way (a package, a permission, a network); a command was named
kBroken=41   # set_up: the sources do not configure or compile; the log was shown
kOutsidePackages='munge slurmctld slurmd slurm-client openmpi-bin zsh fish' # what tests otherwise skip for want of
build_flags=''  # for ninja
kSilence=10    # seconds without a word, at most
kLockPatience=${ACCOSIM_LOCK_PATIENCE:-900} # seconds to wait for another's apt before giving up

say() { printf 'accosim: %s\n' "$*" >&2; }

# cpu_of FILE: seconds of processor, of the ended children in FILE, which `times` wrote; a subshell would have written its own.
cpu_of() { awk 'NR == 2 { split($1, u, "[ms]"); split($2, s, "[ms]"); printf "%d", 60 * (u[1] + s[1]) + u[2] + s[2] }' "$1"; }

# folder_of PRESET: where it is built. With or without the tests is one build: what the program needs is compiled once.
folder_of() {
  case $1 in dev) printf '%s/build/release' "$root" ;; *) printf '%s/build/%s' "$root" "$1" ;; esac
}

# set_up PRESET TARGETS PACKAGES...: leaves TARGETS (words) of PRESET built and current. Returns 0, kCannot or kBroken.
set_up() {
  local preset=$1 target=$2
  shift 2
  build_folder=$(folder_of "$preset")
  refuse_odd_place || return $kCannot
  if ! mkdir -p "$build_folder" 2>/dev/null || [ ! -w "$build_folder" ] || [ ! -w "$root/build" ]; then
    explain_other_user "$preset"
    return $kCannot
  fi
  (
    # One at a time, installs included. The lock goes with this subshell's last child, not with the program.
    exec 9>"$root/build/.lock"
    if ! flock -n 9; then
      say "another accosim or check is setting up this clone: waiting for it"
      flock 9
    fi
    install_missing "$@" && configure "$preset" && build "$preset" "$target"
  ) </dev/null >&2
}

# What CMake's lists, or ninja where it reads which headers a file includes, cannot hold. Every other character may be in
# the path of a clone.
refuse_odd_place() {
  case $root in
    *[\"\#\$\&\'\*\;\<\>\?\\\^\`\|[:cntrl:]]*)
      say "$(printf '%q' "$root"): CMake and ninja cannot build in a path with one of \" # \$ & ' * ; < > ? \\ ^ \` | or a control character in it; move or clone it elsewhere"
      return 1 ;;
  esac
}

# The folder cannot be written: somebody else made it.
explain_other_user() {
  local place=$root owner
  [ -e "$root/build" ] && place=$root/build
  [ -e "$build_folder" ] && place=$build_folder
  owner=$(stat -c %U "$place")
  say "$place belongs to $owner and $(id -un) cannot build in it; as $owner, run: $(how_to_build "$1")"
}

how_to_build() {
  case $1 in
    release) printf '%q --help' "$root/accosim" ;;
    *) printf '%q' "$root/check" ;;
  esac
}

# Those of PACKAGES that are not there. A tool counts as there wherever it comes from; the libraries go by dpkg, and on
# a system without it CMake is left to find them or to name them.
missing_of() {
  local package tool missing='' dpkg_knows=''
  if command -v dpkg-query >/dev/null; then
    dpkg_knows=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p')
  fi
  for package in "$@"; do
    case $package in
      ninja-build) tool=ninja ;;
      iproute2) tool=ip ;;
      *-dev) tool='' ;;
      clang-14) tool=clang++-14 ;;
      *) tool=$package ;;
    esac
    if [ -n "$tool" ]; then
      command -v "$tool" >/dev/null && continue
    elif ! command -v dpkg-query >/dev/null; then
      continue
    fi
    case $'\n'$dpkg_knows$'\n' in
      *$'\n'"$package"$'\n'*) ;;
      *) missing="$missing $package" ;;
    esac
  done
  printf '%s' "${missing# }"
}

# install_missing PACKAGES...: by apt, as root or through sudo.
install_missing() {
  local missing as_root=() log=$root/build/install.log command
  missing=$(missing_of "$@")
  [ -n "$missing" ] || return 0
  command="apt-get install --no-install-recommends $missing"
  if ! command -v apt-get >/dev/null; then
    say "missing, and there is no apt-get here to install it; install what your system calls: $missing"
    return $kCannot
  fi
  # Without package lists (a container's usual state) the install alone would find nothing.
  compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || command="apt-get update && $command"
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "missing packages, and neither root nor sudo to install them; as root, run: $command"
      return $kCannot
    elif sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    elif [ "$stdin_is_terminal" = yes ]; then
      say "sudo may ask for your password, to install from Debian: $missing"
      as_root=(sudo)
    else
      say "missing packages, and sudo would ask for a password; run: sudo sh -c '$command'"
      return $kCannot
    fi
  fi
  say "installing from Debian: $missing (log: $log)"
  : >"$log"
  # A stale list may still do, and a third party's broken source is not our concern: only the install decides.
  apt_get "$log" update || true
  if ! apt_get "$log" install -y --no-install-recommends $missing; then
    sed -n '/^E: /p; /^Err:/{p;n;p}' "$log" | sort -u | head -n 3
    if grep -qE 'Could not (resolve|connect)|Unable to connect|Failed to fetch|Unable to locate package|timed out' "$log"
    then say "Debian's packages cannot be fetched: no network, or not through this proxy; once there is one, as root, run: $command"
    else say "apt-get could not install the packages (log: $log); as root, run: $command"
    fi
    return $kCannot
  fi
}

# apt_get LOG ARGS...: one apt-get, never asking anything, that waits for every lock. DPkg::Lock::Timeout waits for
# dpkg's; for those of the package lists and the archives apt 2.6 fails at once, so we look and try again. What was
# downloaded is not kept, nor apt's index of it: they would take some 250 MB.
apt_get() {
  local log=$1 once status waited='' since=$SECONDS
  shift
  once=$(mktemp "$log.XXXXXX")
  while :; do
    "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q \
      -o DPkg::Lock::Timeout="$kLockPatience" -o APT::Update::Error-Mode=any -o APT::Keep-Downloaded-Packages=false \
      -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
      -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 "$@" </dev/null 2>&1 9>&- |
      narrate phase_of_apt "$once" "$waited"
    status=${PIPESTATUS[0]}
    cat "$once" >>"$log"
    [ "$status" != 0 ] && grep -qE '^E: (Could not get lock|Unable to lock)' "$once" && [ $((SECONDS - since)) -lt "$kLockPatience" ] || break
    [ -n "$waited" ] || say "apt is at work elsewhere: waiting for it"
    waited=1
    sleep 2
  done
  rm -f "$once"
  return "$status"
}

# narrate FUNCTION ARGS...: calls FUNCTION ARGS LINE with each line of stdin as it comes, and says what that left in $now,
# but not more often than every kSilence seconds, and again when as long nothing has come.
narrate() {
  local line part='' now='' told=$SECONDS begun=$SECONDS status
  while :; do
    IFS= read -r -t "$kSilence" line
    status=$?
    part=$part$line
    if [ "$status" -le 128 ]; then # else the line is not whole yet
      if [ "$status" = 0 ] || [ -n "$part" ]; then "$@" "$part"; fi
      part=''
    fi
    if [ -n "$now" ] && [ $((SECONDS - told)) -ge "$kSilence" ]; then
      say "$now"
      told=$SECONDS
    fi
    [ "$status" = 0 ] || [ "$status" -gt 128 ] || return 0
  done
}

# phase_of_apt LOG WAITED LINE: what apt-get is at.
phase_of_apt() {
  printf '%s\n' "$3" >>"$1"
  case $3 in
    'Waiting for cache lock'*) [ -n "$2" ] || say "apt is at work elsewhere: waiting for it" ;;
    'Need to get '*) say "${3%.}" ;;
    'After this operation'*) say "${3%.}" ;;
    Get:*) now="apt: downloading: ${3#Get:}" ;;
    'Reading package lists'*) now='apt: reading the package lists' ;;
    Unpacking*) now="apt: unpacking ${3#Unpacking }" ;;
    'Setting up'*) now="apt: setting up ${3#Setting up }" ;;
    Processing*) now='apt: finishing' ;;
  esac
}

# configure PRESET: only when never done, done elsewhere, or by other presets; ninja redoes it for a changed
# CMakeLists.txt. Afresh, since a cache that came with a moved clone is an error to CMake, and an old one keeps old values.
# The stamp holds where and what: a build with the tests serves one that needs none, not the other way round.
configure() {
  local stamp=$build_folder/.configured place='' what='' cache='' options=()
  if [ -r "$stamp" ] && [ ! "$root/CMakePresets.json" -nt "$stamp" ]; then
    { IFS= read -r place && IFS= read -r what && IFS= read -r cache; } <"$stamp"
    if [ "$place" = "$root" ] && [ "$cache" = "$(command -v ccache)" ] && [ -e "$build_folder/build.ninja" ]; then
      case $what in "$1" | dev) return 0 ;; esac
    fi
  fi
  rm -f "$stamp"
  say "configuring build/${build_folder##*/}"
  if command -v ccache >/dev/null; then options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  if ! (cd "$root" && cmake --fresh --preset "$1" "${options[@]}") >"$build_folder/configure.log" 2>&1; then
    cat "$build_folder/configure.log"
    say "build/${build_folder##*/} could not be configured: see above"
    return $kBroken
  fi
  printf '%s\n' "$root" "$1" "$(command -v ccache)" >"$stamp"
}

# sum_up_headers: beside each precompiled header what ccache may know it by, since its bytes name the clone: those of our
# headers that it includes, and Debian's packages.
sum_up_headers() {
  local packages included header
  packages=$(dpkg-query -W 2>/dev/null | sha256sum)
  while IFS= read -r -d '' header; do
    included=$(c++ -std=c++20 -I"$root" -I"$build_folder/generated" -isystem /usr/include/eigen3 -M -x c++-header "$header" |
      tr -s ' \\' '\n' | grep "^$root/.*\.hpp\$" | LC_ALL=C sort -u)
    { printf '%s\n' "$packages" && printf '%s' "$included" | xargs -r -d '\n' cat | sha256sum && sed "s|$root||" "$header"; } |
      tee "$header.pch.sum" >"$header.gch.sum"
  done < <(find "$build_folder" -name cmake_pch.hxx -print0)
}

# build PRESET TARGET: a line now and then with how far it is, and whatever a compiler says.
build() {
  local status what="$2 in build/${build_folder##*/}"
  say "building $what"
  ! command -v ccache >/dev/null || sum_up_headers
  # Where ccache is, another checkout's objects serve this one too.
  CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros \
    NINJA_STATUS='@%f/%t@' cmake --build "$build_folder" --target $2 -- $build_flags 2>&1 | narrate progress_of_ninja
  status=${PIPESTATUS[0]}
  if [ "$status" != 0 ]; then
    say "build/${build_folder##*/} does not build: see above"
    return $kBroken
  fi
}

# progress_of_ninja LINE: "@done/all@step" becomes how far it is; the rest is a compiler's to say.
progress_of_ninja() {
  local count of left
  case $1 in
    @*/*@*)
      count=${1#@} count=${count%%@*} of=${count#*/} count=${count%/*}
      now="built $count of $of"
      if [ "$count" = "$of" ]; then
        say "$now"
        now=''
      elif [ "$count" -gt 0 ] && [ $((SECONDS - begun)) -ge "$kSilence" ]; then
        left=$(((SECONDS - begun) * (of - count) / count))
        now="$now, about $(((left + 59) / 60)) min left"
      fi ;;
    'ninja: Entering directory'* | 'ninja: no work to do.') ;;
    *) printf '%s\n' "$1" ;;
  esac
}

if [ -t 0 ]; then stdin_is_terminal=yes; else stdin_is_terminal=no; fi

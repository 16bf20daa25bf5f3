#!/usr/bin/env bash
# A sweep in the processes of a real mpirun, merged, has the bytes of one process. `mpirun_test.sh PROGRAM ROOT`.
set -u
program=${1:?usage: mpirun_test.sh PROGRAM ROOT} root=${2:?usage: mpirun_test.sh PROGRAM ROOT}
. "$root/tests/cluster/shared.sh" || exit 1
trap 'rm -rf "$work"' EXIT

command -v mpirun >/dev/null || skip 'no mpirun (Debian: openmpi-bin)'
# What a container needs: mpirun as root, more processes than cores, and no network, remote shell or pinning.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_plm_rsh_agent= OMPI_MCA_oob_tcp_if_include=lo TMPDIR=/tmp
timeout -k 5 60 mpirun -n 2 true >"$work/mpirun.out" 2>&1 ||
  skip "mpirun cannot start two processes here: $(grep -vE '^(-+|)$' "$work/mpirun.out" | head -n 1)"
prepare_sweep

# play WHAT COMMAND: the page's, with three processes.
play() {
  mkdir "$work/parts" && cd "$work/parts" && cp ../what-if.sweep.json . || exit 1
  timeout -k 5 300 bash -c "$2" >out 2>&1 || fail "$1: $2: $(tail -n 5 out)"
  expect_whole "$1" 3
  cd "$work" && rm -rf parts
}
command=$(line_of_page mpirun 3)
case $command in
  *'--shard auto'*) ;;
  *) fail "the page has no mpirun command: '$command'" ;;
esac
play 'mpirun' "$command"
if command -v mpiexec.hydra >/dev/null; then play 'mpiexec of MPICH' "${command/mpirun/mpiexec.hydra}"; fi
[ "$failures" = 0 ]

#!/usr/bin/env bash
# A sweep as an array of a real Slurm, merged, has the bytes of one process. Its daemons (munge, controller, one node) run
# from a temporary folder, on ports of their own on the loopback, without cgroups or systemd, and end with the test.
# `slurm_test.sh PROGRAM ROOT`.
set -u
program=${1:?usage: slurm_test.sh PROGRAM ROOT} root=${2:?usage: slurm_test.sh PROGRAM ROOT}
PATH=$PATH:/usr/sbin:/sbin
. "$root/tests/cluster/shared.sh" || exit 1

munged='' slurmctld='' slurmd='' # process ids
clean_up() {
  if [ -n "$slurmd" ]; then
    timeout 5 scancel --user="$(id -un)" 2>/dev/null # knows no Slurm but ours: SLURM_CONF
    all_ended 5
  fi
  stop $slurmd $slurmctld $munged
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# all_ended SECONDS: whether there is no job any more.
all_ended() {
  local until=$((SECONDS + $1))
  while [ "$SECONDS" -le "$until" ]; do
    [ -z "$(timeout 5 squeue -h 2>/dev/null || echo unknown)" ] && return 0
    sleep 0.1
  done
  return 1
}

for tool in munged slurmctld slurmd sbatch; do
  command -v "$tool" >/dev/null || skip "no $tool (Debian: munge slurmctld slurmd slurm-client)"
done

# A job reads its own user's environment alone, so what another Slurm set here must not reach it.
for name in $(compgen -e); do
  case $name in SLURM_* | SBATCH_* | SRUN_* | SQUEUE_* | SCANCEL_* | OMPI_* | PMI_*) unset "$name" ;; esac
done
export SLURM_CONF=$work/slurm.conf

free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000)) # below those that the kernel gives to others
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf '%s' "$port"
}

write_configuration() {
  local host
  host=$(uname -n) host=${host%%.*}
  cat >"$work/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
InactiveLimit=0
KillWait=2
NodeName=node NodeHostname=$host NodeAddr=127.0.0.1 CPUs=32
PartitionName=all Nodes=node Default=YES
END
  # Slurm before 23.11 insists on a version of cgroups, and then leaves them alone.
  case $(slurmd -V) in
    *' '1?.* | *' '2[0-2].* | *' '23.0*) printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nCgroupMountpoint=%s\n' "$work/no-cgroups" ;;
    *) echo 'CgroupPlugin=disabled' ;;
  esac >"$work/cgroup.conf"
}

# start_daemons: whether all are up and the node is ready. What they said is in $work/*.log.
start_daemons() {
  local until
  mkdir -p "$work/state" "$work/spool"
  if [ -z "$munged" ]; then
    (umask 077 && head -c 1024 /dev/urandom >"$work/munge.key")
    munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munge.pid" \
      --seed-file="$work/munge.seed" --log-file="$work/munged.log" --num-threads=2 </dev/null >"$work/munged.log" 2>&1 &
    munged=$!
    until=$((SECONDS + 10))
    while [ ! -S "$work/munge.socket" ] && [ "$SECONDS" -le "$until" ]; do sleep 0.05; done
  fi
  write_configuration
  slurmctld -D -c </dev/null >"$work/slurmctld.log" 2>&1 &
  slurmctld=$!
  slurmd -D -N node </dev/null >"$work/slurmd.log" 2>&1 &
  slurmd=$!
  until=$((SECONDS + 20))
  while [ "$SECONDS" -le "$until" ]; do
    case $(timeout 5 sinfo -h -o %T 2>/dev/null) in idle) return 0 ;; esac
    kill -0 "$slurmctld" 2>/dev/null && kill -0 "$slurmd" 2>/dev/null || break
    sleep 0.1
  done
  stop "$slurmd" "$slurmctld"
  slurmd='' slurmctld=''
  return 1
}

# Somebody may take a port between the look and the start.
start_daemons || start_daemons || start_daemons ||
  skip "Slurm cannot start here: $(grep -hE 'fatal|failed|rror' "$work"/{munged,slurmctld,slurmd}.log | tail -n 3)"

prepare_sweep
mkdir "$work/parts" && cd "$work/parts" && cp ../what-if.sweep.json . || exit 1
# The page's own job, from "#!/bin/bash" to the command; sbatch's options go before what the file asks for.
sed -nE '/^ +#!\/bin\/bash/,/^ +accosim sweep/s/^ +//p' "$page" >rows.sbatch
grep -q -- '--shard auto' rows.sbatch || fail "the page has no job: $(cat rows.sbatch)"
# submit WHAT: the job with four tasks of two cores; whether all ended in time.
submit() {
  timeout 30 sbatch --array=0-3 --cpus-per-task=2 --export=ALL rows.sbatch >sbatch.out 2>&1 || fail "$1: $(cat sbatch.out)"
  all_ended 300 || fail "$1: the tasks do not end: $(timeout 5 squeue)"
  cat slurm-*.out >tasks.out 2>/dev/null
}
submit 'array'
expect_whole 'array of Slurm' 4
grep -q 'part 3 of 4' tasks.out || fail "array: no task said which part it was: $(cat tasks.out "$work/slurmd.log")"

# Sent again after half of the parts were lost and one was cut within a line, it plays what is missing.
rm -f rows.jsonl rows.csv rows.0-of-4.jsonl rows.1-of-4.jsonl slurm-*.out
head -c 1500 rows.2-of-4.jsonl >cut && cat cut >rows.2-of-4.jsonl
submit 'array, again'
expect_whole 'array of Slurm sent again' 4

# srun counts its own processes.
rm -f rows.*
timeout 120 srun -n 3 accosim sweep what-if.sweep.json --shard auto -o rows.jsonl >srun.out 2>&1 || fail "srun: $(cat srun.out)"
expect_whole 'srun' 3
[ "$failures" = 0 ]

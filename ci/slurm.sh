#!/usr/bin/env bash
# Tests a job under Slurm, with the commands of docs/jobs.md: 8 ranks and 4 agents on 4 nodes, of
# which each is a slurmd in namespaces of its own, with its own name, network, runtime folder and
# disk. The ranks are killed, continue from the newest checkpoint in another step of Slurm's job, and
# must compute what one process computes. Needs root. Installs Slurm and Open MPI where they are
# missing (Debian and Ubuntu). The cluster is visible nowhere else, and ends with this script.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/checksums.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
bin=$target/release
nodes=(n1 n2 n3 n4)
plan=(--size 48 --steps 1000 --publish-every 5)
every=100

main() {
    case "${1:-}" in
    "")
        if [ "$(id -u)" -ne 0 ]; then
            echo "slurm: NOT RUN: this needs root, for namespaces"
            exit 0
        fi
        ci/setup.sh slurm-wlm munge openmpi-bin libopenmpi-dev libclang-dev iproute2
        cargo build --release -p tcasm --bins
        cargo build --release -p tcasm-agent --features files --bin tcasm-agent
        cargo build --release -p tcasm-examples --features mpi --bins
        # All processes of the cluster end with the first one of these namespaces.
        exec unshare --mount --net --uts --pid --fork --kill-child --mount-proc ci/slurm.sh inside
        ;;
    inside)
        work=$(mktemp -d /tmp/slurm-XXXXXX)
        # The daemons still write there.
        trap 'rm -rf "$work" || true' EXIT
        start_cluster
        test_job
        ;;
    *)
        echo "usage: ci/slurm.sh" >&2
        exit 2
        ;;
    esac
}

start_cluster() {
    mount --make-rprivate /
    mount -t tmpfs tmpfs /run
    mkdir -p /run/netns "$work"/{state,spool,log,own,slow,munge}
    hostname control
    echo "127.0.0.1 localhost control" >"$work/hosts"
    mount --bind "$work/hosts" /etc/hosts
    ip link set lo up
    ip link add cluster type bridge
    ip addr add 10.98.0.100/24 dev cluster
    ip link set cluster up
    write_conf
    export SLURM_CONF=$work/slurm.conf
    start_munge
    slurmctld -i
    local i
    for i in "${!nodes[@]}"; do
        start_node "${nodes[i]}" "10.98.0.$((i + 1))"
    done
    wait_for "4 idle nodes" all_idle
}

start_munge() {
    dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 status=none
    chmod 700 "$work/munge"
    chmod 600 "$work/munge/key"
    # Its folder must be reachable for those who use the socket.
    mkdir -p /run/munge
    munged --key-file "$work/munge/key" --socket /run/munge/munge.socket.2 --force \
        --pid-file "$work/munge/pid" --log-file "$work/munge/log" --seed-file "$work/munge/seed"
}

write_conf() {
    local i
    cat >"$work/slurm.conf" <<END
ClusterName=tcasm
SlurmctldHost=control(10.98.0.100)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/state/pid
SlurmdPidFile=$work/spool/%n.pid
SlurmctldLogFile=$work/log/slurmctld
SlurmdLogFile=$work/log/%n
TmpFS=$work/own
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=pmix
KillWait=10
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    for i in "${!nodes[@]}"; do
        echo "NodeName=${nodes[i]} NodeAddr=10.98.0.$((i + 1)) CPUs=4" >>"$work/slurm.conf"
    done
}

# start_node NAME ADDRESS: starts slurmd on a host of its own.
start_node() {
    mkdir -p "$work/spool/$1"
    ip netns add "$1"
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip link set "$1" master cluster up
    ip -n "$1" link set lo up
    ip -n "$1" addr add "$2/24" dev eth0
    ip -n "$1" link set eth0 up
    # Not by "ip netns exec", which hides the control groups that slurmd looks for.
    nsenter --net="/run/netns/$1" unshare --mount --uts sh -c '
        hostname "$1"
        mount -t tmpfs tmpfs "$2"
        mkdir "$2/runtime" "$2/$1"
        exec slurmd -N "$1"' sh "$1" "$work/own" || fail "slurmd of $1 does not start"
}

all_idle() {
    [ "$(sinfo --noheader --Node --states=idle | wc -l)" -eq 4 ]
}

test_job() {
    write_job
    local job
    job=$(sbatch --parsable --nodes=4 --ntasks=8 --output="$work/job.log" "$work/job.sh")
    wait_for "a checkpoint of step $((every * 3))" committed $((every * 3))
    # Step 0 has the agents, and step 1 the ranks.
    scancel --signal=KILL "$job.1"
    wait_for "the end of the job" ended "$job"
    cat "$work/job.log" "$work/agents.log"
    grep -q "^the second step has ended well" "$work/job.log" || fail "the job failed"
    grep -q "^the agents have ended with status 0" "$work/job.log" || fail "the agents failed"
    # The runs are those of Slurm's steps.
    local run
    for run in "$job.1" "$job.2"; do
        grep -q "^agreed step [0-9]* of run .*$run, lag" "$work/agents.log" ||
            fail "no step of run $run was agreed"
    done
    grep -q "^checkpoint of step" "$work/agents.log" || fail "no checkpoint was reported"
    "$bin/tcasm" checkpoints "$work/slow"
    "$bin/gray_scott_plain" "${plan[@]}" >"$work/plain.log"
    local log
    for log in first second; do
        compare "$log"
    done
    [ "$(last_checksum "$work/second.log")" = "$(last_checksum "$work/plain.log")" ] ||
        fail "the last fields differ"
    echo "slurm: both steps have the bits of an undisturbed run"
}

write_job() {
    cat >"$work/job.sh" <<END
#!/bin/bash
export TCASM_RUNTIME_DIR=$work/own/runtime
# There are more ranks than processors.
export OMPI_MCA_mpi_yield_when_idle=1
srun --overlap --ntasks=\$SLURM_JOB_NUM_NODES --ntasks-per-node=1 --output=$work/agents.log \\
    $bin/tcasm-agent gray_scott --stay --every $every --fast $work/own/%h --slow $work/slow &
agents=\$!
until grep -q ^agents: $work/agents.log 2>/dev/null; do sleep 0.1; done
srun --ntasks=8 --output=$work/first.log $bin/gray_scott_mpi ${plan[*]}
# Each rank reads the disk of its own node.
srun --ntasks=8 --output=$work/second.log sh -c 'exec $bin/gray_scott_mpi ${plan[*]} \\
    --restart $work/slow $work/own/\$SLURMD_NODENAME' && echo the second step has ended well
srun --overlap --ntasks=\$SLURM_JOB_NUM_NODES --ntasks-per-node=1 $bin/tcasm ls
scancel --signal=TERM \$SLURM_JOB_ID.0
wait \$agents
echo the agents have ended with status \$?
END
}

# committed STEP: this step or a later one has a checkpoint.
committed() {
    local newest
    newest=$("$bin/tcasm" checkpoints "$work/slow" 2>/dev/null |
        awk '$1 == "step" && $2 > n { n = $2 } END { print n + 0 }')
    [ "$newest" -ge "$1" ]
}

ended() {
    [ -z "$(squeue --noheader --job="$1" 2>/dev/null)" ]
}

# compare LOG: all checksums that this step has printed are those of the undisturbed run.
compare() {
    local count
    count=$(compare_checksums "$work/$1.log" "$work/plain.log") ||
        fail "the $1 step differs from the undisturbed run, or has printed nothing to compare"
    echo "slurm: $count checksums of the $1 step are right"
}

# wait_for WHAT COMMAND...: waits until the command says yes.
wait_for() {
    local what=$1 deadline=$((SECONDS + 180))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "waited 180 s for $what"
        sleep 0.2
    done
}

fail() {
    echo "slurm: $1" >&2
    if [ -n "${work:-}" ]; then
        tail -n 20 "$work"/log/* "$work"/*.log >&2 || true
    fi
    exit 1
}

main "$@"

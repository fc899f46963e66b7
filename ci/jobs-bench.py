#!/usr/bin/env python3
"""Measures what agents cost a job: step times of examples/gray_scott_mpi without agents, with
agents, with their checkpoints and with a relay, in turn; the rounds of agents beside the running
job; a relay of agent/examples/job, in which little changes; a collective write of parallel HDF5;
and the SST engine of ADIOS2 with the same fields and pauses. With two hosts or more, checkpoints
have parity on the other hosts. The hosts are folders of this machine, so the agents of all of them
use its processors, and nothing goes through a network. Prints a table in Markdown. Needs Open MPI
with its compiler wrapper and libclang; for the collective write also python3-h5py-mpi of Debian,
and for ADIOS2 what ci/adios2-mpi.sh has built.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
MPIRUN += ["--mca", "btl", "self,vader"]
KINDS = ["no agents", "agents", "agents, checkpoints", "agents, relay"]

# Programs beside which the agents are measured, and the Python of the system, which has their
# packages.
RIVALS = ["/usr/bin/python3", str(ROOT / "ci" / "jobs-rivals.py")]
# In each step of agent/examples/job, all of a field of so many bytes changes in each rank, and one
# of 16 parts of another.
CHANGED, STRIPED, STRIPES = 20_000 * 8, 16 * 8192 * 8, 16
# The steps of that job, and the milliseconds between them. That is enough to relay each step.
LITTLE = [200, 50]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1, help="ranks of each host [1]")
    parser.add_argument("--hosts", type=int, default=1, help="hosts with ranks [1]")
    parser.add_argument("--size", type=int, default=128, help="cells along each edge [128]")
    parser.add_argument("--steps", type=int, default=800, help="steps of each run [800]")
    parser.add_argument("--publish", type=int, default=20, help="steps between versions [20]")
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints [100]")
    parser.add_argument("--redundancy", help="of checkpoints [xor; none for one host]")
    parser.add_argument("--drain-every", type=int, default=10,
                        help="copy each Nth checkpoint to the slow folder [10]")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind [5]")
    args = parser.parse_args()
    build()
    with tempfile.TemporaryDirectory(prefix="tcasm-jobs-") as folder:
        bench = Bench(args, pathlib.Path(folder))
        # The first run warms up.
        bench.run(KINDS[0])
        runs = [{kind: bench.run(kind) for kind in KINDS} for _ in range(args.rounds)]
        print_table(args, runs)
        print(f"Rounds beside the job: {bench.agents_alone()}.")
        print_little(args, bench.little_changes())
        print_collective(bench.collective())
        pause = args.publish * statistics.median(run[KINDS[0]].mean for run in runs)
        print_sst(args, bench.sst(pause))


def build():
    cargo = ["cargo", "build", "--quiet", "--release"]
    for package in (["-p", "tcasm-agent", "--features", "files", "--bins", "--examples"],
                    ["-p", "tcasm-examples", "--features", "mpi", "--bins"]):
        subprocess.run(cargo + package, cwd=ROOT, check=True)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.number = args, folder, 0

    def make_hosts(self):
        """Makes the folders of a run. Returns the hosts with ranks."""
        self.number += 1
        self.name, self.here = f"bench{self.number}", self.folder / str(self.number)
        hosts = [f"h{i}" for i in range(self.args.hosts)]
        for host in [*hosts, "analysis"]:
            (self.here / host).mkdir(parents=True)
            (self.here / "disks" / host).mkdir(parents=True)
        (self.here / "disks" / "slow").mkdir()
        return hosts

    def run(self, kind):
        """Runs the job once. Returns its figures."""
        hosts = self.make_hosts()
        agents = self.start_agents(kind, hosts) if kind != KINDS[0] else None
        heard = Heard(agents) if agents else None
        mirror = self.follow_mirror() if "relay" in kind else None
        seen = Heard(mirror) if mirror else None
        job = self.start_ranks(hosts, self.ranks())
        figures = Figures(Heard(job).times(r"step +(\d+) "))
        if agents:
            figures.add(heard)
            figures.statuses.append(agents.wait())
        if mirror:
            if figures.statuses[0]:
                mirror.kill()
            figures.mirrored(seen)
            figures.statuses.append(mirror.wait())
        figures.statuses.append(job.wait())
        check(kind, figures.statuses)
        figures.weigh(self.here / "disks")
        shutil.rmtree(self.here)
        return figures

    def agents_alone(self):
        """Returns what `rounds` prints of an agent for each host and one more, while the job runs.
        They do nothing but rounds."""
        hosts = self.make_hosts()
        job = self.start_ranks(hosts, self.ranks())
        heard = Heard(job)
        while not heard.lines and job.poll() is None:
            time.sleep(0.01)
        words = ["-n", str(len(hosts) + 1), str(BIN / "examples" / "rounds"), "500"]
        rounds = start([words])
        line = rounds.communicate()[0].strip()
        ran_beside = job.poll() is None
        heard.text()
        check("rounds", [rounds.returncode, job.wait()])
        return line if ran_beside else f"{line}, but the job ended first: give more --steps"

    def little_changes(self):
        """Relays a job of which little changes. Returns the steps that the first host has relayed,
        the bytes that it has sent, and those of its fields."""
        hosts = self.make_hosts()
        words = [BIN / "tcasm-agent", self.name]
        parts = [self.part(host, 1, words) for host in hosts]
        agents = start([*parts, self.part("analysis", 1, [*words, "--relay"])])
        heard = Heard(agents)
        job = self.start_ranks(hosts, [BIN / "examples" / "job", "rank", self.name, *LITTLE])
        job.communicate()
        check("little changes", [job.returncode, agents.wait()])
        return relayed_in(heard.text())

    def start_ranks(self, hosts, program):
        return start([self.part(host, self.args.ranks, program) for host in hosts])

    def ranks(self):
        plan = ["--size", self.args.size, "--steps", self.args.steps]
        plan += ["--publish-every", self.args.publish]
        return [BIN / "gray_scott_mpi", "--name", self.name, *plan]

    def start_agents(self, kind, hosts):
        disks = self.here / "disks"

        def agent(host):
            words = [BIN / "tcasm-agent", self.name, "--every", self.args.every]
            if "checkpoints" in kind:
                words += ["--fast", disks / host, "--slow", disks / "slow", "--failure-group", host]
                words += ["--drain-every", self.args.drain_every]
                words += ["--redundancy", self.args.redundancy] if self.args.redundancy else []
            return self.part(host, 1, words)

        parts = [agent(host) for host in hosts]
        if "relay" in kind:
            words = [BIN / "tcasm-agent", self.name, "--every", self.args.every, "--relay"]
            parts.append(self.part("analysis", 1, words))
        return start(parts)

    def follow_mirror(self):
        """Follows the steps on the analysis node."""
        env = os.environ | {"TCASM_RUNTIME_DIR": str(self.here / "analysis")}
        words = [BIN / "examples" / "job", "follow", self.name]
        return subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)

    def part(self, host, count, program):
        env = [f"TCASM_RUNTIME_DIR={self.here / host}", f"TCASM_LOCAL_RANKS={self.args.ranks}"]
        words = ["-n", count, "env", *env, f"TCASM_RUN={self.name}", *program]
        return [str(word) for word in words]

    def collective(self):
        """Returns the seconds of collective writes, without the first. Returns none if h5py lacks
        MPI."""
        folder = self.folder / "collective"
        folder.mkdir()
        ranks = self.args.ranks * self.args.hosts
        program = [*RIVALS, "collective", self.args.size, folder, 11]
        run = start([[str(word) for word in ["-n", ranks, *program]]], stderr=subprocess.DEVNULL)
        lines = run.communicate()[0].splitlines()
        return [float(line) for line in lines][1:] if run.returncode == 0 else []

    def sst(self, pause):
        """Returns the seconds that each write by SST took, without the first, and those from its
        begin until the reader had it. Returns none if ADIOS2 with MPI is missing."""
        packages = next((BIN.parent / "adios2-mpi").glob("lib/python3*/*-packages"), None)
        if not packages:
            return [], []
        env = os.environ | {"PYTHONPATH": str(packages)}
        folder = self.folder / "sst"
        folder.mkdir()
        ranks = self.args.ranks * self.args.hosts
        words = [str(self.args.size), str(folder / "bench")]
        reader = subprocess.Popen([*RIVALS, "sst-read", *words], env=env,
                                  stdout=subprocess.PIPE, text=True)
        program = [*RIVALS, "sst-write", *words, "41", str(pause)]
        writer = start([["-n", str(ranks), *program]], env=env)
        written = [line.split() for line in writer.communicate(timeout=300)[0].splitlines()][1:]
        came = dict(line.split() for line in reader.communicate()[0].splitlines())
        if writer.returncode or reader.returncode:
            raise SystemExit(f"jobs-bench: SST: {writer.returncode}, {reader.returncode}")
        lags = [float(came[step]) - float(now) for step, _, now in written if step in came]
        return [float(seconds) for _, seconds, _ in written], lags


def start(parts, **more):
    words = [word for part in parts for word in [":", *part]][1:]
    return subprocess.Popen(MPIRUN + words, stdout=subprocess.PIPE, text=True, **more)


def check(what, statuses):
    if any(statuses):
        raise SystemExit(f"jobs-bench: {what}: exit statuses {statuses}")


def relayed_in(text):
    """Returns the numbers of the line about the relay: steps, bytes sent, bytes of the fields."""
    match = re.search(r"relayed steps=(\d+) bytes=(\d+) of=(\d+)", text)
    return tuple(map(int, match.groups())) if match else None


class Heard:
    """The lines of a program, each with the time at which it came."""

    def __init__(self, program):
        self.lines = []
        self.thread = threading.Thread(target=self.hear, args=[program.stdout])
        self.thread.start()

    def hear(self, output):
        for line in output:
            self.lines.append((time.perf_counter(), line))

    def times(self, pattern):
        """Returns when the first line came that names a step this way, by the step."""
        self.thread.join()
        found = ((now, re.match(pattern, line)) for now, line in reversed(self.lines))
        return {int(match[1]): now for now, match in found if match}

    def text(self):
        self.thread.join()
        return "".join(line for _, line in self.lines)


class Figures:
    """Figures of a run."""

    def __init__(self, times):
        self.times, steps = times, sorted(times)
        self.steps = [(times[b] - times[a]) / (b - a) for a, b in zip(steps, steps[1:])]
        self.mean = (times[steps[-1]] - times[steps[0]]) / (steps[-1] - steps[0])
        self.statuses, self.relayed, self.checkpoints = [], None, 0
        self.lags, self.mirror_lags = [], []

    def mirrored(self, heard):
        """Adds when the analysis node had each step."""
        came = heard.times(r"latest step (\d+)")
        self.mirror_lags = [came[step] - self.times[step] for step in came if step in self.times]

    def add(self, heard):
        text, agreed = heard.text(), heard.times(r"agreed step (\d+) ")
        self.lags = [agreed[step] - self.times[step] for step in agreed if step in self.times]
        self.relayed = relayed_in(text)
        self.checkpoints = text.count("checkpoint of step")

    def weigh(self, disks):
        """Adds the bytes of the checkpoints that are left: files of nodes, parity, copies."""
        patterns = ["h*/*.h5", "h*/*.parity", "slow/*.h5"]
        self.left = [sum(file.stat().st_size for file in disks.glob(p)) for p in patterns]


def print_table(args, runs):
    ranks = args.ranks * args.hosts
    state = 2 * 8 * args.size**3 / (1 << 20)
    print(f"{ranks} ranks, {args.hosts} hosts, {os.cpu_count()} processors, {state:.0f} MiB, "
          f"published every {args.publish} steps, written every {args.every}; "
          f"{args.rounds} rounds:\n")
    print("| | step, median | p99 | max | run beside the one without agents |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        steps = sorted(step for run in runs for step in run[kind].steps)
        ratios = sorted(run[kind].mean / run[KINDS[0]].mean for run in runs)
        p99 = steps[min(len(steps) - 1, int(len(steps) * 0.99))]
        beside = f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        times = " | ".join(f"{t * 1e3:.2f} ms" for t in (statistics.median(steps), p99, steps[-1]))
        print(f"| {kind} | {times} | {beside} |")
    agreed = [lag for run in runs for lag in run[KINDS[1]].lags]
    mirrored = [lag for run in runs for lag in run[KINDS[3]].mirror_lags]
    print(f"\nSteps are agreed {spread(agreed)} after they were computed, and are on the analysis "
          f"node {spread(mirrored)} after.")
    written = [run[KINDS[2]] for run in runs if run[KINDS[2]].checkpoints]
    if written:
        added = [(run[KINDS[2]].mean - run[KINDS[0]].mean) * args.steps / run[KINDS[2]].checkpoints
                 for run in runs]
        files, parity, copies = (size >> 20 for size in written[-1].left)
        print(f"A checkpoint adds {spread(added)} to a run. Redundancy: "
              f"{args.redundancy or 'the default'}; drained: one of {args.drain_every}. After the "
              f"last run, hosts have {files} MiB of checkpoints and {parity} MiB of parity, and "
              f"the slow folder has {copies} MiB.")
    relayed = [run[KINDS[3]].relayed for run in runs if run[KINDS[3]].relayed]
    if relayed:
        steps, sent, whole = (sum(column) for column in zip(*relayed))
        print(f"Relayed: {steps} steps in {len(relayed)} runs, {sent >> 20} of {whole >> 20} MiB.")


def print_little(args, relayed):
    """Compares what the first host has sent with what changed there. The first step is sent whole.
    A step that was not relayed adds its part to the next one."""
    if relayed is None:
        raise SystemExit("jobs-bench: the agents print no line about the relay")
    steps, sent, whole = relayed
    later, passed = steps - 1, LITTLE[0] - 1
    changed = args.ranks * (later * CHANGED + passed * STRIPED // STRIPES) + whole // steps
    print(f"Relayed where little changes: {steps} of {LITTLE[0]} steps, {sent >> 10} KiB sent. "
          f"At most {changed >> 10} KiB had changed, all of the first step included. The fields of "
          f"these steps have {whole >> 10} KiB.")


def print_collective(seconds):
    if seconds:
        print(f"A collective write of HDF5 takes {spread(seconds)}.")
    else:
        print("A collective write of HDF5 was not measured: python3-h5py-mpi is missing.")


def print_sst(args, results):
    seconds, lags = results
    if seconds:
        state = 2 * 8 * args.size**3 / (1 << 20)
        print(f"A write by SST takes {spread(seconds)}, and a reader has its {state:.0f} MiB "
              f"{spread(lags)} after it begins.")
    else:
        print("SST was not measured: ADIOS2 with MPI is missing (ci/adios2-mpi.sh builds it).")


def spread(seconds):
    """Returns the median of these times, the least and the most."""
    if not seconds:
        return "(no times)"
    median, least, most = statistics.median(seconds), min(seconds), max(seconds)
    return f"{median * 1e3:.1f} ms ({least * 1e3:.1f} to {most * 1e3:.1f}, {len(seconds)} times)"


if __name__ == "__main__":
    main()

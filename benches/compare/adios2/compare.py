"""Runs ADIOS2 as the producer and the observers of tcasm-compare.

The steps, the pacing and the checks are the same as in src/roles. The arrays are those of numpy.

    compare.py produce CASE.json PARENT       prints {"row": ...}
    compare.py observe CASE.json PARENT N

There are two modes. In both, a reader receives a copy.

- "sst" sends each step to the readers over sockets or shared memory. The queue holds one step. When
  it is full, the producer waits.
- "bp5" writes each step into a file of its own, in memory. Then the readers open the file.
"""

import ctypes
import faulthandler
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import adios2
import numpy as np

PAGE, WORDS, DENSE, BURST = 4096, 512, 4, 4
MAX_STEPS = 256
# Words of the shared score: a header, then the times of MAX_STEPS calls of publish, then a block
# for each observer.
CLOSED, CALLED = 1, 8
READY, TAKEN, DONE, WRONG, OWN, SEEN = 0, 1, 2, 3, 4, 8
BLOCK = SEEN + MAX_STEPS
FIRST = CALLED + MAX_STEPS
# The longest time to wait for observers, in seconds.
TIMEOUT = 60.0


def die_with(parent):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)


def mix(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Workload:
    """The pages that a step writes, and their content, as in src/workload.rs."""

    def __init__(self, case):
        workload = case["workload"]
        self.pattern, self.coverage = workload["pattern"], workload["coverage"]
        self.pages = workload["pages"]
        self.numbers = np.arange(self.pages, dtype=np.uint64)
        self.counting = np.arange(WORDS, dtype=np.uint64)

    def touches(self, step):
        if step < DENSE or self.coverage >= 100:
            return np.ones(self.pages, dtype=bool)
        block = max(1, self.pages * self.coverage // 100)
        if self.pattern in ("random", "same"):
            draw = np.uint64((step if self.pattern == "random" else 0) << 40)
            return mix(draw | self.numbers) % np.uint64(100) < np.uint64(self.coverage)
        if self.pattern == "strided":
            share, hundred = np.uint64(self.coverage), np.uint64(100)
            pages = self.numbers
            return (pages + np.uint64(1)) * share // hundred > pages * share // hundred
        if self.pattern == "contiguous":
            start = int(mix(np.array([step], dtype=np.uint64))[0])
        else:
            start = step * -(-block // 16)
        offset = np.uint64(self.pages - start % self.pages)
        return (self.numbers + offset) % np.uint64(self.pages) < np.uint64(block)

    def content(self, pages, steps):
        return mix(steps << np.uint64(32) | pages)[:, None] + self.counting

    def write(self, memory, pages, step):
        steps = np.full(len(pages), step, dtype=np.uint64)
        memory[pages] = self.content(pages, steps)


class Model:
    """The expected content of a version: for each page, the last step that wrote it."""

    def __init__(self, workload):
        self.workload, self.step = workload, 0
        self.last = np.zeros(workload.pages, dtype=np.uint64)

    def advance(self, step):
        while self.step < step:
            self.step += 1
            self.last[self.workload.touches(self.step)] = self.step

    def wrong_pages(self, memory):
        wrong = 0
        for at in range(0, self.workload.pages, 4096):
            part = slice(at, at + 4096)
            right = self.workload.content(self.workload.numbers[part], self.last[part])
            wrong += int((memory[part] != right).any(axis=1).sum())
        return wrong


class Score:
    """Shared numbers by which the processes of a case report progress and results."""

    def __init__(self, case, observers, create):
        words = FIRST + max(observers, 1) * BLOCK
        path = Path(case["dir"]) / "score"
        self.words = np.memmap(path, np.uint64, "w+" if create else "r+", shape=(words,))
        self.observers, self.children = observers, []

    def of(self, observer, what):
        return FIRST + observer * BLOCK + what

    def read(self, at):
        return int(self.words[at])

    def wait(self, done, what):
        deadline = time.monotonic() + TIMEOUT
        while not done():
            for observer, child in enumerate(self.children):
                if child.poll() is not None:
                    status = child.returncode
                    raise ChildProcessError(f"observer {observer} ended early with status {status}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"observers did not {what} within {TIMEOUT} s")
            time.sleep(5e-5)

    def wait_all(self, word, value, what):
        observers = range(self.observers)
        self.wait(lambda: all(self.read(self.of(o, word)) >= value for o in observers), what)


def anonymous(process):
    with open(f"/proc/{process}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Pss_Anon:")) * 1024


def held(folder):
    """Returns the bytes that this process, its descendants, and files in memory hold."""
    total, processes, files = 0, [os.getpid()], {}
    while processes:
        process = processes.pop()
        total += anonymous(process)
        for task in Path(f"/proc/{process}/task").iterdir():
            processes += [int(child) for child in (task / "children").read_text().split()]
        for kind in ("fd", "map_files"):
            note_all(Path(f"/proc/{process}/{kind}"), files)
    for path in Path(folder).rglob("*"):
        note(path, files)
    return total + sum(files.values())


def note_all(folder, files):
    try:
        for path in folder.iterdir():
            note(path, files)
    except OSError:
        pass


def note(path, files):
    try:
        target = os.readlink(path) if path.is_symlink() else str(path)
        data = path.stat()
        if target.startswith(("/memfd:", "/dev/shm")) and path.is_file():
            files[data.st_dev, data.st_ino] = data.st_blocks * 512
    except OSError:
        pass


# Lives as long as the process, because the objects that it declares end with it.
ADIOS = adios2.Adios()


def engine(case):
    name = case["mode"].split()[0]
    io = ADIOS.declare_io("compare")
    io.set_engine(name.upper())
    return name, io


class Writer:
    def __init__(self, case, observers):
        self.name, self.io = engine(case)
        self.dir, self.stream = Path(case["dir"]), None
        if self.name == "sst":
            self.io.set_parameters(
                {
                    "RendezvousReaderCount": str(observers),
                    "QueueLimit": "1",
                    "QueueFullPolicy": "Block",
                }
            )

    def connect(self):
        """Opens the stream. SST waits here until RendezvousReaderCount readers are connected."""
        if self.name == "sst":
            self.stream = adios2.Stream(self.io, str(self.dir / "stream"), "w")

    def publish(self, step, memory):
        if self.name == "bp5":
            self.stream = adios2.Stream(self.io, str(self.dir / "next.bp"), "w")
        self.stream.begin_step()
        flat = memory.reshape(-1)
        self.stream.write("step", np.array([step], dtype=np.uint64), [1], [0], [1])
        self.stream.write("data", flat, [flat.size], [0], [flat.size])
        self.stream.end_step()
        if self.name == "bp5":
            self.stream.close()
            self.stream = None
            os.rename(self.dir / "next.bp", self.dir / f"step{step}.bp")

    def clean_up(self, step):
        """Removes the files of all versions but that of `step`. No observer may read them now."""
        for old in self.dir.glob("step*.bp"):
            if old.stem != f"step{step}":
                shutil.rmtree(old)

    def close(self):
        if self.stream is not None:
            self.stream.close()


def quantile(samples, q):
    ordered = sorted(samples)
    return ordered[max(1, -(-int(len(ordered) * q * 1000) // 1000)) - 1] if ordered else 0.0


class Producer:
    def __init__(self, case):
        self.case, self.workload = case, Workload(case)
        self.bare = np.ones((self.workload.pages, WORDS), dtype=np.uint64)
        self.score = Score(case, case["observers"], True)
        self.own = held(case["dir"])
        self.live = np.zeros((self.workload.pages, WORDS), dtype=np.uint64)
        self.writer = Writer(case, case["observers"])
        self.first = DENSE + case["settle"]
        self.end = self.first + -(-case["steps"] // (BURST - 1)) * BURST
        self.kept = 0
        self.compute = 0.0
        self.stall, self.step_times, self.bare_times, self.visible = [], [], [], []

    def start(self, observers):
        for observer in range(observers):
            arguments = ["observe", sys.argv[2], str(os.getpid()), str(observer)]
            self.score.children.append(subprocess.Popen([sys.executable, __file__, *arguments]))

    def run(self):
        observers = self.case["observers"]
        self.start(observers)
        if observers and self.writer.name == "bp5":
            self.score.wait_all(READY, 1, "start")
        self.writer.connect()
        for step in range(self.first):
            self.burst(step, step + 1)
        for step in range(self.first, self.end, BURST):
            self.burst(step, step + BURST)
        if not observers:
            self.late_observer()
        self.score.words[CLOSED] = 1
        self.writer.close()
        for child in self.score.children:
            child.wait(TIMEOUT)
        score = self.score
        correct = all(score.read(score.of(o, WRONG)) == 0 for o in range(score.observers))
        return self.row(self.kept, correct)

    def late_observer(self):
        """Starts one observer and publishes one more version for it to check."""
        self.score.observers = 1
        self.start(1)
        if self.writer.name == "bp5":
            self.score.wait_all(READY, 1, "attach")
        # SST accepts new readers only while it writes a step.
        deadline = time.monotonic() + TIMEOUT
        while not self.score.read(self.score.of(0, READY)) and time.monotonic() < deadline:
            self.writer.publish(self.last, self.live)
            time.sleep(0.05)
        self.burst(self.end, self.end + 1)

    def sweep(self, memory, pages, step):
        start = time.perf_counter()
        self.workload.write(memory, pages, step)
        until = time.perf_counter() + self.compute
        while time.perf_counter() < until:
            pass
        return time.perf_counter() - start

    def burst(self, first, end):
        """Runs the steps in plain memory, then the same steps with publish, without a pause.

        During the steps in plain memory, observers wait. The first step is not measured.
        """
        pages = {s: self.workload.numbers[self.workload.touches(s)] for s in range(first, end)}
        for step in range(first, end):
            bare = self.sweep(self.bare, pages[step], step)
            if step > first:
                self.bare_times.append(bare)
            if DENSE <= step < self.first:
                ratio = self.case["compute_ratio"]
                writing = max(0.0, bare - self.compute)
                self.compute = self.case["compute_ms"] / 1e3 + ratio * writing
        for step in range(first, end):
            self.step(step, pages[step], step > first)
        self.score.wait_all(DONE, end, "finish")
        self.writer.clean_up(end - 1)
        if end - first > 1:
            for observer in range(self.score.observers):
                self.note_visible(observer, range(first, end))

    def note_visible(self, observer, steps):
        for step in steps:
            seen = self.score.read(self.score.of(observer, SEEN + step % MAX_STEPS))
            if seen:
                called = self.score.read(CALLED + step % MAX_STEPS)
                self.visible.append((seen - called) / 1e6)
                return

    def step(self, step, pages, measured):
        swept = self.sweep(self.live, pages, step)
        self.measure_memory(step)
        called = time.monotonic_ns()
        self.score.words[CALLED + step % MAX_STEPS] = called
        self.writer.publish(step, self.live)
        stall = (time.monotonic_ns() - called) / 1e9
        self.measure_memory(step)
        self.last = step
        if measured:
            self.stall.append(stall)
            self.step_times.append(swept + stall)

    def measure_memory(self, step):
        if step + 1 == self.end:
            own = sum(self.score.read(self.score.of(o, OWN)) for o in range(self.score.observers))
            kept = held(self.case["dir"]) - self.own - own - self.live.nbytes
            self.kept = max(self.kept, kept)

    def row(self, kept, correct):
        case = self.case
        names = ("method", "mode", "pattern", "observers")
        added = quantile(self.step_times, 0.5) - quantile(self.bare_times, 0.5)
        return {name: case[name] for name in names} | {
            "user": "root" if os.geteuid() == 0 else "ordinary user",
            "coverage": self.workload.coverage,
            "bytes": self.live.nbytes,
            "stall_us_p50": quantile(self.stall, 0.5) * 1e6,
            "stall_us_p99": quantile(self.stall, 0.99) * 1e6,
            "stall_us_max": quantile(self.stall, 1.0) * 1e6,
            "step_added_ms": added * 1e3,
            "visible_ms": quantile(self.visible, 0.5) if self.visible else None,
            "held_bytes": kept,
            "skipped": 0,
            "correct": correct,
        }


class Reader:
    def __init__(self, case):
        self.name, self.io = engine(case)
        self.dir, self.after, self.stream = Path(case["dir"]), -1, None
        self.memory = None

    def connect(self):
        if self.name == "sst":
            self.io.set_parameters({"OpenTimeoutSecs": "60"})
            self.stream = adios2.Stream(self.io, str(self.dir / "stream"), "r")

    def close(self):
        if self.stream is not None:
            self.stream.close()

    def take(self):
        """Receives the next version. Returns its step, or None if there is no newer version yet."""
        stream = self.stream
        if self.name == "bp5":
            steps = [int(p.stem[4:]) for p in self.dir.glob("step*.bp")]
            if not steps or max(steps) <= self.after:
                return None
            stream = adios2.Stream(self.io, str(self.dir / f"step{max(steps)}.bp"), "r")
        # There is no timeout, because readers of ADIOS2 2.12 sometimes crash with one. The wait
        # ends with the stream.
        if stream.begin_step() != adios2.bindings.StepStatus.OK:
            return None
        self.after = int(stream.read("step").flat[0])
        self.memory = stream.read("data").reshape(-1, WORDS)
        stream.end_step()
        if self.name == "bp5":
            stream.close()
        return self.after


def observe(case, observer):
    os.nice(19)
    score = Score(case, max(case["observers"], 1), False)
    model = Model(Workload(case))
    reader = Reader(case)
    score.words[score.of(observer, OWN)] = anonymous(os.getpid())
    reader.connect()
    score.words[score.of(observer, READY)] = 1
    while not score.read(CLOSED):
        step = reader.take()
        if step is None:
            time.sleep(5e-5)
            continue
        score.words[score.of(observer, SEEN + step % MAX_STEPS)] = time.monotonic_ns()
        score.words[score.of(observer, TAKEN)] = step + 1
        model.advance(step)
        last = DENSE + case["settle"] + -(-case["steps"] // (BURST - 1)) * BURST - 1
        if (observer < 4 and step % case["full_check_every"] == 0) or step >= last:
            score.words[score.of(observer, WRONG)] += np.uint64(model.wrong_pages(reader.memory))
        score.words[score.of(observer, DONE)] = step + 1
    reader.close()


def main():
    faulthandler.enable()
    role, path, parent = sys.argv[1:4]
    case = json.loads(Path(path).read_text())
    die_with(int(parent))
    if role == "observe":
        return observe(case, int(sys.argv[4]))
    try:
        answer = {"row": Producer(case).run()}
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
    os._exit(0)


main()

"""Tests a driver of examples/lammps: compares each version with what LAMMPS itself dumps in the
same step, bit by bit, and looks at the running driver with the commands of tcasm.

Usage: lammps-check.py FOLDER DRIVER [TEST...]

DRIVER is a command line. TCASM_COMMAND is the command tcasm.
"""

import contextlib
import math
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import tcasm

sys.path.insert(0, os.path.dirname(__file__))
from lammps_view import Page  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples/lammps"
TCASM = os.environ["TCASM_COMMAND"]
ADOPTED_ANEW = "adopted anew: LAMMPS has moved its arrays, or has many more atoms"
FIELDS = {"x": "float64", "v": "float64", "id": "int32", "type": "int32"}


class Run:
    """A driver that runs an input, and the dumps that LAMMPS writes whenever it publishes."""

    def __init__(self, folder, driver, name, script, every, steps=1 << 40, **variables):
        self.name, self.folder = name, folder / name
        self.folder.mkdir()
        lines = [f"variable {key} index {value}" for key, value in variables.items()]
        lines += [
            f"include {EXAMPLES / script}",
            f"dump all all custom {every} {self.folder}/*.dump id type x y z vx vy vz",
            "dump_modify all format float %.17g first yes",
        ]
        (self.folder / "in").write_text("\n".join(lines) + "\n")
        command = [*shlex.split(driver), name, str(self.folder / "in"), str(steps), str(every)]
        self.log = self.folder / "log"
        self.process = subprocess.Popen(command, stderr=self.log.open("w"))

    def observer(self):
        """Attaches to the driver as soon as it publishes."""
        socket = pathlib.Path(os.environ["TCASM_RUNTIME_DIR"], f"{self.name}.sock")
        until(socket.exists, self.process)
        return tcasm.Observer(self.name, timeout=60)

    def dumped(self, step):
        """Returns the arrays that LAMMPS has dumped in a step, in its own order, and the box."""
        lines = (self.folder / f"{step}.dump").read_text().splitlines()
        assert int(lines[1]) == step and int(lines[3]) == len(lines) - 9, lines[:9]
        box = [[float(word) for word in line.split()] for line in lines[5:8]]
        rows = [line.split() for line in lines[9:]]
        numbers = np.array([row[2:] for row in rows], dtype="float64")
        ids = np.array([row[:2] for row in rows], dtype="int32")
        arrays = {"x": numbers[:, :3], "v": numbers[:, 3:], "id": ids[:, 0], "type": ids[:, 1]}
        return arrays, box

    def check(self, version):
        """Checks that a version has the atoms that LAMMPS has dumped. Returns them."""
        arrays, box = self.dumped(version.step)
        # LAMMPS adds up the time of steps, with rounding.
        assert math.isclose(version.time, 0.005 * version.step), (version.time, version.step)
        for name, dtype in FIELDS.items():
            found, expected = version[name], arrays[name]
            assert found.dtype == dtype and found.shape == expected.shape, (name, found.shape)
            assert found.tobytes() == np.ascontiguousarray(expected).tobytes(), (
                f"{name} of step {version.step} is not what LAMMPS has dumped"
            )
        bounds = [list(pair) for pair in zip(version.attrs["boxlo"], version.attrs["boxhi"])]
        assert bounds == box, (bounds, box)
        return arrays

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def running(*arguments, **variables):
    run = Run(*arguments, **variables)
    try:
        yield run
    except BaseException:
        print(run.log.read_text(), file=sys.stderr)
        raise
    finally:
        run.end()


def versions_are_what_lammps_dumps(folder, driver):
    """Also while LAMMPS sorts its atoms, and until the end of the stream."""
    orders = set()
    with running(folder, driver, "melt", "in.melt", 25, steps=3000, n=6) as run:
        with run.observer() as observer:
            observer.every_version()
            for version in observer:
                orders.add(run.check(version)["id"].tobytes())
                last = version.step
            assert observer.status == tcasm.Status.END_OF_STREAM
        assert run.process.wait(60) == 0
    assert len(orders) > 1, "LAMMPS has not sorted its atoms: the test needs more steps"
    assert last == 3000, f"the last version is of step {last}"


def atoms_are_particles(folder, driver):
    with running(folder, driver, "particles", "in.melt", 100, n=6) as run:
        with run.observer() as observer:
            version = observer.wait(60)
            mesh = version.meshes["atoms"]
            assert (mesh.kind, list(mesh.geometry)) == ("particles", ["x"]), mesh
            fields = version.fields
            assert [fields[name].mesh for name in FIELDS] == [None, "atoms", "atoms", "atoms"]
            vectors = [fields[name].components for name in FIELDS]
            assert vectors == [3, 3, 1, 1], vectors
        with Page(TCASM, run.name) as page:
            assert {"name": run.name, "state": "running"} in page.regions()
            region = page.region()
            (atoms,) = region["meshes"]
            assert (atoms["kind"], atoms["points"]) == ("particles", [4 * 6**3]), atoms
            head = page.frame("v")
            assert head["error"] is None and head["shape"] == [4 * 6**3], head
            assert head["scene"], head


def checkpoint_has_the_atoms(folder, driver):
    where = folder / "checkpoints"
    with running(folder, driver, "saved", "in.melt", 100, n=6) as run:
        with run.observer() as observer:
            observer.wait(60)
        command = [TCASM, "checkpoint", run.name, "--every", "2", "--no-wait", "--fast", where]
        where.mkdir()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as writer:
            until(lambda: len(list(where.glob("*.vtkhdf"))) >= 3, writer)
            writer.send_signal(signal.SIGTERM)
        run.end()
        told = subprocess.run([TCASM, "verify", where], capture_output=True, text=True)
        assert told.returncode == 0, told.stdout + told.stderr
        versions = list(tcasm.open(where))
        assert versions
        for version in versions:
            run.check(version)
        newest = versions[-1]
        with h5py.File(sorted(where.glob("*.vtkhdf"))[-1]) as file:
            found = [file_dataset(file, name) for name in ("x", "v")]
        for values, name in zip(found, ("x", "v")):
            assert values.tobytes() == newest[name].tobytes(), name


def file_dataset(file, name):
    """Returns the values of a field in a file. Positions are the points of the mesh."""
    found = []
    wanted = "Points" if name == "x" else name
    file.visititems(lambda path, item: found.append(item) if path.endswith(f"/{wanted}") else None)
    datasets = [item for item in found if isinstance(item, h5py.Dataset)]
    assert datasets, f"the file has no {wanted}"
    return datasets[0][()]


def killed_driver_is_lost_and_its_last_version_stays(folder, driver):
    with running(folder, driver, "killed", "in.melt", 100, n=6) as run:
        with run.observer() as observer:
            observer.wait(60)
            run.process.send_signal(signal.SIGKILL)
            run.process.wait()
            try:
                while True:
                    observer.wait(60)
            except tcasm.ProducerLost:
                pass
            assert observer.status == tcasm.Status.PRODUCER_LOST
            run.check(observer.latest())


def arrays_that_move_are_adopted_anew(folder, driver):
    """LAMMPS reallocates its arrays in multiples of 16384 atoms, those of other ranks and images
    included. So this begins shortly before."""
    counts = deposited(folder, driver, "moved", n=16, layers=10, steps=400, every=25)
    assert counts[-1] > counts[0] + 100, counts


def arrays_are_adopted_anew_when_there_is_no_room(folder, driver):
    counts = deposited(folder, driver, "grown", n=6, layers=2, steps=400, every=10)
    assert counts[-1] > 1.2 * counts[0], counts


def deposited(folder, driver, name, **settings):
    """Checks a crystal on which atoms rain. Returns the numbers of atoms."""
    counts = []
    with running(folder, driver, name, "in.deposit", **settings) as run:
        with run.observer() as observer:
            observer.every_version()
            for version in observer:
                counts.append(len(run.check(version)["id"]))
        assert run.process.wait(60) == 0
        log = run.log.read_text()
        assert set(log.splitlines()) == {ADOPTED_ANEW}, log
    return counts


def until(condition, process):
    """Waits for a condition, as long as a process runs."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, f"{process.args} ended with {process.returncode}"
        assert time.monotonic() < deadline, f"nothing happens: {process.args}"
        time.sleep(0.05)


TESTS = (
    versions_are_what_lammps_dumps,
    atoms_are_particles,
    checkpoint_has_the_atoms,
    killed_driver_is_lost_and_its_last_version_stays,
    arrays_that_move_are_adopted_anew,
    arrays_are_adopted_anew_when_there_is_no_room,
)


def main(folder, driver, *names):
    for test in TESTS:
        if not names or test.__name__ in names:
            begin = time.monotonic()
            test(pathlib.Path(folder), driver)
            print(f"ok  {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

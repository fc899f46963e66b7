"""Runs the examples in Python and the programs in the README as users do, and compares their
versions with plain numpy."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tcasm

ROOT = pathlib.Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/numpy/heat.py"
SIZE = 64
BLOCKER = """
import runpy, sys
sys.modules["numba"] = None  # importing it fails
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def steps_of_plate():
    """Yields the temperatures after each step, in ordinary memory."""
    t = np.zeros((SIZE, SIZE))
    while True:
        t[1:-1, 1:-1] = 0.25 * (
            (t[:-2, 1:-1] + t[2:, 1:-1]) + (t[1:-1, :-2] + t[1:-1, 2:])
        )
        t[SIZE // 2, SIZE // 2] = 100.0
        yield t


@pytest.mark.parametrize("numba", [False, True])
def test_versions_of_the_solver_are_those_of_plain_numpy(program, numba):
    if numba:
        assert importlib.util.find_spec("numba"), "the environment of the tests has it"
    begin = [] if numba else ["-c", BLOCKER]
    arguments = [str(EXAMPLE), "heat-example", "100000000", str(SIZE)]
    program(command=[sys.executable, *begin, *arguments])
    plate, step, seen = steps_of_plate(), 0, 0
    with tcasm.Observer("heat-example", timeout=60) as run:
        for version in run:
            while step < version.step:
                expected, step = next(plate), step + 1
            assert version.time == 0.1 * version.step
            np.testing.assert_array_equal(version["t"], expected)
            seen += 1
            if seen == 20:
                break
    assert seen == 20


def sees_steps(program, producer, observer, words):
    """Runs an observer beside a producer, and checks that it prints rising steps after words."""
    simulation = program(command=[sys.executable, str(producer)])
    with tcasm.Observer("hello", timeout=60) as run:
        run.next(timeout=60)
    seen = program(command=[sys.executable, str(observer)])
    lines = [seen.line() for _ in range(4)]
    simulation.kill()
    assert all(line.startswith(words) and line.endswith("]") for line in lines), lines
    values = [float(line.split("[")[1].split()[0]) for line in lines]
    assert values == sorted(set(values)), lines
    assert seen.process.wait(60) != 0, "the end of the producer is an error"


def test_hello_observer_sees_the_steps_of_the_producer(program):
    folder = ROOT / "examples/python"
    sees_steps(program, folder / "hello_producer.py", folder / "hello_observer.py", "step ")


def test_heat_is_that_of_rust_in_ordinary_memory_and_in_a_region():
    rust = pathlib.Path(os.environ["TCASM_COMMAND"]).with_name("heat_plain")
    folder = ROOT / "examples/python"
    commands = [[rust], *([sys.executable, folder / name] for name in ("heat_plain.py", "heat.py"))]
    printed = [
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
        for command in commands
    ]
    assert printed[0] == printed[1] == printed[2]
    assert 1.0 < float(printed[0]) < 100.0


def test_programs_in_the_readme_do_what_it_says(program, tmp_path):
    write = [sys.executable, str(ROOT / "ci/readme-programs.py"), "python", str(tmp_path)]
    subprocess.run(write, check=True)
    sees_steps(program, tmp_path / "producer.py", tmp_path / "observer.py", "heat: [")

"""Runs the examples in Python as users do, and compares their versions with plain numpy."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest
import tcasm

EXAMPLE = pathlib.Path(__file__).parents[3] / "examples/numpy/heat.py"
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

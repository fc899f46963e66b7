"""xarray, dask, h5py, types, and the examples."""

import pathlib
import subprocess
import sys
import time

import nbformat
import numpy as np
import pytest
from conftest import STEPS
from nbclient import NotebookClient

import tcasm

ROOT = pathlib.Path(__file__).parent.parent


def test_dataset_has_interior_values_dims_and_coordinates():
    with tcasm.Producer("run", capacity=1 << 20, attrs={"code": "test"}) as p:
        options = {"origin": (1, 2, 0), "spacing": (0.5, 0.25, 1), "ghosts": [(1, 1), (0, 0)]}
        u = p.field("u", (4, 3), unit="K", centring="cell", **options)
        u[:] = np.arange(12).reshape(4, 3)
        p.field("v", (5, 2), vector=True)
        p.publish(step=3, time=0.5)
        with tcasm.Observer("run") as run:
            data = run.latest().to_xarray()
            assert data.attrs["code"] == "test" and data.attrs["step"] == 3
            assert data.u.values.tolist() == [[3, 4, 5], [6, 7, 8]] and data.u.units == "K"
            assert data.u.dims == ("cell_u_y", "cell_u_x") and data.v.dims == ("x", "component2")
            assert data.cell_u_x.values.tolist() == [1.25, 1.75, 2.25]
            assert data.cell_u_y.values.tolist() == [2.125, 2.375]
            held = run.latest().to_xarray()
            assert run.stats()["held"] == 2  # the datasets pin their versions
            del data, held


def test_chunks_are_read_here_and_in_a_worker(program):
    import dask

    simulation = program(STEPS)
    assert simulation.line() == "ready"
    with tcasm.Observer("run") as run:
        array = run.latest().to_dask("u", chunks=(2, 4))
        assert array.shape == (4, 8) and array.numblocks == (2, 2)
        for _ in range(10):
            simulation.tell()
            simulation.line()
        for scheduler in ("threads", "processes"):
            with dask.config.set(scheduler=scheduler, num_workers=1):
                assert float(array.sum().compute()) == 32.0, scheduler
        assert run.stats()["held"] == 1
        del array
        assert run.stats()["held"] == 0


def test_h5py_works_in_the_same_process(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(3)
    with pytest.raises(tcasm.CheckpointError):
        list(tcasm.open(tmp_path / "a.h5"))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["x"][:].tolist() == [0, 1, 2]


def test_package_and_stubs_pass_mypy():
    for command in (["mypy", "--strict", "-p", "tcasm"], ["mypy.stubtest", "tcasm._tcasm"]):
        run = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr


def test_notebook_runs():
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120).execute()


def test_live_plot_runs_to_the_end_of_the_stream(program, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    simulation = program(STEPS)
    assert simulation.line() == "ready"
    plot = subprocess.Popen([sys.executable, str(ROOT / "examples" / "live_plot.py")])
    try:
        with tcasm.Observer("run") as run:
            while len(run.observers()) < 2:
                assert plot.poll() is None
                time.sleep(0.01)
        simulation.tell()
        simulation.end()
        assert plot.wait(120) == 0
    finally:
        plot.kill()
        plot.wait()

"""A producer in Rust and its checkpoints, read from Python. TCASM_SIMULATION is the program of
tests/examples/simulation.rs."""

import os
import threading

import numpy as np
import pytest
from conftest import Program, texts_in_child

import tcasm


@pytest.fixture
def simulation(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    found = Program(command=[os.environ["TCASM_SIMULATION"], str(tmp_path / "checkpoints")])
    assert found.line() == "ready"
    yield found
    found.kill()
    found.process.stdin.close()
    found.process.stdout.close()


def check(version, step):
    """Checks every value of a step."""
    i, j, k = np.indices((2, 3, 4))
    expected = step * 1000 + i * 100 + j * 10 + k
    assert (version.step, version.time, version.region) == (step, step / 4, "rust")
    u, f, v = version["u"], version["f"], version["v"]
    assert u.dtype == "float64" and (u == expected).all() and u.flags.c_contiguous
    assert f.dtype == "int32" and (f == expected).all() and f.flags.f_contiguous
    assert v.shape == (4, 5, 3) and (v == step).all()
    assert version.interior("v").shape == (2, 4, 3)
    assert version.fields["u"].unit == "K" and version.fields["v"].components == 3
    assert not (u.flags.writeable or f.flags.writeable or v.flags.writeable)
    assert version.read("u", copy=True).flags.writeable
    assert version.read("f", np.s_[1, :, 2:]).tolist() == expected[1, :, 2:].tolist()
    assert (version.to_xarray().u == expected).all()
    assert version.to_dask("u").sum().compute() == expected.sum()


def test_python_reads_the_values_of_a_rust_producer_and_of_its_checkpoints(simulation, tmp_path):
    folder = tmp_path / "checkpoints"
    with tcasm.Observer("rust") as run:
        for step in (1, 2, 3):
            simulation.tell()
            assert simulation.line() == str(step)
            check(run.next(timeout=60), step)
        last = run.latest()
        simulation.kill()
        check(last, 3)
        assert run.status == tcasm.Status.PRODUCER_LOST
    with tcasm.open(folder) as run:
        for _ in range(2):  # it can be iterated twice
            assert [version.step for version in run] == [1, 2, 3] and len(run) == 3
        for version in run:
            check(version, version.step)
        check(run.latest(), 3)
        check(run.version(2), 2)
        with pytest.raises(tcasm.VersionGone):
            run.version(9)
        version.release()
        with pytest.raises(tcasm.Closed):
            version["u"]
        check(tcasm.open(version.path).latest(), 3)
    check(tcasm.open(folder / "rust.vtkhdf.series").latest(), 3)


def test_forked_child_does_not_read_an_open_checkpoint(simulation, tmp_path):
    simulation.tell()
    assert simulation.line() == "1"
    version = tcasm.open(tmp_path / "checkpoints").latest()
    texts = texts_in_child(lambda: version["u"], version.release, lambda: version["u"])
    assert len(texts) == 2 and all("fork" in text for text in texts)
    check(version, 1)


def test_forked_child_drops_a_checkpoint_without_the_lock_of_hdf5(simulation, tmp_path):
    simulation.tell()
    assert simulation.line() == "1"
    held = [tcasm.open(tmp_path / "checkpoints").latest()]
    path = held[0].path
    stop = threading.Event()

    def read():
        with tcasm.open(path.parent).latest() as other:
            while not stop.is_set():
                other.read("u")

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(100):
        assert texts_in_child(held.clear) == []
    stop.set()
    reader.join()
    check(held[0], 1)


def test_damaged_checkpoint_is_an_error(simulation, tmp_path):
    simulation.tell()
    assert simulation.line() == "1"
    path = tcasm.open(tmp_path / "checkpoints").latest().path
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(tcasm.CheckpointError, match="cut short"):
        tcasm.open(path).latest()
    with pytest.raises(tcasm.CheckpointError):
        tcasm.open(tmp_path / "nothing")


def test_lost_field_of_a_checkpoint_is_lost_by_name(simulation, tmp_path):
    for lost in ("", "f"):
        simulation.tell(lost)
        simulation.line()
    run = tcasm.open(tmp_path / "checkpoints")
    check(run.version(1), 1)
    last = run.latest()
    assert last.keys() == ["u", "v"] and (last["v"] == 2).all()
    with pytest.raises(tcasm.FieldLost, match='"f" is lost') as caught:
        last["f"]
    assert caught.value.status == tcasm.Status.LOST
    with pytest.raises(tcasm.FieldNotFound):
        last["absent"]

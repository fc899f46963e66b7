"""Runs that continue from checkpoints. TCASM_SIMULATION is the program of
tests/examples/simulation.rs."""

import os
import socket

import numpy as np
import pytest
from conftest import Program

import tcasm


def test_run_begins_without_a_state_and_has_the_settings(tmp_path):
    p, last = tcasm.restore_or_begin("run", [tmp_path], capacity=1 << 20, attrs={"code": "x"})
    with p, tcasm.Observer("run") as run:
        assert last is None
        p.field("u", 4)[:] = 2.0
        p.publish(step=1)
        assert run.latest().attrs["code"] == "x"


def test_run_continues_from_the_checkpoint_of_a_killed_one(tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    simulation = Program(command=[os.environ["TCASM_SIMULATION"], str(folder)])
    assert simulation.line() == "ready"
    for step in ("1", "2"):
        simulation.tell()
        assert simulation.line() == step
    simulation.kill()
    simulation.process.stdin.close()
    simulation.process.stdout.close()
    p, last = tcasm.restore_or_begin("rust", [folder], capacity=1 << 20)
    with p, tcasm.Observer("rust") as run:
        assert last == tcasm.Restored(number=2, step=2, time=0.5)
        i, j, k = np.indices((2, 3, 4))
        np.testing.assert_array_equal(p["u"], 2000 + i * 100 + j * 10 + k)
        assert p["f"].flags.f_contiguous and p["v"].shape == (4, 5, 3)
        assert p.description("u").unit == "K"
        p["u"][:] += 1000
        p.field("more", 3)
        assert p.publish(step=3).version == 3
        assert run.latest()["u"][1, 2, 3] == 3123.0
        free = p.buffer_like("u")
        free.array[:] = 5.0
        p.bind("u", free)
        p.publish(step=4).wait_visible()
        assert run.latest()["u"].sum() == 5.0 * 24


def test_folder_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(tcasm.CheckpointError, match="absent"):
        tcasm.restore_or_begin("run", [tmp_path / "absent"], capacity=1 << 20)


def test_keyboard_interrupt_ends_the_wait_for_a_silent_keeper(program, runtime):
    folder = runtime / "run"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as keeper:
        keeper.bind(str(folder / "run.kept"))
        keeper.listen()
        waiting = program(
            """
            import tcasm
            try:
                tcasm.restore_or_begin("run")
            except KeyboardInterrupt:
                print("interrupted")
            """
        )
        with keeper.accept()[0]:  # it never answers
            waiting.interrupt()
            assert waiting.end().strip() == "interrupted"

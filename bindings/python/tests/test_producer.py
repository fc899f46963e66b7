"""Producers in Python."""

import gc
import os
import pickle

import numpy as np
import pytest

import tcasm


def test_arrays_outlive_a_closed_producer():
    p = tcasm.Producer("run", capacity=1 << 20)
    u = p.field("u", (10, 10))
    p.publish(step=1)
    with tcasm.Observer("run") as run:
        p.close()
        for call in (lambda: p.publish(step=2), lambda: p["u"], lambda: p.field("v", 2)):
            with pytest.raises(tcasm.Closed):
                call()
        del p
        gc.collect()
        u[:] = 7.0
        assert u.sum() == 700.0
        assert run.status == tcasm.Status.END_OF_STREAM
        assert run.latest()["u"].sum() == 0.0


def test_collected_producer_ends_the_stream_although_an_array_lives():
    p = tcasm.Producer("run", capacity=1 << 20)
    u = p.field("u", 4)
    p.publish(step=1)
    with tcasm.Observer("run") as run:
        del p
        gc.collect()
        assert run.status == tcasm.Status.END_OF_STREAM
    u[:] = 1.0


def test_stream_ends_with_the_interpreter(program):
    simulation = program(
        """
        import tcasm
        p = tcasm.Producer("run", capacity=1 << 20)
        u = p.field("u", 4)
        p.publish(step=1)
        print("ready")
        input()
        """
    )
    assert simulation.line() == "ready"
    with tcasm.Observer("run") as run:
        simulation.tell()
        simulation.process.wait()
        assert run.status == tcasm.Status.END_OF_STREAM


def test_skipped_publish_is_false_and_says_why():
    with tcasm.Producer("run", capacity=1 << 20, versions=3, history=0) as p:
        u = p.field("u", 4)
        with tcasm.Observer("run") as run:
            held = []
            for step in range(1, 4):
                u[:] = step
                assert p.publish(step=step, timeout=60).version == step
                held.append(run.latest())
            u[:] = 4
            receipt = p.publish(step=4)
            assert not receipt and receipt.version is None and "3" in receipt.reason
            assert not p.publish(step=4, timeout=0.01)
            held.clear()
            assert p.publish(step=4, timeout=60).version == 4
            assert (run.latest()["u"] == 4).all()


def test_lengths_and_meshes():
    with tcasm.Producer("run", capacity=1 << 20) as p:
        x = p.field("x", (100, 3), vector=True, variable=True)
        p.mesh("atoms", "particles", "x", attrs={"species": "Ar"})
        p.field("charge", 100, "float32", variable=True, on="atoms", quantity="q")
        p.set_len("atoms", 2)
        x[1] = 5.0
        p.publish(step=1)
        p.set_len("atoms", 0)
        p.publish(step=2)
        assert p.length("charge") == 0 and p.description("charge").capacity == 100
        with tcasm.Observer("run") as run:
            first, second = run.version(1), run.version(2)
            assert first["x"].tolist() == [[0, 0, 0], [5, 5, 5]]
            assert first["charge"].shape == (2,) and second["x"].shape == (0, 3)
            assert first.fields["charge"].mesh == "atoms"
            mesh = first.meshes["atoms"]
            assert (mesh.kind, mesh.geometry) == ("particles", ("x",))
            assert mesh.attrs == {"species": "Ar"}


def test_wrong_declarations_are_errors_with_advice():
    with tcasm.Producer("run", capacity=1 << 20) as p:
        with pytest.raises(tcasm.DefineError, match="float64"):
            p.field("u", 4, "float16")
        with pytest.raises(ValueError, match="byte order"):
            p.field("u", 4, ">f8")
        with pytest.raises(tcasm.DefineError, match="larger capacity"):
            p.field("u", 1 << 20)
        with pytest.raises(tcasm.DefineError, match="centring"):
            p.field("u", 4, centring="edge")
        p.field("u", 4)
        with pytest.raises(tcasm.DefineError, match="unique"):
            p.field("u", 4)
        with pytest.raises(tcasm.DefineError, match="fixed length"):
            p.set_len("u", 3)
        with pytest.raises(tcasm.FieldNotFound):
            p["v"]
        with pytest.raises(tcasm.CreateError, match="in use"):
            tcasm.Producer("run")
        with pytest.raises(TypeError, match="Observer"):
            pickle.dumps(p)


def test_rollback_restores_fields():
    with tcasm.Producer("run", capacity=1 << 20, history=3) as p:
        u = p.field("u", 4)
        u[:] = 1
        p.publish(step=10, time=0.5)
        u[:] = np.nan
        assert p.wait_captured(timeout=60)
        assert p.rollback(1) == (10, 0.5)
        assert (u == 1).all()
        with pytest.raises(tcasm.VersionGone):
            p.rollback(9)


def test_several_lengths_change_together_or_not_at_all():
    with tcasm.Producer("run", capacity=1 << 20) as p:
        x = p.field("x", (100, 3), vector=True, variable=True)
        p.mesh("atoms", "particles", "x")
        p.field("charge", 100, variable=True, on="atoms")
        bonds = p.field("bonds", (50, 2), "int64", vector=True, variable=True)
        p.set_lens({"atoms": 3, "bonds": 5})
        x[:] = 2.0
        bonds[:] = np.arange(100).reshape(50, 2)
        assert p.publish(step=1, timeout=60).wait_visible(60)
        with pytest.raises(tcasm.DefineError, match="room for 50"):
            p.set_lens({"atoms": 7, "bonds": 51})
        with pytest.raises(tcasm.FieldNotFound, match="absent"):
            p.set_lens({"atoms": 7, "absent": 1})
        assert [p.length(name) for name in ("atoms", "x", "charge", "bonds")] == [3, 3, 3, 5]
        with tcasm.Observer("run") as run:
            version = run.latest()
            assert version["x"].tolist() == [[2.0] * 3] * 3 and version["charge"].shape == (3,)
            assert version["bonds"].tolist() == [[2 * i, 2 * i + 1] for i in range(5)]


def test_scratch_memory_is_in_no_version():
    with tcasm.Producer("run", capacity=1 << 20) as p:
        u = p.field("u", 4)
        work = p.scratch((3, 5), "float32")
        assert (work.shape, work.dtype, work.any()) == ((3, 5), np.dtype("float32"), False)
        work[:] = 7.0
        u[:] = work[0, 0]
        assert p.publish(step=1, timeout=60).wait_visible(60)
        work += 1.0
        assert p.publish(step=2, timeout=60).pages == 0
        assert (work == 8.0).all() and p.scratch(3).shape == (3,)
        with tcasm.Observer("run") as run:
            version = run.latest()
            assert list(version) == ["u"] and (version["u"] == 7.0).all()
        for shape, dtype, why in (
            (4, "float16", "float64"),
            (4, ">f8", "byte order"),
            (1 << 20, "float64", "larger capacity"),
        ):
            with pytest.raises(tcasm.DefineError, match=why):
                p.scratch(shape, dtype)
    with pytest.raises(tcasm.Closed):
        p.scratch(4)
    del p
    gc.collect()
    assert (work == 8.0).all()


def test_stats_count_what_was_published_and_skipped():
    settings = {"versions": 3, "history": 0, "capture": "inline"}
    with tcasm.Producer("run", capacity=1 << 20, **settings) as p:
        u = p.field("u", 5000)
        with tcasm.Observer("run") as run:
            receipts, held = [], []
            for step in range(1, 6):
                u[:] = step
                receipts.append(p.publish(step=step))
                held.append(run.latest())
            done = [receipt for receipt in receipts if receipt]
            stats = p.stats()
            assert (stats["publishes"], stats["skips"]) == (len(done), 5 - len(done)) == (3, 2)
            assert stats["pages"] == sum(receipt.pages for receipt in done) > 0
            assert stats["bytes"] == sum(receipt.bytes for receipt in done) > 0
            assert stats["observers"] == 1 and stats["held_bytes"] > 0
            assert isinstance(stats["user_mode_only"], bool)
            assert len(stats["publish_us"]) == 3 and all(us > 0 for us in stats["publish_us"])
    with pytest.raises(tcasm.Closed):
        p.stats()


def test_trim_gives_back_the_memory_of_versions_that_were_held():
    with tcasm.Producer("run", capacity=8 << 20, history=0) as p:
        u = p.field("u", 1 << 18)
        with tcasm.Observer("run") as run:
            held = []
            for step in range(1, 6):
                if step == 5:
                    before = p.stats()["held_bytes"]
                    held.clear()
                u[:] = step
                assert p.publish(step=step, timeout=60).wait_visible(60)
                held.append(run.latest())
            assert p.trim() >= u.nbytes
            assert before >= 4 * u.nbytes and p.stats()["held_bytes"] < before
            assert (u == 5.0).all() and (run.latest()["u"] == 5.0).all()


def test_revoked_observer_gets_no_more_versions_and_keeps_those_that_it_has():
    with tcasm.Producer("run", capacity=1 << 20) as p:
        u = p.field("u", 4)
        u[:] = 1.0
        p.publish(step=1)
        with tcasm.Observer("run") as run:
            held = run.latest()["u"]
            assert p.revoke(os.getpid()) == 1 and p.revoke(os.getpid()) == 0
            assert run.status == tcasm.Status.REVOKED
            with pytest.raises(tcasm.Revoked):
                run.latest()
            u[:] = 2.0
            assert p.publish(step=2, timeout=60).wait_visible(60)
            assert (held == 1.0).all()
        with tcasm.Observer("run") as run:
            assert (run.latest()["u"] == 2.0).all()

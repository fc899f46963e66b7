"""Meshes, structures and every version."""

import numpy as np
import pytest

import tcasm


@pytest.fixture
def both():
    with tcasm.Producer("run", capacity=1 << 22, versions=4, history=0) as p:
        with tcasm.Observer("run") as run:
            yield p, run


def published(p, run, step=1):
    assert p.publish(step=step).wait_visible()
    return run.latest()


def test_every_kind_of_mesh_is_seen_as_it_was_added(both):
    p, run = both
    for axis, n in (("x", 4), ("y", 3)):
        p.field(axis, n)[:] = np.arange(n)
    p.field("curve", (3, 4, 3), vector=True)
    p.field("points", (8, 3), vector=True)[:] = 0.5
    p.field("corners", (1, 8), "int64", vector=True)[:] = np.arange(8)
    p.field("places", 9, "int64")
    p.field("ends", 2, "int64")
    p.field("types", 1, "uint8")
    p.field("atoms", (10, 3), vector=True, variable=True)
    p.mesh("grid", "uniform", points=(4, 3, 1), spacing=(0.5, 0.25, 1), attrs={"level": 2})
    p.mesh("axes", "rectilinear", ["x", "y"])
    p.mesh("bent", "curvilinear", "curve")
    p.mesh("cells", "unstructured", ["points", "corners"], cell_type=12)
    p.mesh("particles", "particles", "atoms")
    on = p.field("t", (3, 4), on="grid")
    on[:] = 7.0
    p.set_len("particles", 3)
    version = published(p, run)
    meshes = version.meshes
    kinds = {name: (mesh.kind, mesh.geometry) for name, mesh in meshes.items()}
    assert kinds == {
        "grid": ("uniform", ()),
        "axes": ("rectilinear", ("x", "y")),
        "bent": ("curvilinear", ("curve",)),
        "cells": ("unstructured", ("points", "corners")),
        "particles": ("particles", ("atoms",)),
    }
    grid = meshes["grid"]
    assert grid.points == (4, 3, 1) and grid.spacing == (0.5, 0.25, 1.0)
    assert grid.attrs == {"level": 2} and grid.block is None
    assert meshes["cells"].cell_type == 12 and version["atoms"].shape == (3, 3)
    assert version.field("t").mesh == "grid"
    with pytest.raises(tcasm.DefineError):
        p.mesh("wrong", "curvilinear", "x")
    with pytest.raises(tcasm.Error):
        p.mesh("wrong", "rectilinear")


def test_blocks_and_uniform_meshes_change(both):
    p, run = both
    place = {"of": "amr", "level": 1, "refinement": (2, 2, 1), "offset": (0, 0, 0)}
    p.mesh("fine", "uniform", points=(5, 3, 1), block=place)
    before = published(p, run, 1)
    p.set_block("fine", level=2, refinement=(2, 2, 1), offset=(4, -2, 0))
    p.set_uniform_mesh("fine", (5, 3, 1), (1.0, 2.0, 0.0), (0.5, 0.5, 1.0))
    moved = published(p, run, 2).meshes["fine"]
    assert moved.block == {**place, "level": 2, "offset": [4, -2, 0], "refinement": [2, 2, 1]}
    assert moved.origin == (1.0, 2.0, 0.0) and moved.spacing == (0.5, 0.5, 1.0)
    assert tuple(before.meshes["fine"].block["offset"]) == (0, 0, 0)
    p.set_unused("fine")
    assert 0 in published(p, run, 3).meshes["fine"].points
    for call in (
        lambda: p.set_unused("absent"),
        lambda: p.set_block("absent", level=0, refinement=(1, 1, 1), offset=(0, 0, 0)),
        lambda: p.set_uniform_mesh("absent", (1, 1, 1), (0, 0, 0), (1, 1, 1)),
    ):
        with pytest.raises(tcasm.DefineError, match="absent"):
            call()


def test_structures_are_rows_of_bytes(both):
    p, run = both
    kind = np.dtype([("a", "f8"), ("b", "i4")], align=True)
    pairs = p.structures("pairs", 3, kind)
    pairs["a"] = [0.5, 1.5, 2.5]
    pairs["b"][2] = 42
    version = published(p, run)
    pairs["b"][2] = 43
    rows = version["pairs"]
    assert rows.shape == (3, kind.itemsize) and rows.dtype == np.uint8
    seen = rows.view(kind)[:, 0]
    assert seen["b"][2] == 42 and list(seen["a"]) == [0.5, 1.5, 2.5]
    assert version.field("pairs").structure and not seen.flags.writeable
    p.rollback(version.number)
    assert p["pairs"]["b"][2] == 42
    with pytest.raises(tcasm.DefineError):
        p.structures("objects", 3, [("a", "O")])


def test_every_version_is_taken_although_the_history_is_short(both):
    p, run = both
    p.field("u", 4)
    for step in (1, 2):
        p.publish(step=step).wait_visible()
    assert run.next(timeout=0).step == 2  # the first one is gone
    run.every_version()
    for step in (3, 4, 5, 6):
        assert p.publish(step=step).wait_visible()
    assert not p.publish(step=7)
    assert run.next(timeout=0).step == 3
    assert p.publish(step=8).wait_visible()
    p.close()
    assert [version.step for version in run] == [4, 5, 6, 8]
    assert run.missed() == []


def test_every_version_ends(both):
    p, run = both
    p.field("u", 4)
    run.every_version()
    run.every_version(False)
    for step in (1, 2, 3, 4, 5):
        assert p.publish(step=step).wait_visible()
    assert run.next(timeout=0).step == 5


def test_bytes_that_no_tracker_sees_are_marked(both):
    p, run = both
    u = p.field("u", 4096)
    before = published(p, run, 1)
    p.mark_dirty("u", 0, 8)
    assert run.latest().number == before.number
    after = published(p, run, 2)
    np.testing.assert_array_equal(after["u"], u)
    with pytest.raises(tcasm.FieldNotFound):
        p.mark_dirty("absent")

"""Observers of a producer in another process."""

import gc
import mmap
import warnings

import numpy as np
import pytest
from conftest import STEPS

import tcasm


@pytest.fixture
def simulation(program):
    found = program(STEPS)
    assert found.line() == "ready"
    return found


def step(simulation):
    simulation.tell()
    assert simulation.line()


def test_fields_have_the_values_and_descriptions_of_the_producer(simulation):
    with tcasm.Observer("run") as run, run.latest() as version:
        assert (version.number, version.step, version.time) == (1, 1, 0.5)
        assert list(version) == ["u"] and "u" in version and len(version) == 1
        u = version["u"]
        assert u.dtype == np.float64 and u.shape == (4, 8) and (u == 1.0).all()
        field = version.fields["u"]
        assert (field.unit, field.ghosts, field.centring) == ("K", ((1, 1), (0, 0)), "point")
        assert field.attrs == {"k": 2} and field.shape == (4, 8)
        assert version.interior("u").shape == (2, 8)
        assert version.stats("u")["count"] == 16
        with pytest.raises(tcasm.FieldNotFound, match="'v'"):
            version.field("v")
        with pytest.raises(KeyError, match='"v"'):
            version["v"]


def test_arrays_are_read_only_and_copies_are_not(simulation):
    with tcasm.Observer("run") as run:
        u = run.latest()["u"]
        with pytest.raises(ValueError):
            u[0, 0] = 2.0
        with pytest.raises(ValueError):
            u.flags.writeable = True
        copy = run.latest().read("u", copy=True)
        copy[0, 0] = 2.0
        assert u[0, 0] == 1.0


def test_parts_are_those_of_the_whole(simulation):
    with tcasm.Observer("run") as run:
        version = run.latest()
        whole = np.asarray(version["u"])
        for index in [np.s_[1:3], np.s_[..., 2], np.s_[::-1, 1:8:3], np.s_[-1, -1], np.s_[0:0]]:
            part = version.read("u", index)
            assert part.shape == whole[index].shape and (part == whole[index]).all()


def test_array_keeps_its_version_and_values(simulation):
    run = tcasm.Observer("run")
    version = run.latest()
    u = version["u"][1:]
    version.release()
    with pytest.raises(tcasm.Closed):
        version["u"]
    for _ in range(20):
        step(simulation)
    assert (u == 1.0).all()
    assert 1 in run.available() and run.stats()["held"] == 1
    del u
    assert run.stats()["held"] == 0
    step(simulation)
    step(simulation)
    assert 1 not in run.available()
    run.close()
    with pytest.raises(tcasm.Closed):
        run.latest()


def test_arrays_outlive_observer_and_producer(simulation):
    with tcasm.Observer("run") as run:
        u = run.latest()["u"]
    del run
    simulation.kill()
    gc.collect()
    assert (u == 1.0).all()


def test_killed_producer_is_lost_and_its_last_version_readable(simulation):
    with tcasm.Observer("run") as run:
        simulation.kill()
        assert run.status == tcasm.Status.PRODUCER_LOST
        assert (run.latest()["u"] == 1.0).all()
        with pytest.raises(tcasm.ProducerLost):
            run.wait(timeout=60)
    with pytest.raises(tcasm.RegionNotFound):
        tcasm.Observer("run")


def test_loop_ends_with_the_stream(simulation):
    with tcasm.Observer("run") as run:
        for _ in range(3):
            step(simulation)
        simulation.process.stdin.close()
        simulation.process.wait()
        numbers = [version.number for version in run]
        assert numbers == sorted(numbers) and numbers[-1] == 4
        assert run.status == tcasm.Status.END_OF_STREAM
    simulation.process.stdin = open("/dev/null")


def test_timeouts_are_not_ready(simulation):
    with tcasm.Observer("run") as run:
        run.wait(timeout=60)
        with pytest.raises(tcasm.NotReady) as caught:
            run.wait(timeout=0.01)
        assert isinstance(caught.value, TimeoutError)
        assert caught.value.status == tcasm.Status.NOT_READY == 1
        with pytest.raises(tcasm.VersionGone):
            run.version(99)


def test_many_held_versions_warn_once_and_too_many_are_an_error(simulation):
    with tcasm.Observer("run") as run:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            held = [run.latest() for _ in range(31)]
            assert not caught
            held += [run.latest() for _ in range(33)]
        assert [w.category for w in caught] == [ResourceWarning]
        with pytest.raises(tcasm.TooManyPins):
            run.latest()
        del held


def test_changes_name_the_fields(simulation):
    with tcasm.Observer("run") as run:
        first = run.latest()
        step(simulation)
        assert run.latest().changes(first)["fields"] == ["u"]
        assert first.changes(first)["fields"] == []


def test_changed_ranges_are_the_pages_of_a_field_that_differ():
    page = mmap.PAGESIZE
    in_page = page // 8
    settings = {"history": 4, "tracker": "compare", "capture": "inline"}
    with tcasm.Producer("run", capacity=1 << 20, **settings) as p:
        u, v = p.field("u", 8 * in_page + 100), p.field("v", 10)
        u[:] = v[:] = 1.0
        p.publish(step=1)
        u[3 * in_page] = u[4 * in_page + 7] = u[-1] = 2.0
        p.publish(step=2)
        u[0] = 3.0
        p.field("w", 20)
        p.publish(step=3)
        with tcasm.Observer("run") as run:
            first, second, third = (run.version(number) for number in (1, 2, 3))
            written = [(3 * page, 2 * page), (8 * page, 800)]
            assert second.changed_ranges("u") == written
            assert second.changed_ranges("u", since=first) == written
            assert second.changed_ranges("v", first) == second.changed_ranges("v") == []
            assert third.changed_ranges("u") == [(0, page)]
            assert third.changed_ranges("w", since=second) == [(0, 160)]
            assert third.changed_ranges("u", since=first) == [(0, page), *written]
            # A copy of the old field with the ranges is the new one.
            copy = first.read("u", copy=True)
            new = third["u"].view("uint8")
            for offset, length in third.changed_ranges("u", since=first):
                copy.view("uint8")[offset : offset + length] = new[offset : offset + length]
            np.testing.assert_array_equal(copy, u)
            with pytest.raises(tcasm.FieldNotFound, match="absent"):
                third.changed_ranges("absent")
            first.release()
            with pytest.raises(tcasm.Closed):
                third.changed_ranges("u", since=first)


def test_regions_are_listed(simulation, capsys):
    from tcasm.__main__ import main

    main()
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[0] == "NAME"
    assert row.split()[:2] == ["run", "OK"] and row.split()[3:] == ["1", "1", "0.5", "u"]
    simulation.kill()
    assert [(region.name, region.state) for region in tcasm.regions()] == [("run", "DEAD")]

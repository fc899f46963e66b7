"""The settings of a region."""

import gc
import os
import pathlib
import time

import numpy as np
import pytest

import tcasm


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Removes the variables that come before the settings."""
    for name in ("TRACKER", "CAPTURE", "HUGE_PAGES", "SHARED_BACKING"):
        monkeypatch.delenv(f"TCASM_{name}", raising=False)


def created(**settings):
    """Returns a region with these settings, if their tracker works here."""
    try:
        return tcasm.Producer("run", capacity=1 << 22, history=3, **settings)
    except tcasm.CreateError as error:
        if settings.get("tracker") == "uffd-async":
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("tracker", ["uffd-async", "cow", "compare"])
@pytest.mark.parametrize("pages", ["off", "transparent"])
def test_every_tracker_publishes_the_values(tracker, pages):
    settings = {"tracker": tracker, "huge_pages": pages, "shared_backing": pages != "off"}
    with created(**settings) as p, tcasm.Observer("run") as run:
        assert run.info()["tracker"] == tracker
        u = p.field("u", 4096)
        for step in (1, 2, 3):
            u[step::7] = step
            assert p.publish(step=step, timeout=60).wait_visible(60)
            np.testing.assert_array_equal(run.latest()["u"], u)


def test_region_lies_at_its_base():
    with tcasm.Producer("first", capacity=1 << 20) as p:
        with tcasm.Observer("first") as run:
            base = run.info()["base"]
    del p, run
    gc.collect()
    with tcasm.Producer("second", capacity=1 << 20, base=base, allow="everyone") as p:
        u = p.field("u", 1000)
        u[:] = 3.0
        assert base <= u.ctypes.data < base + (1 << 20)
        p.publish(step=1)
        with tcasm.Observer("second") as run:
            assert run.info()["base"] == base and (run.latest()["u"] == 3.0).all()
        with pytest.raises(tcasm.CreateError, match="addresses"):
            tcasm.Producer("third", capacity=1 << 20, base=base)


def test_regions_for_some_users_are_for_the_own_user_too():
    with tcasm.Producer("run", capacity=1 << 20, allow=[0, 65534]) as p:
        p.field("u", 4)[:] = 1.0
        p.publish(step=1)
        with tcasm.Observer("run") as run:
            assert run.latest()["u"].sum() == 4.0


def copiers():
    """Returns the numbers of the threads of this process that copy."""
    found = set()
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            if (task / "comm").read_text().strip() == "tcasm-copier":
                found.add(int(task.name))
        except OSError:
            pass  # the thread has ended
    return found


def test_copiers_run_where_and_as_nicely_as_they_are_told():
    before = copiers()
    processor = max(os.sched_getaffinity(0))
    settings = {"copiers": 3, "copier_affinity": [processor], "copier_nice": 19}
    found, wanted, end = [], [(19, {processor})] * 3, time.monotonic() + 60
    with tcasm.Producer("run", capacity=1 << 20, **settings):
        while found != wanted:  # each thread applies the settings when it begins
            assert time.monotonic() < end, found
            time.sleep(0.01)
            found = [
                (os.getpriority(os.PRIO_PROCESS, thread), os.sched_getaffinity(thread))
                for thread in copiers() - before
            ]


def published_of(steps, **settings):
    """Returns the steps that are published while an observer holds every version."""
    with tcasm.Producer("run", capacity=1 << 20, versions=4, history=0, **settings) as p:
        u = p.field("u", 4)
        held, published = [], []
        with tcasm.Observer("run") as run:
            for step in steps:
                u[:] = step
                receipt = p.publish(step=step)
                if receipt:
                    assert receipt.wait_visible(60)
                    held.append(run.latest())
                    assert (held[-1]["u"] == step).all()
                    published.append(step)
        return published


def test_other_steps_leave_room_for_appointed_ones():
    assert 10 not in published_of(range(1, 26))
    published = published_of(range(1, 26), reserve_for_every=10)
    assert published[-2:] == [10, 20] and len(published) <= 4


def test_checked_hand_over_fills_what_a_rewriting_leaves_out():
    with tcasm.Producer("run", capacity=16 << 20, check_hand_over=True) as p:
        p.field("u", 1000, handed_over=True)
        for step in (1, 2, 3):
            p.rewrite("u")[:] = step
            assert p.publish(step=step, timeout=60).wait_visible(60)
            u = p.rewrite("u")
            u[1:] = 1.0
            assert np.isnan(u[0]) and (u[1:] == 1.0).all()


@pytest.mark.parametrize(
    "settings, why",
    [
        ({"tracker": "best"}, "uffd-async"),
        ({"capture": "later"}, "deferred"),
        ({"huge_pages": "large"}, "transparent"),
        ({"allow": "nobody"}, "everyone"),
        ({"reserve_for_every": 0}, "from 1 on"),
        ({"copiers": 1000}, "256"),
        ({"base": 1 << 40, "extent": tcasm.Extent(1 << 40, 1 << 22)}, "one of them"),
    ],
)
def test_settings_that_cannot_be_are_errors_with_advice(settings, why):
    with pytest.raises(tcasm.DefineError, match=why):
        tcasm.Producer("run", capacity=1 << 20, **settings)


@pytest.mark.parametrize(
    "settings, why",
    [
        ({"versions": 3, "reserve_for_every": 10}, "appointed"),
        ({"base": 1}, "page size"),
        ({"huge_pages": "reserved", "tracker": "cow"}, "compare"),
    ],
)
def test_regions_that_cannot_be_created_are_errors_with_advice(settings, why):
    with pytest.raises(tcasm.CreateError, match=why):
        tcasm.Producer("run", capacity=1 << 20, **settings)

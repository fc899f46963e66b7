"""Groups of ranks, and blocks of global arrays."""

import asyncio
import pickle
import threading

import numpy as np
import pytest

import tcasm


def rank(number, order="C", **settings):
    """Returns a region with two of four columns, and a ghost layer at each side."""
    group = tcasm.Group(number, 2, run="run 1")
    p = tcasm.Producer("group", capacity=1 << 20, history=3, group=group, **settings)
    u = p.field(
        "u",
        (3, 4),
        order=order,
        ghosts=[(0, 0), (1, 1)],
        global_shape=(3, 4),
        global_offset=(0, 2 * number),
    )
    u[:] = -1.0
    for i in range(3):
        for j in range(2):
            u[i, j + 1] = 10 * i + j + 2 * number
    return p


WHOLE = np.add.outer(10.0 * np.arange(3), np.arange(4))


@pytest.mark.parametrize("order", "CF")
def test_blocks_of_ranks_are_one_array(order):
    with rank(0, order) as a, rank(1, order) as b, tcasm.GroupObserver("group") as group:
        with pytest.raises(tcasm.NotReady):
            group.latest()
        for p in (a, b):
            p.publish(step=3, time=0.5)
        with group.wait(timeout=10) as version:
            assert (version.step, version.time, version.ranks) == (3, 0.5, 2)
            assert version.group == "group" and version.run == "run 1"
            assert version.shape("u") == (3, 4)
            np.testing.assert_array_equal(version["u"], WHOLE)
            np.testing.assert_array_equal(version.read("u", np.s_[1:, 1:3]), WHOLE[1:, 1:3])
            np.testing.assert_array_equal(version.read("u", np.s_[2, ::-2]), WHOLE[2, ::-2])
            joined = version.read("u", concatenated=True)
            assert joined.shape == (6, 2) and joined[4, 1] == 13.0
            members = version.members
            assert sorted(members) == [0, 1] and members[1]["u"][2, 2] == 23.0
            with pytest.raises(tcasm.FieldNotFound):
                version.read("absent")
        with pytest.raises(tcasm.Closed):
            version["u"]
        # A member holds its version by itself.
        assert members[0]["u"][1, 1] == 10.0


def test_loop_takes_steps_that_all_ranks_have_until_the_end():
    with rank(0) as a, rank(1) as b, tcasm.GroupObserver("group") as group:
        a.publish(step=1)
        b.publish(step=1)
        seen = []
        for version in group:
            seen.append(version.step)
            if version.step == 1:
                a.publish(step=2)
                a.publish(step=3)
                b.publish(step=2).wait_visible()
                assert group.steps() == [1, 2]
                assert group.version(1).step == 1
                with pytest.raises(tcasm.VersionGone, match="3"):
                    group.version(3)
            else:
                a.close()
                b.close()
        assert seen == [1, 2]


#: Rank 1 of a group, which publishes a step and stays.
OTHER_RANK = """
    import tcasm
    p = tcasm.Producer("group", capacity=1 << 20, group=tcasm.Group(1, 2))
    p.field("u", 4)
    p.publish(step=1)
    print("ready")
    input()
"""


def test_killed_rank_is_lost(program):
    simulation = program(OTHER_RANK)
    with tcasm.Producer("group", capacity=1 << 20, group=tcasm.Group(0, 2)) as p:
        p.field("u", 4)
        p.publish(step=1)
        assert simulation.line() == "ready"
        with tcasm.GroupObserver("group", timeout=10) as group:
            assert group.wait(timeout=10).step == 1
            simulation.kill()
            with pytest.raises(tcasm.ProducerLost):
                group.wait(timeout=10)
            assert group.latest().step == 1


def test_ends_tell_which_ranks_publish_no_more(program):
    simulation = program(OTHER_RANK)
    with tcasm.Producer("group", capacity=1 << 20, group=tcasm.Group(0, 2)) as p:
        p.field("u", 4)
        p.publish(step=1)
        assert simulation.line() == "ready"
        with tcasm.GroupObserver("group", timeout=10) as group:
            group.wait(timeout=10)
            assert group.ends() == tcasm.GroupEnds(attached=2, closed=[], lost=[])
            simulation.kill()
            assert group.ends() == tcasm.GroupEnds(attached=2, closed=[], lost=[1])
            p.close()
            ends = group.ends()
            assert ends == tcasm.GroupEnds(attached=2, closed=[0], lost=[1])
            assert not ends.all_closed
        with pytest.raises(tcasm.Closed):
            group.ends()


def test_agreed_step_is_the_one_that_the_agent_of_this_host_tells():
    told = {"group": "group", "run": "run 1", "ranks": 2, "agents": 1, "newest": 2}
    with rank(0) as a, rank(1) as b, tcasm.GroupObserver("group") as group:
        for step in (1, 2):
            for p in (a, b):
                assert p.publish(step=step, time=step / 2, timeout=60).wait_visible(60)
        with pytest.raises(tcasm.RegionNotFound, match="tcasm-agent"):
            group.agreed()
        # A region as an agent has one: a version for each step that is agreed.
        with tcasm.Producer("group.group", capacity=1 << 20, attrs=told) as agent:
            agent.field("blocks", 100, "uint8", variable=True)
            with pytest.raises(tcasm.NotReady, match="agreed"):
                group.agreed()
            for step in (1, 2):
                assert agent.publish(step=step, time=step / 2, timeout=60).wait_visible(60)
                with group.agreed() as version:
                    assert (version.step, version.time, version.ranks) == (step, step / 2, 2)
                    np.testing.assert_array_equal(version["u"], WHOLE)
        assert group.ends().all_closed is False
    assert tcasm.GroupEnds(attached=2, closed=[0, 1], lost=[]).all_closed


def test_launcher_tells_the_group(monkeypatch):
    for name, value in (("RANK", "1"), ("RANKS", "3"), ("LOCAL_RANKS", "3"), ("RUN", "x")):
        monkeypatch.setenv(f"TCASM_{name}", value)
    group = tcasm.Group.from_env()
    assert (group.rank, group.ranks) == (1, 3)
    with tcasm.Producer("told", capacity=1 << 20, group=group):
        assert [r.name for r in tcasm.regions()] == ["told.1"]
    monkeypatch.setenv("TCASM_RANKS", "many")
    with pytest.raises(tcasm.Error, match="many"):
        tcasm.Group.from_env()


def test_half_a_place_and_absent_groups_are_errors():
    with tcasm.Producer("run", capacity=1 << 20) as p:
        with pytest.raises(tcasm.DefineError, match="global_offset"):
            p.field("u", 4, global_shape=(8,))
    with pytest.raises(tcasm.RegionNotFound):
        tcasm.GroupObserver("absent")


def test_ranks_that_have_no_region_yet_are_waited_for():
    late = []

    def come():
        late.append(rank(1))
        late[0].publish(step=1)

    with rank(0) as a, tcasm.GroupObserver("group") as group:
        a.publish(step=1)
        with pytest.raises(tcasm.NotReady, match="1 of 2 ranks"):
            group.latest()
        timer = threading.Timer(0.3, come)
        timer.start()
        with group.wait(timeout=20) as version:
            assert version.step == 1
        timer.join()
        late[0].close()


def test_event_loop_gets_steps_until_the_end_and_runs_meanwhile():
    seen = []

    async def publish(a, b):
        for step in (2, 3):
            a.publish(step=step)
            b.publish(step=step)
            while seen[-1] != step:
                await asyncio.sleep(0.005)
        a.close()
        b.close()

    async def follow(a, b, group):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(aiter(group)), 0.1)
        # The loop that was cancelled has taken nothing.
        a.publish(step=1)
        b.publish(step=1)
        publishing = None
        async for version in group:
            seen.append(version.step)
            publishing = publishing or asyncio.create_task(publish(a, b))
        await publishing

    with rank(0) as a, rank(1) as b, tcasm.GroupObserver("group") as group:
        asyncio.run(asyncio.wait_for(follow(a, b, group), 60))
    assert seen == [1, 2, 3]


def test_groups_are_not_pickled():
    with rank(0) as a, rank(1) as b, tcasm.GroupObserver("group") as group:
        a.publish(step=1)
        receipt = b.publish(step=1)
        with group.wait(timeout=10) as version:
            for thing, advice in (
                (group, "attach in the other process"),
                (version, "version.step"),
                (tcasm.Group(0, 2), "its rank"),
                (receipt, "receipt.version"),
                (a.buffer_like("u"), "buffer.array.copy"),
            ):
                with pytest.raises(tcasm.CannotPickle, match=advice):
                    pickle.dumps(thing)
            assert (pickle.loads(pickle.dumps(version["u"])) == WHOLE).all()

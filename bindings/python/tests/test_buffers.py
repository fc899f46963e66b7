"""Double buffers, hand-over, and writes that no tracker sees."""

import numpy as np
import pytest

import tcasm


@pytest.fixture
def p():
    with tcasm.Producer("run", capacity=16 << 20, history=3) as found:
        yield found


def test_double_buffers_swap_and_versions_keep_theirs(p):
    u = p.field("u", (3, 4))
    u[:] = 1.0
    p.publish(step=1)
    following = p.buffer_like("u")
    for step in (2, 3):
        following.array[:] = p["u"] + 1.0
        following = p.bind("u", following)
        assert p.publish(step=step, timeout=60).version == step
    assert (u == 3.0).all() and (following.array == 2.0).all()
    with tcasm.Observer("run") as run:
        assert [run.version(n)["u"].sum() for n in (1, 2, 3)] == [12.0, 24.0, 36.0]


def test_handed_over_field_is_read_only_until_its_next_rewriting(p):
    u = p.field("u", (8, 8), handed_over=True)
    u[:] = 1.0
    p.publish(step=1)
    for old in (u, p["u"]):
        assert (old == 1.0).all()
        with pytest.raises(ValueError, match="read-only"):
            old[:] = 5.0
        with pytest.raises(ValueError, match="WRITEABLE"):
            old.flags.writeable = True
    again = p.rewrite("u")
    again[:] = 2.0
    assert not u.flags.writeable
    p.publish(step=2)
    assert not again.flags.writeable
    with tcasm.Observer("run") as run:
        assert [run.version(n)["u"].sum() for n in (1, 2)] == [64.0, 128.0]


def test_handed_over_buffers_are_bound_in_turn(p):
    p.field("u", 1000, handed_over=True)[:] = 0.0
    following = p.buffer_like("u")
    for step in range(1, 6):
        new = p.rewrite(following)
        new[:] = p["u"] + 1.0
        following = p.bind("u", following)
        assert p.publish(step=step, timeout=60)
        with tcasm.Observer("run") as run:
            assert (run.latest()["u"] == step).all()


def test_skipped_publish_leaves_a_handed_over_field_writable():
    with tcasm.Producer("run", capacity=16 << 20, versions=3, history=0) as p:
        p.field("u", 4, handed_over=True)
        with tcasm.Observer("run") as run:
            held = []
            for step in (1, 2):
                p.rewrite("u")[:] = step
                assert p.publish(step=step, timeout=60)
                held.append(run.latest())
            u = p.rewrite("u")
            u[:] = 4.0
            assert not p.publish(step=3)
            u[:] = 5.0
            held.clear()
            assert p.publish(step=3, timeout=60)
            assert (run.latest()["u"] == 5.0).all()


def test_buffers_of_other_kinds_are_refused(p):
    p.field("u", 4)
    p.field("v", 5)
    p.field("w", 4, handed_over=True)
    for name, like in (("u", "v"), ("u", "w"), ("w", "u")):
        with pytest.raises(tcasm.DefineError):
            p.bind(name, p.buffer_like(like))
    with tcasm.Producer("other", capacity=1 << 20) as other:
        other.field("u", 4)
        with pytest.raises(tcasm.Error):
            p.bind("u", other.buffer_like("u"))
    for call in (p.mark_dirty, p.register_dma):
        with pytest.raises(tcasm.DefineError, match="handed over"):
            call("w")
    for call in (p.rewrite, p.mark_dirty, p.register_dma, p.buffer_like):
        with pytest.raises(tcasm.FieldNotFound):
            call("x")


def test_marked_and_registered_memory_is_captured_though_no_store_was_seen(p):
    pages = 64
    u = p.field("u", pages * 512)
    v = p.field("v", pages * 512)
    u[:] = v[:] = 1.0
    p.publish(step=1)
    assert p.publish(step=2, timeout=60).pages == 0
    p.mark_dirty("u")
    assert p.publish(step=3, timeout=60).pages == pages
    p.mark_dirty("u", 4096, 3 * 4096)
    assert p.publish(step=4, timeout=60).pages == 2
    p.register_dma("v")
    for step in (5, 6):
        assert p.publish(step=step, timeout=60).pages == pages
    with tcasm.Observer("run") as run:
        assert np.array_equal(run.latest()["v"], v)

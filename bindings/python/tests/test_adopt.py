"""Arrays of numpy that become fields where they are."""

import gc
import weakref

import numpy as np
import pytest

import tcasm


@pytest.mark.parametrize("order", ["C", "F"])
def test_array_is_published_in_place(order):
    u = np.zeros((300, 200), order=order)
    with tcasm.Producer("run", capacity=1 << 23) as p:
        own = p.field("own", 4)
        p.adopt("u", u, unit="K")
        assert p["u"] is u
        u[:] = np.arange(60_000.0).reshape(300, 200)
        own[:] = 1.0
        assert p.publish(step=1).lost == []
        with tcasm.Observer("run") as run:
            first = run.latest()
            assert first.fields["u"].unit == "K"
            np.testing.assert_array_equal(first["u"], u)
            u[299, 199] = -1.0
            assert p.publish(step=2).pages == 1
            np.testing.assert_array_equal(run.latest()["u"], u)
            assert first["u"][299, 199] == 59_999.0
            assert first["u"].flags.f_contiguous == (order == "F")
            u += 1.0
            p.rollback(first.number)
            np.testing.assert_array_equal(first["u"], u)
            p.release("u")
            p.publish(step=3)
            assert "u" not in run.latest().fields
            assert run.latest()["own"][0] == 1.0
    assert u[299, 199] == 59_999.0


def test_producer_keeps_the_array_until_it_is_released():
    with tcasm.Producer("run", capacity=1 << 23) as p:
        u = np.ones(100_000)
        alive = weakref.ref(u)
        p.adopt("u", u)
        del u
        gc.collect()
        p["u"][5] = 3.0
        p.publish(step=1)
        with tcasm.Observer("run") as run:
            assert run.latest()["u"][5] == 3.0
        assert p.lost == []
        p.release("u")
        gc.collect()
        assert alive() is None


def test_misuse_is_an_error_with_a_text():
    with tcasm.Producer("run", capacity=1 << 20) as p:
        u = np.ones((10, 10))
        for bad in (u[::2], u[:0], np.broadcast_to(u, (3, 10, 10))):
            with pytest.raises(tcasm.DefineError, match="contiguous and writable"):
                p.adopt("u", bad)
        with pytest.raises(tcasm.DefineError, match="byte order"):
            p.adopt("u", u.astype(">f8"))
        p.adopt("u", u)
        with pytest.raises(tcasm.DefineError, match="overlaps"):
            p.adopt("v", u[5:])
        with pytest.raises(tcasm.DefineError, match="adopted array"):
            p.bind("u", p.buffer_like("u"))
        with pytest.raises(ValueError):
            u.resize((20, 20))
        p.field("own", 3)
        with pytest.raises(tcasm.DefineError, match="not an adopted array"):
            p.release("own")
        with pytest.raises(tcasm.DefineError, match="larger capacity"):
            p.adopt("w", np.ones(1 << 20))


def test_memory_that_is_unmapped_is_lost_by_name():
    import mmap

    with tcasm.Producer("run", capacity=1 << 23) as p:
        memory = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        u = np.frombuffer(memory, dtype="float64")
        u[:] = 2.0
        p.adopt("u", u)
        p.publish(step=1)
        unmap(u.ctypes.data, 1 << 20)
        assert p.publish(step=2).lost == ["u"]
        assert p.lost == ["u"]
        with tcasm.Observer("run") as run:
            with pytest.raises(tcasm.FieldLost, match='"u" is lost'):
                run.latest()["u"]
        map_again(u.ctypes.data, 1 << 20)
        p.release("u")
        assert p.publish(step=3).lost == []
        assert p.lost == []


def libc():
    import ctypes

    found = ctypes.CDLL(None, use_errno=True)
    found.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    found.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    found.mmap.restype = ctypes.c_void_p
    return found


def unmap(address, length):
    assert libc().munmap(address, length) == 0


def map_again(address, length):
    """Maps memory there, so that the end of the array finds some."""
    import mmap

    fixed_and_new = 0x10_0000  # MAP_FIXED_NOREPLACE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | fixed_and_new
    libc().mmap(address, length, 3, flags, -1, 0)

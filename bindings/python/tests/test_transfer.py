"""Transfers between processes, by cookie."""

import gc
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from conftest import texts_in_child

import tcasm

#: An owner. For each line that it reads, it runs that, and prints what `found` is then.
OWNER = """
    import sys, numpy as np, tcasm
    found = None
    with tcasm.Owner() as owner:
        shared = tcasm.SharedArray((4, 5), "int32")
        shared[:] = np.arange(20).reshape(4, 5)
        plain = np.arange(300_000.0).reshape(300, 1000)
        print(owner.address)
        for line in sys.stdin:
            exec(line)
            print(found)
"""


class OtherOwner:
    def __init__(self, program):
        self.program = program(OWNER)
        self.address = self.program.line()

    def do(self, text):
        self.program.tell(text)
        return self.program.line()

    def declare(self, text):
        return bytes.fromhex(self.do(f"found = owner.declare({text}).hex()"))


@pytest.fixture
def owner(program):
    return OtherOwner(program)


@pytest.fixture(params=[None, "ring"])
def peer(owner, request):
    with tcasm.Peer(owner.address, only=request.param) as found:
        yield found


def test_strided_arrays_are_read_in_the_order_of_their_indices(owner, peer):
    plain = np.arange(300_000.0).reshape(300, 1000)
    for text in ("", "[:, 3]", "[::-1, 10:500:7]", "[5:6, ::-1]", ".T[:3]"):
        cookie = owner.declare("plain" + text)
        assert len(cookie) == 16 and peer.describe(cookie).access == "read"
        wanted = eval("plain" + text)
        assert (peer.read(cookie).view("float64") == wanted.ravel()).all()
        out = np.empty(wanted.shape)
        assert peer.read(cookie, out) is out and (out == wanted).all()
        last = np.empty(2)
        peer.read(cookie, last, offset=wanted.nbytes - 16)
        assert last.tolist() == wanted.ravel()[-2:].tolist()
        with pytest.raises(tcasm.TransferError, match="beyond the end"):
            peer.read(cookie, last, offset=wanted.nbytes - 8)


def test_peers_write_shared_arrays_and_views_of_them(owner, peer):
    cookie = owner.declare("shared[:, 1:3], 'readwrite'")
    peer.write(cookie, np.array([[-1, -2]] * 4, "int32"))
    peer.write(cookie, np.full(1, 7, "int32"), offset=4)
    assert owner.do("found = shared[:2].tolist()") == "[[0, -1, 7, 3, 4], [5, -1, -2, 8, 9]]"
    assert (peer.read(cookie).view("int32")[:4] == [-1, 7, -1, -2]).all()
    for text, use in (("shared", peer.write), ("shared, 'write'", peer.read)):
        with pytest.raises(tcasm.TransferError, match="does not allow"):
            use(owner.declare(text), np.zeros(1, "int32"))


def test_bytes_are_read_into_several_arrays_which_may_be_strided(owner, peer):
    cookie = owner.declare("plain")
    values = np.arange(300_000.0)
    first, matrix = np.zeros(10), np.zeros((50, 4))
    assert peer.read_vectored(cookie, [first, matrix[:, 1], matrix[::-1, 2:]]) is None
    assert (first == values[:10]).all() and not matrix[:, 0].any()
    assert (matrix[:, 1] == values[10:60]).all()
    assert (matrix[::-1, 2:] == values[60:160].reshape(50, 2)).all()
    large, last = np.zeros((300, 1200)), np.zeros(1000)
    peer.read_vectored(cookie, [large[:297, :1000], np.zeros(0), last], offset=16_000)
    assert (large[:297, :1000] == values[2000:299_000].reshape(297, 1000)).all()
    assert not large[297:].any() and not large[:, 1000:].any()
    assert (last == values[299_000:]).all()


def test_several_arrays_are_written_one_after_another(owner, peer):
    cookie = owner.declare("shared, 'readwrite'")
    matrix, fixed = np.arange(12, dtype="int32").reshape(3, 4), np.array([-1, -2], "int32")
    fixed.flags.writeable = False
    peer.write_vectored(cookie, [fixed, matrix[:, 2]], offset=4)
    assert owner.do("found = shared[:2].tolist()") == "[[0, -1, -2, 2, 6], [10, 6, 7, 8, 9]]"
    with pytest.raises(tcasm.TransferError, match="does not allow"):
        peer.write_vectored(owner.declare("shared"), [fixed])


def test_mapped_array_shows_what_the_owner_writes_and_outlives_it(owner):
    with tcasm.Peer(owner.address) as peer:
        cookie = owner.declare("shared[1:3]")
        assert peer.describe(cookie) == tcasm.Declared(40, "read", True, False, None)
        values = peer.map(cookie).view("int32")
        assert values.tolist() == list(range(5, 15))
        owner.do("shared[1, 0] = 100")
        assert values[0] == 100
        with pytest.raises(ValueError, match="WRITEABLE"):
            values.flags.writeable = True
        with pytest.raises(tcasm.TransferError, match="one piece"):
            peer.map(owner.declare("shared[:, 0]"))
        with pytest.raises(tcasm.TransferError, match="no file"):
            peer.map(owner.declare("plain"))
    del peer
    owner.program.kill()
    gc.collect()
    assert values[0] == 100


def test_cookies_end_when_they_are_revoked_or_used(owner, peer):
    cookie = owner.declare("shared")
    assert owner.do(f"found = owner.revoke(bytes.fromhex('{cookie.hex()}'), 60)") == "True"
    once = owner.declare("plain, once=True")
    assert peer.describe(once).once
    assert peer.read(once).view("float64").sum() == 300_000 * 299_999 / 2
    for ended, why in ((cookie, "revoked"), (once, "one use"), (bytes(16), "no such cookie")):
        with pytest.raises(tcasm.CookieEnded, match=why):
            peer.read(ended, np.empty(1))
    for wrong in (b"short", bytes(17)):
        with pytest.raises(ValueError):
            peer.describe(wrong)


def test_declared_memory_lives_until_it_is_revoked(owner, peer):
    cookie = owner.declare("np.full(100_000, 7.0)")
    other = owner.declare("tcasm.SharedArray(100_000)[10:] + 3.0")
    owner.do("import gc; gc.collect(); more = [np.zeros(100_000) for _ in range(9)]")
    assert (peer.read(cookie).view("float64") == 7.0).all()
    assert (peer.read(other).view("float64") == 3.0).all()
    assert owner.do("found = owner.declarations") == "2"
    owner.do(f"found = owner.revoke(bytes.fromhex('{cookie.hex()}'))")
    assert owner.do("found = owner.declarations") == "1"


def test_wrong_declarations_are_errors_with_advice():
    with tcasm.Owner() as owner:
        for array, access, why in (
            (np.zeros(4), "readwrite", "SharedArray"),
            (np.zeros(4), "rw", "readwrite"),
            (np.zeros(0), "read", "at least one byte"),
            (np.array([object()]), "read", "Python objects"),
            (np.broadcast_to(np.zeros(1), 9), "read", "overlap"),
        ):
            with pytest.raises(ValueError, match=why):
                owner.declare(array, access)
        fixed = tcasm.SharedArray(4)
        fixed.flags.writeable = False
        with pytest.raises(tcasm.DeclareError, match="read-only"):
            owner.declare(fixed, "write")
        with pytest.raises(TypeError, match="address"):
            pickle.dumps(owner)
    with pytest.raises(tcasm.Closed):
        owner.declare(np.zeros(4))
    with pytest.raises(tcasm.OwnerGone):
        tcasm.Peer(owner.address)


def test_arrays_that_cannot_be_used_as_they_are_are_refused(owner, peer):
    cookie = owner.declare("plain")
    fixed = np.zeros(4)
    fixed.flags.writeable = False
    for out, why in ((np.zeros((4, 4)).T[:2], "contiguous"), (fixed, "read-only")):
        with pytest.raises(tcasm.TransferError, match=why):
            peer.read(cookie, out)
    with pytest.raises(tcasm.TransferError, match="no bytes"):
        peer.read(cookie, offset=300_000 * 8)
    square, many = np.zeros((4, 4)), np.zeros(300_000)
    for outs, why in (
        ([np.zeros(2), fixed], "array 1 is read-only"),
        ([square[:, :2], square[:, 1]], "overlap"),
        ([np.array([object()])], "Python objects"),
        ([np.zeros(0)], "no bytes"),
        ([], "no bytes"),
        ([many, np.zeros(1)], "beyond the end"),
    ):
        with pytest.raises(tcasm.TransferError, match=why):
            peer.read_vectored(cookie, outs)
    with pytest.raises(tcasm.TransferError, match="live memory"):
        peer.read_version(cookie, np.zeros(4))


def test_dead_owner_is_noticed_and_named(owner, peer):
    cookie = owner.declare("plain")
    owner.program.kill()
    with pytest.raises(tcasm.OwnerGone):
        peer.read(cookie)


PEER = """
    import sys, tcasm
    with tcasm.Peer(sys.stdin.readline().strip()) as peer:
        cookie = bytes.fromhex(sys.stdin.readline())
        print("connected")
        sys.stdin.readline()
        print("waiting")
        try:
            peer.read(cookie)
        except KeyboardInterrupt:
            print("interrupted")
        try:
            peer.read(cookie)
        except tcasm.TransferError as error:
            print("connect again" in str(error))
"""


def test_keyboard_interrupt_ends_a_wait_for_a_stopped_owner(owner, program):
    cookie = owner.declare("plain")
    waiting = program(PEER)
    waiting.tell(owner.address)
    waiting.tell(cookie.hex())
    assert waiting.line() == "connected"
    owner.program.stop()
    waiting.tell()
    assert waiting.line() == "waiting"
    time.sleep(0.2)
    waiting.interrupt()
    assert waiting.end().split() == ["interrupted", "True"]


def test_forked_child_does_not_use_an_owner():
    with tcasm.Owner() as owner:
        values = np.arange(4.0)
        cookie = owner.declare(values)

        def close():
            owner.close()
            assert not owner.closed

        calls = (
            lambda: owner.revoke(cookie),
            lambda: owner.declare(values),
            lambda: owner.declarations,
            close,
        )
        texts = texts_in_child(*calls)
        assert len(texts) == 3 and all("fork" in text for text in texts)
        assert owner.declarations == 1 and owner.revoke(cookie, timeout=9)


def test_forked_child_does_not_wait_for_a_thread_that_used_the_peer(owner):
    cookie = owner.declare("plain")
    with tcasm.Peer(owner.address) as peer:

        def close():
            peer.close()
            assert not peer.closed and "closed" not in repr(peer)

        owner.program.stop()
        thread = threading.Thread(target=peer.describe, args=[cookie])
        thread.start()
        time.sleep(0.2)
        texts = texts_in_child(lambda: peer.describe(cookie), lambda: peer.read(cookie), close)
        assert len(texts) == 2 and all("fork" in text for text in texts)
        os.kill(owner.program.process.pid, signal.SIGCONT)
        thread.join()
        assert peer.describe(cookie).nbytes == 2_400_000


#: Closes an owner while another thread declares an array. Dropping an array lets that thread run.
CLOSING = """
    import faulthandler, threading, time, numpy as np, tcasm
    faulthandler.dump_traceback_later(30, exit=True)
    asked, dropped = threading.Event(), threading.Event()

    class Dropped(np.ndarray):
        def __del__(self):
            dropped.set()
            time.sleep(0.5)

    class Asked(np.ndarray):
        @property
        def __array_interface__(self):
            asked.set()
            dropped.wait()
            return values.__array_interface__

    values = np.zeros(4)
    owner = tcasm.Owner()
    owner.declare(np.zeros(4).view(Dropped))
    thread = threading.Thread(target=owner.declare, args=[values.view(Asked)])
    thread.start()
    asked.wait()
    owner.close()
    thread.join()
    print("closed")
"""


def test_owner_is_closed_while_another_thread_declares(program):
    assert program(CLOSING).end() == "closed\n"

"""Versions of memory in pieces."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from conftest import texts_in_child

import tcasm


@pytest.fixture
def owner():
    with tcasm.Owner() as found:
        yield found


def test_peers_and_observers_read_the_versions_of_arrays_in_pieces(owner):
    a, b = np.arange(2000.0).reshape(20, 100), np.arange(5, dtype="int32")

    def content():
        return a[:, 3:7].tobytes() + b.tobytes()

    with tcasm.Gathered(owner, "pieces", [a[:, 3:7], b]) as gathered:
        cookie = gathered.cookie
        with tcasm.Peer(owner.address) as peer, tcasm.Observer("pieces") as run:
            for step in range(1, 5):
                before = content()
                a += 1.0
                b[step] = -step
                number, read = peer.read_version(cookie)
                assert (number, read.tobytes()) == (step, before)
                receipt = gathered.publish(step, time=step / 2)
                assert receipt.version == step + 1
                x, y = np.empty((20, 4)), np.empty(5, "int32")
                assert peer.read_vectored(cookie, [x, y]) == step + 1
                assert (x == a[:, 3:7]).all() and (y == b).all()
                assert peer.describe(cookie).version == step + 1
                version = run.latest()
                assert (version.step, version.time) == (step, step / 2)
                assert version["bytes"].tobytes() == content()


def test_arrays_are_kept_until_the_end(owner):
    values = np.ones(1000)
    kept = weakref.ref(values)
    gathered = tcasm.Gathered(owner, "pieces", values)
    del values
    gc.collect()
    assert kept() is not None
    with tcasm.Peer(owner.address) as peer, tcasm.Observer("pieces") as run:
        assert gathered.publish(step=1).version == 2
        assert (peer.read(gathered.cookie).view("float64") == 1.0).all()
        gathered.close()
        gc.collect()
        assert kept() is None and gathered.closed
        assert run.status == tcasm.Status.END_OF_STREAM
        assert run.latest()["bytes"].nbytes == 8000
        with pytest.raises(tcasm.CookieEnded, match="revoked"):
            peer.read(gathered.cookie, np.empty(1))
        with pytest.raises(tcasm.Closed):
            gathered.publish(step=2)


def test_owner_that_is_closed_closes_what_is_gathered_for_it(owner):
    gathered = tcasm.Gathered(owner, "pieces", np.ones(10))
    with tcasm.Observer("pieces") as run:
        owner.close()
        assert gathered.closed and run.status == tcasm.Status.END_OF_STREAM
    with pytest.raises(tcasm.Closed):
        tcasm.Gathered(owner, "again", np.ones(10))
    with pytest.raises(tcasm.OwnerGone):
        tcasm.Peer(owner.address)


def test_arrays_that_cannot_be_gathered_are_refused_with_advice(owner):
    a = np.ones((4, 4))
    for arrays, why in (
        (np.array([object()]), "Python objects"),
        ([a[:, :2], a[:, 1]], "overlap"),
        ([], "at least one byte"),
    ):
        with pytest.raises(tcasm.DeclareError, match=why):
            tcasm.Gathered(owner, "pieces", arrays)
    with tcasm.Gathered(owner, "pieces", a) as gathered:
        with pytest.raises(tcasm.CreateError, match="in use"):
            tcasm.Gathered(owner, "pieces", a)
        with pytest.raises(TypeError, match="cookie"):
            pickle.dumps(gathered)


def test_forked_child_does_not_use_gathered_memory(owner):
    with tcasm.Gathered(owner, "pieces", np.ones(10)) as gathered:
        texts = texts_in_child(lambda: gathered.publish(step=1), gathered.close)
        assert len(texts) == 1 and "fork" in texts[0]
        assert gathered.publish(step=1).version == 2

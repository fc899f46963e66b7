"""Host buffers of several processes."""

import gc
import os
import socket
import time

import numpy as np
import pytest

import tcasm

#: A process of the job, which runs each line that it reads, and prints what `found` is then.
MEMBER = """
    import sys, numpy as np, tcasm
    found = None
    buffer = tcasm.HostBuffer("job", {"table": 8000, "rest": 100}, processes=3)
    print(buffer.address, buffer.created)
    for line in sys.stdin:
        try:
            exec(line)
        except tcasm.Error as error:
            found = type(error).__name__
        print(found)
"""


def test_processes_share_a_table_and_seal_it(program):
    members = [program(MEMBER) for _ in range(2)]

    def do(text):
        for member in members:
            member.tell(text)
        return [member.line() for member in members]

    with tcasm.HostBuffer("job", {"table": 8000, "rest": 100}, processes=3) as buffer:
        lines = [member.line().split() for member in members]
        assert {int(address) for address, _ in lines} == {buffer.address}
        created = [made == "True" for _, made in lines] + [buffer.created]
        assert sum(created) == 1
        table = buffer.section("table")
        assert table.nbytes == 8000 and table.ctypes.data == buffer.address
        table.view("float64")[:] = np.arange(1000.0)
        assert do("found = buffer.section('table').view('float64').sum()") == ["499500.0"] * 2
        assert do("found = buffer.wait_sealed('table', timeout=0)") == ["NotReady"] * 2
        buffer.seal("table")
        found = "buffer.wait_sealed('table', timeout=60)"
        text = f"found = float({found}.view('float64').sum()), {found}.flags.writeable"
        assert do(text) == ["(499500.0, False)"] * 2
        assert do("found = buffer.section('table').flags.writeable") == ["False"] * 2
        assert do("found = buffer.section('rest').flags.writeable") == ["True"] * 2
        assert (buffer.wait_sealed("table").view("float64") == np.arange(1000.0)).all()
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1
        buffer.section("rest")[:] = 5
        assert do("found = buffer.section('rest').sum()") == ["500"] * 2


def test_arrays_keep_a_buffer_that_is_closed():
    with tcasm.HostBuffer("closed", {"table": 4096}) as buffer:
        table = buffer.section("table")[8:16]
        with pytest.raises(tcasm.HostBufferError, match="already"):
            tcasm.HostBuffer("closed", {"table": 4096})
    del buffer
    gc.collect()
    table[:] = 7
    assert table.sum() == 56
    with pytest.raises(tcasm.HostBufferError, match="already"):
        tcasm.HostBuffer("closed", {"table": 4096})
    del table
    gc.collect()
    with tcasm.HostBuffer("closed", {"table": 4096}) as again:
        assert again.created and not again.section("table").any()
    with pytest.raises(tcasm.Closed):
        again.section("table")


def test_missing_processes_and_wrong_sections_are_errors():
    with pytest.raises(tcasm.HostBufferError, match="1 of 2 processes"):
        tcasm.HostBuffer("missing", {"table": 4096}, processes=2, timeout=0.1)
    with pytest.raises(tcasm.HostBufferError):
        tcasm.HostBuffer("missing", {})
    with tcasm.HostBuffer("missing", {"table": 4096}) as buffer:
        for call in (buffer.section, buffer.seal, buffer.wait_sealed):
            with pytest.raises(tcasm.HostBufferError, match="no section 'x'|no section \"x\""):
                call("x")


def test_regions_of_ranks_lie_in_their_parts_of_a_section():
    size = 1 << 20
    with tcasm.HostBuffer("parts", {"state": size, "table": 4096}, ranks={"state": 2}) as buffer:
        buffer.section("table")[:] = 1
        parts = [buffer.take_part("state", rank) for rank in range(2)]
        assert parts[0].base > buffer.address and parts[0].bytes >= size
        assert parts[1] == tcasm.Extent(parts[0].base + parts[0].bytes, parts[0].bytes)
        for section, rank, why in (
            ("state", 0, "already"),
            ("state", 2, "0 to 1"),
            ("table", 0, "not for regions"),
            ("absent", 0, "no section"),
        ):
            with pytest.raises(tcasm.HostBufferError, match=why):
                buffer.take_part(section, rank)
        with pytest.raises(tcasm.HostBufferError, match="for regions"):
            buffer.section("state")
    with pytest.raises(tcasm.Closed):
        buffer.take_part("state", 0)
    for rank, part in enumerate(parts):
        group = tcasm.Group(rank, 2)
        with tcasm.Producer("weather", group=group, extent=part) as p:
            u = p.field("u", size // 8)
            u[:] = rank
            assert part.base <= u.ctypes.data < part.base + part.bytes
            assert p.publish(step=1, timeout=60).wait_visible(60)
            with tcasm.Observer(f"weather.{rank}") as run:
                assert (run.info()["base"], run.info()["bytes"]) == (part.base, part.bytes)
                assert (run.latest()["u"] == rank).all()


def test_ranks_without_a_section_are_an_error():
    with pytest.raises(tcasm.HostBufferError, match="'stat'"):
        tcasm.HostBuffer("parts", {"state": 4096}, ranks={"stat": 2})


#: A process of a host with a folder of its own.
ON_A_HOST = """
    import os, sys, tcasm
    os.environ["TCASM_RUNTIME_DIR"] = {folder!r}
    try:
        buffer = tcasm.HostBuffer("job", {{"table": {bytes}}}, processes=2,
            rendezvous=({server!r}, {secret!r}), timeout=30)
    except tcasm.Error as error:
        print(error)
        sys.exit()
    table = buffer.section("table")
    if buffer.created:
        table[:] = 7
        buffer.seal("table")
    table = buffer.wait_sealed("table", timeout=30)
    print(buffer.address, table.sum())
    sys.stdin.readline()
"""


@pytest.fixture
def rendezvous(runtime, program):
    """Serves a rendezvous of three hosts. Returns its address and the file of its secret."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = f"127.0.0.1:{free.getsockname()[1]}"
    secret = runtime / "secret"
    secret.write_text("a secret of this test\n")
    secret.chmod(0o600)
    serve = ["hostbuffer", "serve", "--listen", server, "--hosts", "3", "--secret", str(secret)]
    program(command=[os.environ["TCASM_COMMAND"], *serve])
    return server, str(secret)


def on_hosts(runtime, program, rendezvous, sizes):
    """Starts two processes on each of three hosts. Returns them, and the line of each."""
    server, secret = rendezvous
    started = []
    for host, size in enumerate(sizes):
        folder = str(runtime / f"host{host}")
        names = {"folder": folder, "bytes": size, "server": server, "secret": secret}
        started += [program(ON_A_HOST.format(**names)) for _ in range(2)]
    return started, [one.line() for one in started]


def test_hosts_agree_on_an_address_through_a_rendezvous(runtime, program, rendezvous):
    started, lines = on_hosts(runtime, program, rendezvous, [8000] * 3)
    assert len(set(lines)) == 1 and lines[0].endswith(" 56000"), lines
    for one in started:
        one.tell()


def test_hosts_with_different_tables_are_all_refused(runtime, program, rendezvous):
    _, lines = on_hosts(runtime, program, rendezvous, [8000, 8000, 4000])
    assert all("differ" in line for line in lines), lines


def test_a_secret_that_others_can_read_is_refused(rendezvous):
    server, secret = rendezvous
    os.chmod(secret, 0o644)
    with pytest.raises(tcasm.HostBufferError, match="secret"):
        tcasm.HostBuffer("job", {"table": 8000}, rendezvous=(server, secret))
    with pytest.raises(tcasm.HostBufferError, match="absent"):
        tcasm.HostBuffer("job", {"table": 8000}, rendezvous=(server, "/absent"))


WAIT = """
    import tcasm
    try:
        print("waiting")
        {}
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize(
    "call",
    [
        "tcasm.HostBuffer('job', {'table': 4096}, processes=2, timeout=1e9)",
        "tcasm.HostBuffer('job', {'table': 4096}).wait_sealed('table')",
    ],
)
def test_keyboard_interrupt_ends_a_wait(program, call):
    waiting = program(WAIT.format(call))
    assert waiting.line() == "waiting"
    time.sleep(0.3)
    waiting.interrupt()
    assert waiting.end().strip() == "interrupted"

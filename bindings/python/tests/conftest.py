"""Helpers: a runtime folder for each test, and programs in processes of their own."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import tcasm


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Gives each test a folder of its own for sockets."""
    monkeypatch.setenv("TCASM_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path


def texts_in_child(*calls):
    """Makes these calls in a forked child. Returns the texts of those that raise `Forked`."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that hangs
        try:
            os.write(writing, "|".join(forked(call) for call in calls).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        texts = pipe.read().decode().split("|")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return [text for text in texts if text]


def forked(call):
    try:
        call()
    except tcasm.Forked as error:
        return str(error)
    return ""


#: Where the tests run in the background of a script, SIGINT is ignored, and that is inherited.
OBEY = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


class Program:
    """A program in a process of its own, in Python unless it is a command. It prints a line when
    it is ready."""

    def __init__(self, text="", command=None):
        command = command or [sys.executable, "-u", "-c", OBEY + textwrap.dedent(text)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def line(self):
        return self.process.stdout.readline().strip()

    def tell(self, text=""):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def interrupt(self):
        os.kill(self.process.pid, signal.SIGINT)

    def stop(self):
        """Stops the program, and waits until none of its threads runs any more."""
        os.kill(self.process.pid, signal.SIGSTOP)
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            while (task / "stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
                time.sleep(0.001)

    def end(self):
        """Waits for the end. Returns what it printed."""
        return self.process.communicate(timeout=60)[0]


@pytest.fixture
def program():
    """Starts programs, and ends them after the test."""
    started = []

    def start(text="", command=None):
        started.append(Program(text, command))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()
        one.process.stdin.close()
        one.process.stdout.close()


#: A simulation that publishes a step for each line that it reads.
STEPS = """
    import sys, tcasm
    with tcasm.Producer("run", capacity=1 << 22, history=4) as p:
        u = p.field("u", (4, 8), unit="K", ghosts=[(1, 1), (0, 0)], attrs={"k": 2})
        u[:] = 1.0
        p.publish(step=1, time=0.5)
        print("ready")
        for step, _ in enumerate(sys.stdin, 2):
            u[:] = step
            p.publish(step=step, time=step / 2)
            print(step)
"""

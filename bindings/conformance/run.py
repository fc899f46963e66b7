#!/usr/bin/env python3
"""Runs every producer with every observer, and compares what they print with reference.py.

Usage: run.py NAME=KIND=COMMAND...     KIND is producer or observer
"""

import os
import subprocess
import sys

import reference


class Program:
    """A program that answers each line with lines that end with a dot."""

    def __init__(self, name, command, region):
        self.name = name
        arguments = [*command.split(), region]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self):
        lines = []
        for line in self.process.stdout:
            if line == ".\n":
                return lines
            lines.append(line.rstrip())
        sys.exit(f"{self.name} ended without an answer, after {lines[-3:]}")

    def end(self):
        self.process.stdin.close()
        if status := self.process.wait(20):
            sys.exit(f"{self.name} ended with status {status}")


class Pairs:
    """A producer, and all observers of it."""

    def __init__(self, producer, command, observers):
        region = f"conformance-{producer}-{os.getpid()}".replace("+", "p")
        self.producer = Program(f"the producer in {producer}", command, region)
        self.expect(self.producer.answer(), ["ready"], "start", self.producer)
        names = observers.items()
        self.observers = [Program(f"the observer in {n}", c, region) for n, c in names]
        for observer in self.observers:
            self.expect(observer.answer(), ["ready"], "start", observer)

    def expect(self, found, wanted, action, program):
        """Stops at the first line that differs."""
        wanted = [line.rstrip() for line in wanted]
        if found == wanted:
            return
        pairs = list(zip(found + ["(no line)"], wanted + ["(no line)"]))
        one, other = next(pair for pair in pairs if pair[0] != pair[1])
        sys.exit(
            f"{program.name}, with {self.producer.name}, {action}:\n  it printed {one}\n"
            f"  instead of {other}"
        )

    def publish(self, *wanted):
        self.tell("publish", *wanted)

    def tell(self, line, *wanted):
        self.expect(self.producer.ask(line), wanted, line, self.producer)

    def all(self, line, *wanted):
        for observer in self.observers:
            self.expect(observer.ask(line), list(wanted), line, observer)

    def exchange(self):
        """Publishes versions until the stream ends."""
        self.all("status", "NOT_READY")
        self.all("latest", "NOT_READY")
        for step in (1, 2):
            self.publish("published")
            self.all("status", "OK")
            self.all("next", *reference.version(step, step), "OK")
        # Observers hold both, so there is no room for a third one besides what is kept free.
        self.publish("published")
        self.all("next", *reference.version(3, 3), "OK")
        self.publish("skipped")
        self.all("release", "OK")
        self.publish("published")
        self.all("next", *reference.version(4, 5), "OK")
        self.producer.end()
        self.all("status", "END_OF_STREAM")
        self.all("next", "END_OF_STREAM")
        self.all("latest", *reference.version(4, 5), "OK")

    def every(self):
        """Publishes more versions than the history keeps, of which observers take every one."""
        self.all("every", "OK")
        for _ in range(3):
            self.publish("published")
        self.publish("skipped")
        self.all("next", *reference.version(1, 1), "OK")
        self.all("release", "OK")
        self.publish("published")
        self.all("next", *reference.version(2, 2), "OK")
        self.all("next", *reference.version(3, 3), "OK")
        self.all("next", *reference.version(4, 5), "OK")
        self.all("release", "OK")
        self.producer.end()
        self.all("next", "END_OF_STREAM")

    def kill(self):
        """Kills the producer after a version."""
        self.publish("published")
        self.all("next", *reference.version(1, 1), "OK")
        self.producer.process.kill()
        self.producer.process.wait()
        self.all("next", "PRODUCER_LOST")
        self.all("status", "PRODUCER_LOST")
        self.all("latest", *reference.version(1, 1), "OK")

    def lose(self):
        """Unmaps the memory of an adopted field, and releases the field later."""
        self.publish("published")
        self.all("next", *reference.version(1, 1), "OK")
        self.tell("unmap", "unmapped")
        self.publish("lost doomed", "published")
        self.all("next", *reference.version(2, 2, "lost"), "OK")
        # The version from before has all values, and nothing maps new memory in their place.
        self.all("again", *reference.version(1, 1), "OK")
        self.all("release", "OK")
        self.publish("lost doomed", "published")
        self.all("next", *reference.version(3, 3, "lost"), "OK")
        self.tell("drop", "dropped")
        self.publish("published")
        self.all("next", *reference.version(4, 4, "released"), "OK")
        self.producer.end()
        self.all("latest", *reference.version(4, 4, "released"), "OK")

    def end(self):
        for observer in self.observers:
            observer.end()


def main():
    programs = {"producer": {}, "observer": {}}
    for argument in sys.argv[1:]:
        name, kind, command = argument.split("=", 2)
        programs[kind][name] = command
    for name, command in programs["producer"].items():
        for scene in (Pairs.exchange, Pairs.every, Pairs.kill, Pairs.lose):
            pairs = Pairs(name, command, programs["observer"])
            scene(pairs)
            pairs.end()
        print(f"the producer in {name} agrees with observers in {', '.join(programs['observer'])}")


if __name__ == "__main__":
    main()

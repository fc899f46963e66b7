"""A client of `tcasm view`, of the standard library only: see view/PROTOCOL.md."""

import json
import os
import socket
import struct
import subprocess
import urllib.request


class Page:
    """A running `tcasm view`, and a connection to it as a page has one."""

    def __init__(self, command, name):
        arguments = [command, "view", name, "--port", "0"]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        address = self.process.stdout.readline().strip()
        self.host, self.token = address.removeprefix("http://").split("/#token=")
        self.socket = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.socket is not None:
            self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def regions(self):
        address = f"http://{self.host}/regions?token={self.token}"
        with urllib.request.urlopen(address, timeout=60) as answer:
            return json.load(answer)

    def region(self):
        """Opens the WebSocket. Returns the first description of the region that has a version."""
        host, port = self.host.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        lines = (
            f"GET /ws?token={self.token} HTTP/1.1",
            f"Host: {self.host}",
            f"Origin: http://{self.host}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        )
        self.socket.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
        self.stream = self.socket.makefile("rb")
        status = self.stream.readline()
        assert status.startswith(b"HTTP/1.1 101"), status
        while self.stream.readline().strip():
            pass
        while True:
            text, message = self.message()
            found = json.loads(message) if text else {}
            if found.get("type") == "region" and found["latest"]:
                return found

    def frame(self, field):
        """Asks for particles in space. Returns the head of the first frame that has them, or an
        error."""
        wanted = {"type": "view", "id": 1, "field": field, "scene": {"points": 1000}}
        self.send(json.dumps(wanted).encode())
        while True:
            text, message = self.message()
            if text:
                continue
            (length,) = struct.unpack_from("<I", message)
            head = json.loads(message[4 : 4 + length])
            if head["error"] is not None or head.get("scene"):
                return head
            self.send(json.dumps({"type": "drawn", "frame": head["frame"]}).encode())

    def send(self, text):
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
        self.socket.sendall(struct.pack(">BBH", 0x81, 0x80 | 126, len(text)) + mask + masked)

    def message(self):
        """Returns whether the next message is a text, and its bytes."""
        while True:
            begin, length = self.stream.read(2)
            if length == 126:
                (length,) = struct.unpack(">H", self.stream.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.stream.read(8))
            body = self.stream.read(length)
            assert begin & 0x80, "the server sends whole messages"
            if begin & 0x0F in (1, 2):
                return begin & 0x0F == 1, body

#!/usr/bin/env python3
"""A thermostat that uses the device connection, with only Python's standard library.

    DEVICE_SECRET=... python3 device.py http://127.0.0.1:8080 THERMOSTAT-1 [seconds between reports]

It declares its properties (HELLO), reports its measurements (UPDATE), and keeps them until they are acknowledged (ACK).
It executes writes (WRITE, RESULT). After an interruption it reconnects and sends the reports that the server has not
stored (WELCOME.seq). docs/api.md describes the device connection, docs/device-guide.md how a good device behaves.
"""
import base64
import hashlib
import json
import os
import random
import socket
import ssl
import struct
import sys
import time
import uuid
from collections import OrderedDict, deque
from urllib.parse import urlsplit

SERVICE = "climate"
TEMPERATURE, SETPOINT, REPORTS = 0x2000, 0x2001, 0x2002

UNACKNOWLEDGED_MAX = 10_000  # kept while there is no connection; above it the oldest are dropped
ANSWERED_MAX = 1_000  # WRITEs whose results are remembered
SILENCE_SECONDS_MAX = 75  # the server pings every 30 s: after two missed pings the connection is dead
PAUSE_SECONDS_MAX = 60  # between two attempts to reconnect


class Closed(Exception):
    """The connection has ended. `code` decides whether to reconnect; docs/api.md lists the codes."""

    def __init__(self, code, reason=""):
        super().__init__(f"closed with {code} {reason}".strip())
        self.code = code


class Refused(Exception):
    """The server did not accept the credentials."""


class WebSocket:
    """The client's side of RFC 6455, as far as the device connection needs it."""

    def __init__(self, url, subprotocol, name, password):
        where = urlsplit(url)
        is_secure = where.scheme in ("https", "wss")
        address = (where.hostname, where.port or (443 if is_secure else 80))
        self.socket = socket.create_connection(address, timeout=10)
        if is_secure:
            context = ssl.create_default_context()
            self.socket = context.wrap_socket(self.socket, server_hostname=where.hostname)
        self.buffer = b""
        self.message = b""
        self.received_at = time.monotonic()
        self._upgrade(where, subprotocol, base64.b64encode(f"{name}:{password}".encode()).decode())

    def _upgrade(self, where, subprotocol, credentials):
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: {subprotocol}\r\n"
            f"Authorization: Basic {credentials}\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self._received()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        status, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if " 401 " in status:
            raise Refused("name and secret do not match")
        accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if " 101 " not in status or headers.get("sec-websocket-accept") != base64.b64encode(accept).decode():
            raise OSError(f"no websocket at this address: {status}")

    def send(self, text):
        self._send(0x1, text.encode())

    def _send(self, opcode, payload):
        size = len(payload)
        if size < 126:
            length = struct.pack("!B", 0x80 | size)
        elif size < 65_536:
            length = struct.pack("!BH", 0x80 | 126, size)
        else:
            length = struct.pack("!BQ", 0x80 | 127, size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
        self.socket.settimeout(10)
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def receive(self, seconds):
        """Returns the next message; None if none arrives in this time. Answers pings meanwhile."""
        until = time.monotonic() + seconds
        while True:
            frame = self._take_frame()
            if frame is None:
                if time.monotonic() - self.received_at > SILENCE_SECONDS_MAX:
                    raise Closed(1006, "no message for too long")
                self.socket.settimeout(max(until - time.monotonic(), 0.001))
                try:
                    self.buffer += self._received()
                except socket.timeout:
                    return None
                continue
            is_last, opcode, payload = frame
            if opcode == 0x8:
                code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1005
                raise Closed(code, payload[2:].decode(errors="replace"))
            if opcode == 0x9:
                self._send(0xA, payload)
            elif opcode in (0x0, 0x1):
                self.message += payload
                if is_last:
                    message, self.message = self.message, b""
                    return message.decode()

    def _take_frame(self):
        """Returns (whether it ends a message, opcode, payload) of a received frame; None if it is incomplete."""
        if len(self.buffer) < 2:
            return None
        size, start = self.buffer[1] & 0x7F, 2
        if size > 125:
            start = 4 if size == 126 else 10
            if len(self.buffer) < start:
                return None
            size = int.from_bytes(self.buffer[2:start], "big")
        if len(self.buffer) < start + size:
            return None
        first, payload = self.buffer[0], self.buffer[start : start + size]
        self.buffer = self.buffer[start + size :]
        return bool(first & 0x80), first & 0x0F, payload

    def _received(self):
        data = self.socket.recv(65_536)
        if not data:
            raise Closed(1006, "without a close frame")
        self.received_at = time.monotonic()
        return data

    def close(self):
        self.socket.close()


class Thermostat:
    """The device, and the state that it keeps from one connection to the next."""

    def __init__(self, identifier, report_seconds):
        self.identifier = identifier
        self.report_seconds = report_seconds
        self.session = uuid.uuid4().hex  # new at each boot: numbering begins again
        self.seq = 0
        self.unacknowledged = deque(maxlen=UNACKNOWLEDGED_MAX)  # (seq, items, when), the oldest first
        self.answered = OrderedDict()  # id of a WRITE: its results
        self.temperature, self.setpoint, self.reports = 18.0, 21.0, 0
        self.due_at = time.monotonic()
        self.link = None
        self.flake_address = None  # the number of this device in frames, from WELCOME on
        self.in_flight = 0  # how many of `unacknowledged`, from the left, were sent on this connection

    def serve(self, link):
        """Uses an open connection until it ends with an exception."""
        self.link, self.in_flight, self.flake_address = link, 0, None
        self.send(
            type="HELLO",
            deviceIdentifier=self.identifier,
            session=self.session,
            services=[
                {
                    "serviceIdentifier": SERVICE,
                    "properties": [
                        {"propId": TEMPERATURE, "type": "FLOAT", "modifier": {"isReadOnly": True}},
                        {"propId": SETPOINT, "type": "FLOAT"},
                        {"propId": REPORTS, "type": "UINT32", "modifier": {"isReadOnly": True}},
                    ],
                }
            ],
        )
        while True:
            text = link.receive(max(self.due_at - time.monotonic(), 0))
            if text is not None:
                self.received(json.loads(text))
            self.measure()

    def measure(self):
        """Measures every `report_seconds`, also without a connection."""
        if time.monotonic() < self.due_at:
            return
        self.due_at = max(self.due_at + self.report_seconds, time.monotonic())
        self.temperature += (self.setpoint - self.temperature) * 0.1
        self.reports += 1
        self.report([TEMPERATURE, round(self.temperature, 2), REPORTS, self.reports])

    def report(self, items):
        self.seq += 1
        if len(self.unacknowledged) == UNACKNOWLEDGED_MAX:
            self.in_flight = max(self.in_flight - 1, 0)
        self.unacknowledged.append((self.seq, items, int(time.time() * 1000)))
        self.send_waiting()

    def send_waiting(self):
        """Sends the UPDATEs that were not sent on this connection yet, up to the window."""
        if self.flake_address is None:
            return
        while self.in_flight < min(len(self.unacknowledged), self.window):
            seq, items, when = self.unacknowledged[self.in_flight]
            self.link.send(json.dumps(["U", self.flake_address, seq, 0, items, when]))
            self.in_flight += 1

    def forget(self, seq):
        """Deletes the UPDATEs up to this number: they are stored."""
        while self.unacknowledged and self.unacknowledged[0][0] <= seq:
            self.unacknowledged.popleft()
            self.in_flight = max(self.in_flight - 1, 0)

    def received(self, message):
        if isinstance(message, list):  # ["A", flakeAddress, seq]
            self.forget(message[2])
            self.send_waiting()
        elif message["type"] == "WELCOME":
            self.forget(message["seq"])
            self.flake_address, self.window = message["flakeAddress"], message["window"]
            print_line(f"connected, {message['seq']} stored, {len(self.unacknowledged)} to send")
            self.send_waiting()
        elif message["type"] == "WRITE":
            self.write(message["id"], message["updates"])
        elif message["type"] == "ERROR":
            print_line(f"refused: {message['code']} {message.get('message', '')}")

    def write(self, id, updates):
        """Applies each write once: the same id may arrive again if the answer was lost."""
        if id not in self.answered:
            self.answered[id] = [self.change(each["propId"], each["value"]) for each in updates]
            if len(self.answered) > ANSWERED_MAX:
                self.answered.popitem(last=False)
        self.send(type="RESULT", flakeAddress=self.flake_address, id=id, results=self.answered[id])

    def change(self, prop_id, value):
        if prop_id != SETPOINT or not 5 <= value <= 30:
            return {"propId": prop_id, "status": "REJECTED", "message": "from 5 to 30 degrees"}
        self.setpoint = value
        self.report([SETPOINT, value])  # before the RESULT, so that the caller then reads the new value
        print_line(f"setpoint {value}")
        return {"propId": prop_id, "status": "OK"}

    def send(self, **message):
        self.link.send(json.dumps(message))


def print_line(text):
    print(text, flush=True)


def run(url, identifier, secret, report_seconds):
    thermostat = Thermostat(identifier, report_seconds)
    pause = 1.0
    while True:
        link = None
        try:
            link = WebSocket(f"{url.rstrip('/')}/api/v1/link", "link.v1.json", identifier, secret)
            thermostat.serve(link)
        except Refused as refused:
            sys.exit(f"refused: {refused}")
        except Closed as closed:
            if closed.code in (4400, 4401):  # a mistake of this program, or an invalid secret: do not try again
                sys.exit(str(closed))
            why = closed
        except OSError as error:
            why = error
        finally:
            if link:
                link.close()
        if thermostat.flake_address is not None:
            pause = 1.0
        thermostat.flake_address = None
        # A random pause, so that a fleet does not reconnect all at once.
        seconds = random.uniform(0, pause)
        print_line(f"{why}; reconnecting in {seconds:.1f} s")
        pause = min(pause * 2, PAUSE_SECONDS_MAX)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            thermostat.measure()
            time.sleep(min(0.05, max(until - time.monotonic(), 0)))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or "DEVICE_SECRET" not in os.environ:
        sys.exit(__doc__)
    try:
        run(sys.argv[1], sys.argv[2], os.environ["DEVICE_SECRET"], float(sys.argv[3]) if len(sys.argv) == 4 else 1.0)
    except KeyboardInterrupt:
        pass

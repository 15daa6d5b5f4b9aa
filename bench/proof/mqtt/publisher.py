"""Prints `connected`, and publishes 1, 2, 3, ... as values of one device in a lasting session, until a line arrives on its input.

Then it waits until everything is acknowledged, and prints {"published", "connections", "lostSessions"}. It needs paho-mqtt.
"""

import json
import sys
import threading

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

IN_FLIGHT_MAX = 20
UNACKNOWLEDGED_MAX = 40
SERVICE = "counter"
PROPERTY = 0x2000
RESEND_PUBREL = paho.mqtt_ms_resend_pubrel

settings = json.loads(sys.argv[1])
device, qos, version = settings["device"], settings["qos"], settings["version"]
is_native = settings["isNative"]

free = threading.Semaphore(UNACKNOWLEDGED_MAX)
is_ready = threading.Event()
is_asked_to_stop = threading.Event()
counts = {"published": 0, "connections": 0, "lostSessions": 0}
address = None


def connected(client, _userdata, flags, _reason, _properties=None):
    counts["connections"] += 1
    is_present = flags["session present"] if isinstance(flags, dict) else flags.session_present
    if counts["connections"] > 1 and not is_present:
        counts["lostSessions"] += 1
    if not is_native:
        is_ready.set()
    elif counts["connections"] == 1:
        declared = [{"propId": PROPERTY, "type": "UINT32"}]
        hello = {"type": "HELLO", "deviceIdentifier": device,
                 "services": [{"serviceIdentifier": SERVICE, "properties": declared}]}
        free.acquire()
        client.publish("v1/link", json.dumps(hello), 1)


def received(_client, _userdata, message):
    global address
    content = json.loads(message.payload)
    if content["type"] == "WELCOME":
        address = content["flakeAddress"]
        is_ready.set()
    elif content["type"] == "ERROR":
        print(json.dumps({"error": content}), flush=True)


def stop_when_asked():
    sys.stdin.readline()
    is_asked_to_stop.set()


def message_of(value):
    if not is_native:
        return "v1/gateway/telemetry", {device: [{"count": value}]}
    update = {"type": "UPDATE", "flakeAddress": address, "serviceIdentifier": SERVICE,
              "updates": [{"propId": PROPERTY, "value": value}]}
    return "v1/link", update


class Client(paho.Client):
    """Sends PUBREL also after several attempts to connect: paho publishes a message again after the second one."""

    def _messages_reconnect_reset_out(self):
        released = [each for each in self._out_messages.values() if each.state == RESEND_PUBREL]
        super()._messages_reconnect_reset_out()
        for each in released:
            each.state = RESEND_PUBREL


def new_client():
    versions = getattr(paho, "CallbackAPIVersion", None)
    first = [versions.VERSION2] if versions else []
    if version == 5:
        return Client(*first, client_id=device, protocol=paho.MQTTv5)
    return Client(*first, client_id=device, clean_session=False, protocol=paho.MQTTv311)


client = new_client()
client.username_pw_set(settings["user"], settings.get("password"))
client.max_inflight_messages_set(IN_FLIGHT_MAX)
client.reconnect_delay_set(min_delay=0.05, max_delay=0.2)
client.on_connect = connected
client.on_message = received
client.on_publish = lambda *_: free.release()
lasting = {}
if version == 5:
    lasting["clean_start"] = False
    lasting["properties"] = Properties(PacketTypes.CONNECT)
    lasting["properties"].SessionExpiryInterval = 86_400
client.connect("127.0.0.1", settings["port"], keepalive=30, **lasting)
client.loop_start()
threading.Thread(target=stop_when_asked, daemon=True).start()

is_ready.wait()
print("connected", flush=True)
while not is_asked_to_stop.is_set():
    free.acquire()
    counts["published"] += 1
    topic, content = message_of(counts["published"])
    client.publish(topic, json.dumps(content), qos)
# All are free when everything is acknowledged.
for _ in range(UNACKNOWLEDGED_MAX):
    free.acquire()
client.disconnect()
client.loop_stop()
print(json.dumps(counts), flush=True)

#!/usr/bin/env python3
"""A template of an adapter for `recoup drill --stack "python3 guest.py"`: it answers every line, and sends nothing.

Put your stack in the places marked "Yours". docs/conformance.md says what each line means.
"""

import base64
import json
import sys


class Host:
    """A host with one connection. All its times and random numbers come from here."""

    def __init__(self, setup):
        self.seed, self.mtu = setup["seed"], setup["mtu"]
        self.local, self.peer = setup["local"], setup["peer"]  # "192.0.2.1:8080"
        for name in setup.get("options", {}):
            raise ValueError(f"unknown option `{name}`")  # Yours: `no-delay`, `congestion`, …
        self.sent = []

    def send(self, packet):
        """Your stack calls this with each IP packet."""
        self.sent.append(base64.b64encode(packet).decode())

    def step(self, now, do, line):
        taken = 0
        if do == "connect":
            pass  # Yours: a SYN to self.peer
        elif do == "listen":
            pass  # Yours
        elif do == "packet":
            packet = base64.b64decode(line["data"])  # Yours: an IP packet arrives
        elif do == "write":
            taken = 0  # Yours: up to line["bytes"] bytes of anything; how many were taken
        elif do == "read":
            taken = 0  # Yours: up to line["bytes"] bytes; how many there were
        elif do == "close":
            pass  # Yours: FIN after what was written; the application still reads
        elif do == "reset":
            pass  # Yours: RST
        # "wake": only timers. Yours: let all timers go off that are due at `now`, in nanoseconds.
        sent, self.sent = self.sent, []
        return {
            "packets": sent,
            "wake": None,  # Yours: when the next timer is due, in nanoseconds
            "open": False,  # Yours: the connection is established, or was
            "readable": 0,
            "writable": 0,
            "finished": False,  # Yours: the peer closed, and all before that was read
            "ended": None,  # Yours: "closed", "reset" or "timed-out"
            "taken": taken,
        }


def main():
    host = None
    for text in sys.stdin:
        line = json.loads(text)
        try:
            if host is None:
                host = Host(line)
                answer = {"name": "template", "version": "0", "transport": "tcp"}
            else:
                answer = host.step(line["now"], line["do"], line)
        except Exception as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()

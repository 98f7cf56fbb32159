#!/usr/bin/env python3
"""Reads test vectors, and checks four of the files with an implementation of its own.

    read.py [FILE ...]      without files: all files of this folder

RTT and RTO follow RFC 6298 and Linux's tcp_rtt_estimator in exact fractions. PRR follows RFC 6937 and RFC 9937.
The script counts the cases and steps of the other files. The exit status is 1 if a check
fails or a file cannot be read.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path



class Rto:
    """RFC 6298: the estimator, the RTO, its back-off, and the retransmission timer."""

    def __init__(self, settings):
        self.settings = settings
        self.floor = settings["rttvar_floor_ns"]  # of 4·RTTVAR
        self.srtt, self.mdev, self.rttvar4, self.backoff, self.at = None, 0, Fraction(0), 0, None
        self.largest, self.round_end, self.una, self.nxt = 0, 0, 0, 0
        if settings["first_rtt_ns"] is not None:
            self.sample(settings["first_rtt_ns"], {})

    def sample(self, rtt, given):
        self.backoff = 0
        if self.srtt is None:
            self.srtt, self.mdev = Fraction(rtt), Fraction(rtt, 2)
            self.rttvar4 = self.largest = max(4 * self.mdev, self.floor)
            self.round_end = given.get("nxt", 0)
            return
        error = abs(self.srtt - rtt)
        if self.settings["smoothing"] == "linux":
            self.linux(rtt, error, given)
        else:
            self.mdev += (error - self.mdev) / 4  # before SRTT (RFC 6298 §2.3)
            self.rttvar4 = max(4 * self.mdev, self.floor)
        self.srtt += (rtt - self.srtt) / 8

    def linux(self, rtt, error, given):
        falls = rtt < self.srtt and error > self.mdev
        self.mdev += (error - self.mdev) / (32 if falls else 4)
        if 4 * self.mdev > self.largest:
            self.largest = 4 * self.mdev
            self.rttvar4 = max(self.rttvar4, self.largest)
        if given["una"] > self.round_end:
            self.rttvar4 -= max(self.rttvar4 - self.largest, 0) / 4
            self.round_end, self.largest = given["nxt"], self.floor

    def rto(self):
        rto = 3 * 10**9 if self.srtt is None else self.srtt + self.rttvar4
        rto = max(rto, self.settings["min_rto_ns"]) * 2**self.backoff
        return min(rto, self.settings["max_rto_ns"])

    def step(self, step):
        now, (kind, what) = step["at_ns"], *step["input"].items()
        if kind == "sent":
            self.nxt = max(self.nxt, what["range"][1])
            self.at = self.at or now + self.rto()
        elif kind == "timer":
            self.backoff += 1
            self.at = now + self.rto()
        elif kind == "ack":
            if step["given"]["rtt_sample_ns"] is not None:
                self.sample(step["given"]["rtt_sample_ns"], step["given"])
            if what["to"] > self.una:
                self.una = what["to"]
                self.at = now + self.rto() if self.una < self.nxt else None
        estimates = {"srtt_ns": self.srtt, "rttvar_ns": self.rttvar4 / 4, "rto_ns": self.rto()}
        return estimates | {"backoff": self.backoff, "rto_at_ns": self.at}


class Prr:
    """RFC 6937 §3, RFC 9937 §6. Outside of a reduction, PRR does not decide the window."""

    def __init__(self, settings):
        self.bound, self.mss = settings["rate_control"], settings["mss"]
        self.flight = settings["recover_fs"]
        self.cwnd, self.reducing = None, False

    def step(self, step):
        given, (kind, what) = step.get("given"), *step["input"].items()
        if kind == "sent" and self.reducing:
            self.out += (what["range"][1] - what["range"][0]) // self.mss
        if given:
            entering, left = not self.reducing, self.reducing
            self.reducing = given["state"] in ("recovery", "cwr")
            if self.reducing and entering:
                arrived = given["delivered"] if kind == "ack" else 0
                before = given["sacked"] - arrived if self.flight == "undelivered" else 0
                flight = max(given["outstanding"] - before, given["ssthresh"])
                self.recover_fs = self.cwnd if self.flight == "cwnd" else flight
                self.delivered, self.out = 0, 0
            if self.reducing and kind == "ack":
                self.ack(given, entering and given["state"] == "recovery")
        if not self.reducing:
            self.cwnd = given["ssthresh"] if given and left else step["expect"]["cwnd"]
        return {"cwnd": self.cwnd}

    def ack(self, given, entering):
        safe_ack = self.bound == "prr-safeack"
        if safe_ack and given["delivered"] == 0 and not entering:
            return
        self.delivered += given["delivered"]
        pipe, ssthresh = given["pipe"], given["ssthresh"]
        if pipe > ssthresh:
            count = -(-self.delivered * ssthresh // self.recover_fs) - self.out
        else:
            banked = max(self.delivered - self.out, 0)
            clocked = max(banked, given["delivered"])
            safe = given["acked_bytes"] > 0 and given["newly_lost"] == 0
            limit = {"prr-crb": banked, "prr-ssrb": clocked + 1, "prr-safeack": clocked + safe}
            count = min(ssthresh - pipe, limit.get(self.bound, ssthresh))
        force = self.out == 0 if safe_ack else entering
        self.cwnd = pipe + max(count, int(force))


CHECKED = {"rtt-and-rto": Rto, "rtt-and-rto-linux": Rto, "rto-backoff": Rto, "prr": Prr}
ROUNDING_NS = 20  # The engine rounds to eighths and quarters of a nanosecond at each sample.


def same(name, expected, got):
    if not name.endswith("_ns") or None in (expected, got):
        return expected == got
    return abs(expected - got) <= ROUNDING_NS


def check(case, implementation):
    """The differences, as lines of text."""
    for number, step in enumerate(case["steps"], 1):
        got = implementation.step(step)
        for name, expected in step["expect"].items():
            if not same(name, expected, got[name]):
                yield f"case \"{case['name']}\", step {number}: {name}: expected {expected}, got {got[name]}"


def main(paths):
    if "--help" in paths:
        print(__doc__)
        return 0
    folder = Path(__file__).parent
    failed = False
    for path in map(Path, paths or sorted(set(folder.glob("*.json")) - {folder / "schema.json"})):
        try:
            vectors = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(vectors, dict) or vectors.get("schema") != "recoup.vectors":
                raise ValueError("no test vectors")
        except (OSError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
            continue
        make = CHECKED.get(vectors["mechanism"])
        cases = vectors["cases"]
        found = [line for case in cases if make for line in check(case, make(case["settings"]))]
        verdict = "not checked" if make is None else "WRONG" if found else "all steps agree"
        steps = sum(len(case["steps"]) for case in cases)
        print(f"{path.name:24} {len(cases):3} cases {steps:4} steps  {verdict}", *found, sep="\n  ")
        failed |= bool(found)
    return failed


sys.exit(main(sys.argv[1:]))

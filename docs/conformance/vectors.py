#!/usr/bin/env python3
"""RFC 6298 as a child of `recoup drill --stack … FILE.json`: answers the steps of test vectors (docs/conformance.md).

    recoup drill --stack "python3 docs/conformance/vectors.py" crates/recovery/vectors/rtt-and-rto.json

Replace the class Rto by calls of your own estimator and timer.
"""

import json
import sys
from fractions import Fraction


class Rto:
    """The estimator, the RTO, its backoff and the retransmission timer. Times are nanoseconds."""

    def __init__(self, settings):
        self.settings = settings
        self.srtt, self.rttvar, self.backoff, self.deadline = None, Fraction(0), 0, None
        self.una, self.nxt = 0, 0
        if settings["first_rtt_ns"] is not None:
            self.sample(settings["first_rtt_ns"])

    def sample(self, rtt):
        self.backoff = 0
        if self.srtt is None:  # §2.2
            self.srtt, self.rttvar = Fraction(rtt), Fraction(rtt, 2)
        else:  # §2.3: RTTVAR before SRTT
            self.rttvar += (abs(self.srtt - rtt) - self.rttvar) / 4
            self.srtt += (rtt - self.srtt) / 8
        self.rttvar = max(self.rttvar, Fraction(self.settings["rttvar_floor_ns"], 4))

    def rto(self):
        rto = 3 * 10**9 if self.srtt is None else self.srtt + 4 * self.rttvar  # §5.7
        rto = max(rto, self.settings["min_rto_ns"]) * 2**self.backoff
        return min(rto, self.settings["max_rto_ns"])

    def step(self, now, kind, what, given):
        if kind == "sent":  # §5.1
            self.nxt = max(self.nxt, what["range"][1])
            self.deadline = self.deadline or now + self.rto()
        elif kind == "timer":  # §5.5, §5.6
            self.backoff += 1
            self.deadline = now + self.rto()
        elif kind == "ack":
            if given.get("rtt_sample_ns") is not None:
                self.sample(given["rtt_sample_ns"])
            if what["to"] > self.una:  # §5.2, §5.3
                self.una = what["to"]
                self.deadline = now + self.rto() if self.una < self.nxt else None
        values = {"srtt_ns": self.srtt, "rttvar_ns": self.rttvar, "rto_ns": self.rto(), "rto_at_ns": self.deadline}
        return {name: None if value is None else int(value) for name, value in values.items()} | {"backoff": self.backoff}


def main():
    case = None
    for line in sys.stdin:
        question = json.loads(line)
        if "recoup-vectors" in question:  # a case begins
            known = question["mechanism"] in ("rtt-and-rto", "rto-backoff")
            case = Rto(question["settings"]) if known else None
            answer = {"name": "python", "version": "1"} if known else {"lacks": f"no {question['mechanism']} here"}
        else:
            kind, what = next(iter(question["input"].items()))
            answer = case.step(question["at_ns"], kind, what, question.get("given", {}))
        print(json.dumps(answer), flush=True)


main()

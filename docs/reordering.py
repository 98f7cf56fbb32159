#!/usr/bin/env python3
"""Prints the tables of reordering.md.

usage: docs/reordering.py [RECOUP [FLOWS]]

RECOUP: the program, by default `recoup`. FLOWS: per cell, by default the scenario's.
"""

import csv
import io
import subprocess
import sys

RECOUP = sys.argv[1] if len(sys.argv) > 1 else "recoup"
FLOWS = ["--flows", sys.argv[2]] if len(sys.argv) > 2 else []
SHARES = ["0.1%", "0.5%", "1%", "2%", "5%"]
# By how much more time than its base an adaptive profile is listed below a table.
SLOWER = 1.03


def run(rtt, loss, reorder):
    """The rows of one run: a dictionary of columns per profile, in the order of the scenario."""
    settings = [f"rtt={rtt}ms", f"drop={loss}", f"reorder={reorder}"]
    command = [RECOUP, "-q", "run", "reordering", "--format", "csv", *FLOWS]
    for setting in settings:
        command += ["--set", setting]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def cell(row, loses):
    """Spurious retransmissions per 1,000 segments, their share of all, and the mean FCT."""
    spurious, all_of_them = int(row["spurious"]), int(row["retransmissions_total"])
    per_thousand = 1000 * spurious / (int(row["flows"]) * 1000)
    share = f" ({100 * spurious / max(all_of_them, 1):.0f} %)" if loses else ""
    return f"{per_thousand:.1f}{share}, {float(row['fct_ms_mean']):.0f} ms"


def table(rtt, loss):
    loses = loss != "none"
    slower = []
    for place, (reorder, name) in enumerate(rows_of(rtt)):
        rows = run(rtt, loss, reorder)
        if place == 0:
            print("| reordered | " + " | ".join(row["profile"] for row in rows) + " |")
            print("|---" * (len(rows) + 1) + "|")
        print(f"| {name} | " + " | ".join(cell(row, loses) for row in rows) + " |", flush=True)
        times = {row["profile"]: float(row["fct_ms_mean"]) for row in rows}
        for profile in times:
            base = profile.removesuffix("+adaptive")
            if profile != base and times[profile] > SLOWER * times[base]:
                percent = 100 * (times[profile] / times[base] - 1)
                slower.append(f"{profile} at {name}: {percent:.1f} %")
    print("\nSlower than without `+adaptive` by more than 3 %: " + ("; ".join(slower) or "none") + ".\n")


def rows_of(rtt):
    yield "none", "none"
    for extra in ["1", "5", f"{rtt // 4}", f"{rtt // 2}", f"{rtt}"]:
        for share in SHARES:
            yield f"{share}:{extra}ms", f"{share} by {extra} ms"


for rtt in (40, 100):
    for loss, name in (("none", "no loss"), ("bernoulli:0.5%", "0.5 % loss")):
        print(f"### RTT {rtt} ms, {name}\n")
        table(rtt, loss)

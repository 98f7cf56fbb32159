"""What the package costs over the program, and what other Python libraries cost on the same capture.

    python compare.py overhead CAPTURE [--program recoup] [--runs 5]
    python compare.py others CAPTURE

`overhead` runs program and package in turn, and prints medians. `others` needs pyshark (with tshark), scapy and nfstream;
those that are missing are left out, and named. Every run is a process of its own, with the capture in the page cache.
docs/python.md says how its captures were made.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time

#: What each process of Python runs. `CAPTURE` and `OUT` are arguments; what it prints is what it counted.
PYTHON = {
    "imports": "import recoup",
    "retransmissions": """
import recoup
a = recoup.analyze(CAPTURE, progress=False)
a.retransmissions.write_parquet(OUT)
""",
    "pyarrow": """
import recoup, pyarrow, pyarrow.parquet
a = recoup.analyze(CAPTURE, progress=False)
# pyarrow.table() would import pandas, if it is installed.
table = pyarrow.RecordBatchReader.from_stream(a.retransmissions).read_all()
pyarrow.parquet.write_table(table, OUT)
""",
    "summary": """
import recoup
a = recoup.analyze(CAPTURE, progress=False)
a.summary
""",
    "everything": """
import recoup, pyarrow
a = recoup.analyze(CAPTURE, progress=False)
for table in (a.retransmissions, a.connections, a.intervals, a.summary):
    pyarrow.RecordBatchReader.from_stream(table).read_all()
""",
    "recoup": """
import recoup
a = recoup.analyze(CAPTURE, progress=False)
print(len(a.connections), len(a.retransmissions))
""",
    "scapy": """
# Retransmissions by sequence number: what begins below the highest byte its direction has sent.
from scapy.all import IP, IPv6, TCP, PcapReader
highest, connections, retransmissions = {}, set(), 0
with PcapReader(CAPTURE) as packets:
    for packet in packets:
        if TCP not in packet:
            continue
        ip = packet[IP] if IP in packet else packet[IPv6]
        tcp = packet[TCP]
        ends = (ip.src, tcp.sport), (ip.dst, tcp.dport)
        connections.add(frozenset(ends))
        headers = tcp.dataofs * 4
        length = ip.len - ip.ihl * 4 - headers if IP in packet else ip.plen - headers
        length += ("S" in tcp.flags) + ("F" in tcp.flags)
        if length <= 0:
            continue
        if "S" in tcp.flags and "A" not in tcp.flags and highest.get(ends, tcp.seq + 1) != (tcp.seq + 1) % 2**32:
            highest.pop(ends, None)
        end = (tcp.seq + length) % 2**32
        before = highest.get(ends)
        if before is not None and (before - tcp.seq - 1) % 2**32 < 2**31:
            retransmissions += 1
        if before is None or (end - before) % 2**32 < 2**31:
            highest[ends] = end
print(len(connections), retransmissions)
""",
    "pyshark": """
# tshark's own analysis; what it calls a retransmission, fast, spurious or other.
import pyshark
streams, retransmissions = set(), 0
with pyshark.FileCapture(CAPTURE, keep_packets=False) as packets:
    for packet in packets:
        if "TCP" not in packet:
            continue
        streams.add(packet.tcp.stream)
        retransmissions += "analysis_retransmission" in packet.tcp.field_names
print(len(streams), retransmissions)
""",
    "nfstream": """
# Flows with their statistics; it counts no retransmissions.
from nfstream import NFStreamer
flows = sum(1 for flow in NFStreamer(source=CAPTURE, statistical_analysis=True) if flow.protocol == 6)
print(flows, "-")
""",
}


def run(command: list[str]) -> dict:
    """Wall and CPU time (s), peak memory (MB) and output of a process and its children."""
    with tempfile.TemporaryFile("w+") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=output)
        peak = 0
        while True:
            found, status, usage = os.wait4(process.pid, os.WNOHANG)
            if found:
                break
            peak = max(peak, memory(process.pid))
            time.sleep(0.02)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command[0]}: exit status {process.returncode}")
        output.seek(0)
        return {
            "wall": wall,
            "cpu": usage.ru_utime + usage.ru_stime,
            "memory": max(peak, usage.ru_maxrss / 1000),
            "output": output.read().strip(),
        }


def memory(process: int) -> float:
    """The resident memory of a process and its descendants, in MB."""
    try:
        with open(f"/proc/{process}/statm") as file:
            total = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        with open(f"/proc/{process}/task/{process}/children") as file:
            return total + sum(memory(int(child)) for child in file.read().split())
    except (OSError, IndexError):
        return 0.0


def python(what: str, capture: str, out: str) -> list[str]:
    """The command of one of `PYTHON`."""
    code = f"CAPTURE, OUT = {capture!r}, {out!r}\n{PYTHON[what]}"
    return [sys.executable, "-c", code]


def overhead(capture: str, program: str, runs: int) -> None:
    """Program and package in turn."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.parquet")
        analyze = [program, "-q", "analyze", capture]
        cases = {
            "program, retransmissions": [*analyze, "--retransmissions", "--format", "parquet", "-o", out],
            "Python, retransmissions": python("retransmissions", capture, out),
            "Python, retransmissions by pyarrow": python("pyarrow", capture, out),
            "program, summary": [*analyze, "--summary"],
            "Python, summary": python("summary", capture, out),
            "Python, all tables": python("everything", capture, out),
            "Python, imports alone": python("imports", capture, out),
        }
        costs = {name: [] for name in cases}
        with open(capture, "rb") as file:
            # The first run shall not be the one that reads the disk.
            while file.read(1 << 24):
                pass
        for _ in range(runs):
            for name, command in cases.items():
                costs[name].append(run(command))
                print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print("| process | wall time (s) | CPU time (s) | peak memory (MB) |")
    print("| --- | --- | --- | --- |")
    for name, all_runs in costs.items():
        wall, cpu, peak = (statistics.median(run[what] for run in all_runs) for what in ("wall", "cpu", "memory"))
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {peak:.0f} |")


def others(capture: str) -> None:
    """Each library once."""
    print("| library | version | connections | retransmissions | wall time (s) | CPU time (s) | peak memory (MB) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in ("recoup", "nfstream", "pyshark", "scapy"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if importlib.util.find_spec(name) is None:
                print(f"| {name} | not installed | | | | | |", flush=True)
                continue
            version = __import__(name).__version__
        cost = run(python(name, capture, ""))
        connections, retransmissions = cost["output"].split()
        print(
            f"| {name} | {version} | {connections} | {retransmissions} "
            f"| {cost['wall']:.1f} | {cost['cpu']:.1f} | {cost['memory']:.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "others"))
    parser.add_argument("capture")
    parser.add_argument("--program", default="recoup")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.what == "overhead":
        overhead(arguments.capture, arguments.program, arguments.runs)
    else:
        others(arguments.capture)


if __name__ == "__main__":
    main()

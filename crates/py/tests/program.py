"""The program of the package, and captures cut into files."""

import subprocess
import sys


def recoup_program(*arguments, **more):
    """Runs the program of the package."""
    command = [sys.executable, "-m", "recoup", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def cut(capture, folder, count):
    """Cuts a classic capture into several files."""
    data = capture.read_bytes()
    order = "little" if data[:1] in (b"\xd4", b"\x4d") else "big"
    header, records, at = data[:24], [], 24
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], order)
        records.append(data[at : at + 16 + length])
        at += 16 + length
    size = -(-len(records) // count)
    paths = []
    for number in range(count):
        paths.append(folder / f"piece-{number:03}.pcap")
        paths[-1].write_bytes(header + b"".join(records[number * size : (number + 1) * size]))
    return paths

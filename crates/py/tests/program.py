"""The program of the package, and captures cut into files."""

import struct
import subprocess
import sys
from pathlib import Path


def recoup_program(*arguments, **more):
    """Runs the program of the package."""
    command = [sys.executable, "-m", "recoup", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def records(capture) -> tuple[bytes, list[bytes]]:
    """The header and the packet records of a pcap file."""
    content = Path(capture).read_bytes()
    found, at = [], 24
    while at < len(content):
        end = at + 16 + struct.unpack_from("<I", content, at + 8)[0]
        found.append(content[at:end])
        at = end
    return content[:24], found


def cut(capture, folder, parts: int = 100, stem: str = "day") -> list[str]:
    """Cuts a capture into files as dumpcap names them."""
    header, packets = records(capture)
    paths = []
    for part in range(parts):
        own = packets[part * len(packets) // parts : (part + 1) * len(packets) // parts]
        path = folder / f"{stem}_{part + 1:05d}_202611221000{part % 60:02d}.pcap"
        path.write_bytes(header + b"".join(own))
        paths.append(str(path))
    return paths

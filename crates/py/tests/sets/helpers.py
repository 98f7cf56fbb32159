"""What the tests of sets of captures share."""

import os
import struct

import pytest

pa = pytest.importorskip("pyarrow")

HERE = os.path.dirname(__file__)

#: Columns that order the rows of all chains.
ORDER = {
    "retransmissions": ["chain", "frame", "seq"],
    "connections": ["chain", "connection", "capture_point"],
    "intervals": ["chain", "time"],
    "summary": ["chain"],
    "files": ["chain", "position"],
}


def records(capture: str) -> tuple[bytes, list[bytes]]:
    """The header and the packet records of a pcap file."""
    with open(capture, "rb") as file:
        content = file.read()
    found, at = [], 24
    while at < len(content):
        end = at + 16 + struct.unpack_from("<I", content, at + 8)[0]
        found.append(content[at:end])
        at = end
    return content[:24], found


def cut(capture: str, folder, parts: int = 100, stem: str = "day") -> list[str]:
    """Cuts a capture into files as dumpcap names them."""
    header, packets = records(capture)
    paths = []
    for part in range(parts):
        own = packets[part * len(packets) // parts : (part + 1) * len(packets) // parts]
        paths.append(str(folder / f"{stem}_{part + 1:05d}_202611221000{part % 60:02d}.pcap"))
        with open(paths[-1], "wb") as file:
            file.write(header + b"".join(own))
    return paths


def joined(paths, table: str) -> list[dict]:
    """What one machine finds in the files of one capture."""
    import recoup

    found = pa.table(getattr(recoup.analyze(paths, join=True, progress=False), table))
    return found.to_pylist()


def without_chain(table, names=("chain",)) -> list[dict]:
    return table.drop_columns(list(names)).to_pylist()


class Failed(Exception):
    """What an engine wrote before it ended."""

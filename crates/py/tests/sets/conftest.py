"""A capture in one file and in 100, and engines to analyze them with."""

import os
import pickle
import struct
import subprocess
import sys

import pytest

pa = pytest.importorskip("pyarrow")

HERE = os.path.dirname(__file__)
sys.path.insert(0, HERE)

#: Columns that order the rows of all chains.
ORDER = {
    "retransmissions": ["chain", "frame", "seq"],
    "connections": ["chain", "connection", "capture_point"],
    "intervals": ["chain", "time"],
    "summary": ["chain"],
    "files": ["chain", "position"],
}


@pytest.fixture(scope="session")
def capture(tmp_path_factory) -> str:
    """A capture of 60 flows over a path that loses packets."""
    folder = tmp_path_factory.mktemp("capture")
    program = [sys.executable, "-m", "recoup", "run", "prr", "--profile", "linux-6", "--set", "drop=bernoulli:0.03"]
    subprocess.run([*program, "--flows", "60", "--pcap", str(folder)], check=True, capture_output=True)
    return str(folder / "linux-6-sender.pcap")


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


@pytest.fixture(scope="session")
def hundred(capture, tmp_path_factory) -> list[str]:
    """The capture in 100 files."""
    return cut(capture, tmp_path_factory.mktemp("hundred"))


def joined(paths, table: str) -> list[dict]:
    """What one machine finds in the files of one capture."""
    import recoup

    found = pa.table(getattr(recoup.analyze(paths, join=True, progress=False), table))
    return found.to_pylist()


def without_chain(table, names=("chain",)) -> list[dict]:
    return table.drop_columns(list(names)).to_pylist()


class Failed(Exception):
    """What an engine wrote before it ended."""


@pytest.fixture
def on(tmp_path):
    """Runs a call on an engine: ``on("ray", "read_captures", …)``."""

    def run(engine, name, *arguments, hidden=False, env=None, **options):
        pytest.importorskip("daft" if engine.startswith("daft") else "ray")
        if engine != "daft":
            pytest.importorskip("ray")
        order = ORDER[options.get("table", "retransmissions")] if name == "read_captures" else ["cell", "profile"]
        call, out = tmp_path / "call.pickle", tmp_path / "out.arrow"
        call.write_bytes(pickle.dumps((name, arguments, options, order, hidden)))
        environment = os.environ | {"DAFT_ANALYTICS_ENABLED": "0", "DO_NOT_TRACK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
        environment |= {"PYTHONPATH": HERE} | (env or {})
        program = [sys.executable, os.path.join(HERE, "engine.py"), engine, str(call), str(out)]
        ended = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=180)
        if ended.returncode:
            raise Failed(f"exit {ended.returncode}: {ended.stderr}")
        with pa.ipc.open_file(pa.BufferReader(out.read_bytes())) as file:
            return file.read_all()

    return run

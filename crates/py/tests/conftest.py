"""A capture for the tests, made by the program."""

import subprocess
import sys

import pytest


def recoup_program(*arguments, **more):
    """Runs the program of the package."""
    command = [sys.executable, "-m", "recoup", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


@pytest.fixture(scope="session")
def capture(tmp_path_factory):
    """60 connections of a lossy web server, captured there."""
    folder = tmp_path_factory.mktemp("captures")
    made = recoup_program(
        *("run", "fetch", "--profile", "linux-6", "--flows", 60, "--pcap", folder),
        *("--set", "rtt=60ms", "--set", "writes=34kB@0,12kB@400ms", "--set", "close=true"),
        *("--set", "drop=bernoulli:0.03,up:bernoulli:0.03"),
    )
    assert made.returncode == 0, made.stderr
    (found,) = [path for path in folder.iterdir() if "sender" in path.name]
    return found


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

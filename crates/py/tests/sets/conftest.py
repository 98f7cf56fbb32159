"""A capture in one file and in 100, and engines to analyze them with."""

import os
import pickle
import subprocess
import sys

import pytest

pa = pytest.importorskip("pyarrow")

sys.path.insert(0, os.path.dirname(__file__))

from helpers import HERE, ORDER, Failed
from program import cut


@pytest.fixture(scope="session")
def capture(tmp_path_factory) -> str:
    """A capture of 60 flows over a path that loses packets."""
    folder = tmp_path_factory.mktemp("capture")
    program = [sys.executable, "-m", "recoup", "run", "prr", "--profile", "linux-6", "--set", "drop=bernoulli:0.03"]
    subprocess.run([*program, "--flows", "60", "--pcap", str(folder)], check=True, capture_output=True)
    return str(folder / "linux-6-sender.pcap")


@pytest.fixture(scope="session")
def hundred(capture, tmp_path_factory) -> list[str]:
    """The capture in 100 files."""
    return cut(capture, tmp_path_factory.mktemp("hundred"))


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
        said.append(ended.stderr)
        with pa.ipc.open_file(pa.BufferReader(out.read_bytes())) as file:
            return file.read_all()

    said: list[str] = []
    # What the last call wrote to standard error: with Ray, also what its workers wrote.
    run.warnings = lambda: said[-1]
    return run

"""A capture for the tests, made by the program."""

import pytest
from program import recoup_program


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

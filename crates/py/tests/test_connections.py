"""The connections of an analysis, which it keeps in compact form."""

import subprocess
import sys

import pytest
import recoup

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """The two ends' captures of lossy fetches."""
    folder = tmp_path_factory.mktemp("captures")
    command = [sys.executable, "-m", "recoup", "--quiet", "run", "fetch", "--profile", "linux-6"]
    subprocess.run([*command, "--set", "drop=bernoulli:0.02", "--pcap", folder], check=True, capture_output=True)
    return [folder / "linux-6-sender.pcap", folder / "linux-6-receiver.pcap"]


@pytest.mark.parametrize("table", ["connections", "episodes", "retransmissions", "summary"])
@pytest.mark.parametrize("number", [1, 2])
def test_tables_are_those_of_the_program(captures, tmp_path, table, number):
    out = tmp_path / "out.parquet"
    chosen = captures[:number]
    command = [sys.executable, "-m", "recoup", "--quiet", "analyze", *chosen, f"--{table}", "-o", out]
    subprocess.run(command, check=True)
    found = getattr(recoup.analyze(chosen, progress=False), table)
    ours = pyarrow.table(found)
    theirs = parquet.read_table(out)
    assert ours.column_names == theirs.column_names
    assert ours.num_rows == theirs.num_rows > 0
    assert ours.to_pylist() == theirs.to_pylist()
    found.write_parquet(tmp_path / "ours.parquet")
    assert parquet.read_table(tmp_path / "ours.parquet").equals(theirs)


def test_a_file_that_cannot_be_written_is_named(captures, tmp_path):
    summary = recoup.analyze(captures[0], progress=False).summary
    with pytest.raises(recoup.RecoupError, match=r"cannot write `.*/missing/out.parquet`: No such file or directory"):
        summary.write_parquet(tmp_path / "missing" / "out.parquet")
    with pytest.raises(recoup.RecoupError, match="cannot write `/dev/full`: No space left on device"):
        summary.write_parquet("/dev/full")

"""The same tables on Daft's local runner, its Ray runner, and Ray Data."""

import shutil

import pytest

# For the file system of `faults`; Ray Data brings it along.
pytest.importorskip("fsspec")

import faults
from helpers import Failed, joined, without_chain
from program import cut

ENGINES = ["daft", "daft-ray", "ray"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("table", ["retransmissions", "episodes", "connections"])
def test_a_hundred_files_give_the_rows_of_one_machine(engine, table, hundred, on):
    found = on(engine, "read_captures", f"{hundred[0].rpartition('/')[0]}/*.pcap", table=table)
    assert len(set(found["chain"].to_pylist())) == 1
    assert without_chain(found) == joined(hundred, table)


@pytest.mark.parametrize("engine", ENGINES)
def test_chains_beside_each_other_do_not_mix(engine, capture, tmp_path, on):
    chains = [cut(capture, tmp_path, 5, stem) for stem in ("web-1", "web-2", "db")]
    found = on(engine, "read_captures", str(tmp_path / "*.pcap"))
    keys = sorted({key for key in found["chain"].to_pylist()})
    assert [key.rpartition("/")[2] for key in keys] == ["db", "web-1", "web-2"]
    for key, paths in zip(keys, [chains[2], *chains[:2]]):
        rows = [row for row in found.to_pylist() if row["chain"] == key]
        assert [{k: v for k, v in row.items() if k != "chain"} for row in rows] == joined(paths, "retransmissions")


@pytest.mark.parametrize("engine", ["daft-ray", "ray"])
def test_a_killed_worker_loses_and_doubles_nothing(engine, hundred, tmp_path, on):
    name = hundred[60].rpartition("/")[2]
    found = on(
        engine, "read_captures", hundred, checkpoint=str(tmp_path / "checkpoint"), every=10, filesystem=faults.killing(str(tmp_path), name)
    )
    assert without_chain(found) == joined(hundred, "retransmissions")
    opened = faults.opened(str(tmp_path))
    early, late = (opened.count(hundred[at].rpartition("/")[2]) for at in (3, 60))
    # The beginnings twice, for their times; the file before the checkpoint once, that of the kill twice.
    assert (early, late) == (3, 4)


@pytest.mark.parametrize("engine", ["daft-ray", "ray"])
def test_without_checkpoint_a_killed_worker_begins_its_chain_anew(engine, hundred, tmp_path, on):
    name = hundred[60].rpartition("/")[2]
    found = on(engine, "read_captures", hundred, table="connections", filesystem=faults.killing(str(tmp_path), name))
    assert without_chain(found) == joined(hundred, "connections")
    assert faults.opened(str(tmp_path)).count(hundred[3].rpartition("/")[2]) == 4


def test_a_killed_process_of_the_local_runner_goes_on_from_its_checkpoint(hundred, tmp_path, on):
    name = hundred[60].rpartition("/")[2]
    options = {"checkpoint": str(tmp_path / "checkpoint"), "filesystem": faults.killing(str(tmp_path), name)}
    with pytest.raises(Failed, match="exit -9"):
        on("daft", "read_captures", hundred, **options)
    found = on("daft", "read_captures", hundred, **options)
    assert without_chain(found) == joined(hundred, "retransmissions")
    assert faults.opened(str(tmp_path)).count(hundred[3].rpartition("/")[2]) == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_is_no_capture_ends_the_query_if_asked(engine, hundred, tmp_path, on):
    for path in hundred[:3]:
        shutil.copy(path, tmp_path)
    (tmp_path / "day_00002_20261122100001.pcap").write_text("no packets, but text\n" * 20)
    with pytest.raises(Failed, match=r"day_00002_20261122100001.pcap: not a capture: expected .*on_error='skip'"):
        on(engine, "read_captures", str(tmp_path / "*.pcap"), on_error="raise")


@pytest.mark.parametrize("engine", ENGINES)
def test_many_small_chains_share_tasks_and_bad_files_are_named(engine, capture, tmp_path, on):
    hosts = [cut(capture, tmp_path, 1, f"web{number}")[0] for number in range(40)]
    text, empty = str(tmp_path / "text.pcap"), str(tmp_path / "empty.pcap")
    with open(text, "w") as file:
        file.write("no packets, but text\n" * 20)
    open(empty, "w").close()
    options = {"checkpoint": str(tmp_path / "checkpoint"), "task_bytes": 5 << 20}
    found = on(engine, "read_captures", str(tmp_path / "*.pcap"), **options)
    rows = joined(hosts[:1], "retransmissions")
    assert found.num_rows == 40 * len(rows)
    assert sorted(set(found["file"].to_pylist())) == sorted(hosts)
    reasons = {
        text: f"{text}: not a capture: expected a pcap or pcapng capture, plain or compressed by gzip or zstd",
        empty: f"{empty}: empty: expected a pcap or pcapng capture, plain or compressed by gzip or zstd",
    }
    for line in reasons.values():
        assert line in on.warnings()
    files = on(engine, "read_captures", str(tmp_path / "*.pcap"), table="files", **options)
    failed = {row["file"]: row["message"] for row in files.to_pylist() if row["status"] == "failed"}
    assert (files.num_rows, failed) == (42, reasons)


@pytest.mark.parametrize("engine", ["daft-ray", "ray"])
def test_a_worker_without_the_package_says_what_to_install(engine, hundred, on):
    with pytest.raises(Failed, match=r"worker \S+: needs the Python package recoup [0-9.]+, found none .*install recoup=="):
        on(engine, "read_captures", hundred[:2], hidden=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sweep_gives_the_rows_of_one_machine(engine, on):
    import pyarrow as pa
    import recoup

    profiles = ["linux-6", "rfc6675"]
    found = on(engine, "sweep", "prr", {"rtt": ["20ms", "80ms"], "drop": ["tail:2", "none"]}, 7, profiles=profiles, seed=5)
    swept = {"rtt": ["20ms", "80ms"], "drop": ["tail:2", "none"]}
    one = pa.table(recoup.run("prr", profiles=profiles, flows=7, seed=5, settings=swept, progress=False).results)
    order = [("cell", "ascending"), ("profile", "ascending")]
    assert set(found["seed"].to_pylist()) == {5}
    assert found.to_pylist() == one.sort_by(order).to_pylist()

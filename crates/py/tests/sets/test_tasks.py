"""Tasks of many small chains: which share one, and that sharing changes no row."""

import os
import shutil
import tempfile
import warnings

import pytest

pa = pytest.importorskip("pyarrow")

import recoup
from recoup._sets import chain_run, tasks
from recoup._sets.chains import Chain, by_name
from recoup._sets.storage import File, Store

from helpers import joined
from program import records

MB = 1 << 20


def request(table="retransmissions", on_error="skip", checkpoint=None, task_bytes=64 * MB):
    return tasks.request(table, None, on_error, checkpoint, 1, task_bytes, {})


def rows(all_tasks) -> pa.Table:
    return pa.Table.from_batches([batch for task in all_tasks for batch in task.batches()])


@pytest.fixture
def read(monkeypatch) -> list[str]:
    """The files that were fetched whole."""
    fetched = []
    fetch = Store.fetch

    def counted(self, uri, path, most=None):
        if most is None:
            fetched.append(uri)
        return fetch(self, uri, path, most)

    monkeypatch.setattr(Store, "fetch", counted)
    return fetched


@pytest.fixture
def mixed(hundred, tmp_path) -> list[Chain]:
    """Five chains: two files, text, one file, nothing, one file."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for number, name in enumerate(["a_001", "a_002", "c", "e"]):
        shutil.copy(hundred[number], folder / f"{name}.pcap")
    (folder / "b.pcap").write_text("no packets, but text\n" * 20)
    (folder / "d.pcap").touch()
    return by_name(Store().find(str(folder)))


def test_small_chains_share_a_task_up_to_a_number_of_bytes():
    def chain(key, *sizes):
        return Chain(key, tuple(File(f"{key}/{number}", size) for number, size in enumerate(sizes)))

    chains = [chain("a", 3 * MB, 2 * MB), chain("b", 4 * MB), chain("c", 30 * MB), *(chain(f"d{n}", 10) for n in range(60))]
    made = tasks.of_chains(chains, request(task_bytes=10 * MB))
    # A file costs a quarter of a MB beside its bytes.
    assert [[one.key for one in task.chains] for task in made] == [
        ["a", "b"],
        ["c"],
        [f"d{n}" for n in range(39)],
        [f"d{n}" for n in range(39, 60)],
    ]
    assert len(tasks.of_chains(chains, request(task_bytes=1))) == len(chains)


def test_a_task_needs_room_for_a_byte():
    with pytest.raises(recoup.RecoupError, match="task_bytes=0: expected a number of bytes from 1"):
        request(task_bytes=0)


@pytest.mark.parametrize("table", ["retransmissions", "connections", "intervals", "summary", "files"])
@pytest.mark.parametrize("rows_at_a_time", [1, 1 << 16])
def test_sharing_a_task_changes_no_row(table, rows_at_a_time, mixed, monkeypatch):
    monkeypatch.setattr(chain_run, "_ROWS", rows_at_a_time)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shared = rows(tasks.of_chains(mixed, request(table)))
        alone = rows(tasks.of_chains(mixed, request(table, task_bytes=1)))
    assert shared.num_rows >= 3 and shared.to_pylist() == alone.to_pylist()
    if table == "files":
        return
    for chain in mixed:
        own = [row for row in shared.to_pylist() if row["chain"] == chain.key]
        files = [file.uri for file in chain.files]
        is_bad = os.path.basename(files[0]) in ("b.pcap", "d.pcap")
        assert [{k: v for k, v in row.items() if k != "chain"} for row in own] == ([] if is_bad else joined(files, table))


def test_bad_files_are_named_and_end_nothing(mixed):
    with pytest.warns(RuntimeWarning) as said:
        found = rows(tasks.of_chains(mixed, request()))
    names = {os.path.basename(name) for name in found["file"].to_pylist()}
    assert names <= {"a_001.pcap", "a_002.pcap", "c.pcap", "e.pcap"} and names
    text, empty = mixed[1].files[0].uri, mixed[3].files[0].uri
    expected = "expected a pcap or pcapng capture, plain or compressed by gzip or zstd"
    lines = [str(one.message) for one in said]
    assert [line for line in lines if "expected" in line] == [f"{text}: not a capture: {expected}", f"{empty}: empty: {expected}"]
    with pytest.raises(recoup.CaptureError, match=f"{text}: not a capture: .*: on_error='skip' leaves such files out"):
        rows(tasks.of_chains(mixed, request(on_error="raise")))


def test_files_of_several_hosts_that_are_taken_for_a_chain_are_refused(capture, tmp_path):
    header, packets = records(capture)
    for number in range(3):
        # With the same packets they would be copies.
        (tmp_path / f"host_00{number}.pcap").write_bytes(header + b"".join(packets[number:]))
    [chain] = by_name(Store().find(str(tmp_path)))
    line = r"chain .*/host: 2 of 3 files overlap others, such as .*/host_00[012].pcap: begins [0-9.]+ s before .*: chains=None"
    with pytest.raises(recoup.CaptureError, match=line):
        rows(tasks.of_chains([chain], request()))
    two = Chain("host", chain.files[:2])
    with pytest.warns(RuntimeWarning, match=r"host_00[01].pcap: begins [0-9.]+ s before .*: chains=None"):
        assert rows(tasks.of_chains([two], request())).num_rows


@pytest.mark.parametrize("table", ["retransmissions", "intervals"])
def test_a_file_that_vanishes_is_named_and_ends_nothing(table, mixed):
    gone = mixed[2].files[0].uri
    os.unlink(gone)
    with pytest.warns(RuntimeWarning, match=f"^{gone}: the file has vanished since it was listed"):
        found = rows(tasks.of_chains(mixed, request(table)))
    assert {os.path.basename(key) for key in found["chain"].to_pylist()} == {"a", "e"}


def test_chains_of_a_checkpoint_are_not_read_again_whatever_their_tasks(mixed, tmp_path, read):
    saved = str(tmp_path / "checkpoint")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows(tasks.of_chains(mixed[:3], request(checkpoint=saved, task_bytes=1)))
        read.clear()
        found = rows(tasks.of_chains(mixed, request(checkpoint=saved)))
        assert [os.path.basename(uri) for uri in sorted(read)] == ["d.pcap", "e.pcap"]
        assert found.equals(rows(tasks.of_chains(mixed, request())))


def test_the_checkpoint_of_another_table_says_what_happened_to_files(mixed, tmp_path, read):
    saved = str(tmp_path / "checkpoint")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows(tasks.of_chains(mixed[:4], request("connections", checkpoint=saved)))
    read.clear()
    found = rows(tasks.of_chains(mixed, request("files", checkpoint=saved)))
    # The last chain is in no checkpoint.
    assert [os.path.basename(uri) for uri in read] == ["e.pcap"]
    assert found.equals(rows(tasks.of_chains(mixed, request("files"))))


def test_a_task_leaves_no_file_behind(mixed, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows(tasks.of_chains(mixed, request()))
    with pytest.raises(recoup.CaptureError):
        rows(tasks.of_chains(mixed, request(on_error="raise")))
    assert not list(folder.iterdir())

"""Which files are one capture, and in which order; chains, checkpoints and files without an engine."""

import gzip
import pickle
import shutil
import subprocess
import sys
import warnings

import pytest

pa = pytest.importorskip("pyarrow")

import recoup
from recoup._sets import chain_run, chains, checkpoint, portable, storage, survey, sweeps
from recoup._sets.chains import Chain
from recoup._sets.request import ORDER, Request
from recoup._sets.storage import File, Store

from helpers import joined, without_chain
from program import cut, records

STORE = Store()


def listed(paths) -> tuple[File, ...]:
    return tuple(STORE._find_named(path)[0] for path in paths)


def run(paths, table="retransmissions", **more) -> pa.Table:
    options = more.pop("options", {"threads": 1})
    request = Request(table, STORE, options, **more)
    return pa.Table.from_batches(chain_run.run(request, (Chain("c", listed(paths)),)))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("day.pcap", "day"),
        ("day.pcap12", "day"),
        ("day.pcap007.zst", "day"),
        ("eth0_00012_20261122100000.pcapng.gz", "eth0"),
        ("web-1-2026-11-22T10:00:00Z.pcap", "web-1"),
        ("2026-11-22-10.pcap", ""),
        ("web-1.pcap", "web-1"),
        ("192.0.2.171.pcap", "192.0.2.171"),
        ("h2.cap.zst", "h2"),
    ],
)
def test_the_default_key_leaves_out_what_rotation_adds(name, key):
    assert chains.default_key(f"s3://b/p/{name}") == f"s3://b/p/{key}"


def test_a_regular_expression_groups_by_its_groups():
    files = [File(f"s3://b/{name}", 1) for name in ("x-a10.pcap", "x-a9.pcap", "y-a1.pcap")]
    made = chains.by_name(files, r"/(\w)-")
    assert [(chain.key, [file.uri[-8:] for file in chain.files]) for chain in made] == [
        ("x", ["-a9.pcap", "a10.pcap"]),
        ("y", ["-a1.pcap"]),
    ]


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ("no group", "expected a group"),
        ("(", "expected 'name', 'time'"),
        (r"/(z)-", "s3://b/x-1.pcap: does not match chains="),
    ],
)
def test_a_wrong_chain_pattern_says_what_was_expected(wrong, line):
    with pytest.raises(recoup.RecoupError, match=line.replace("(", r"\(")):
        chains.by_name([File("s3://b/x-1.pcap", 1)], wrong)


def test_a_ring_of_files_is_read_in_the_order_of_its_times(capture, tmp_path):
    paths = cut(capture, tmp_path, 6)
    ring = [str(tmp_path / f"ring.pcap{number}") for number in range(6)]
    # The fourth file was the last one written.
    for number, path in enumerate(ring):
        shutil.copy(paths[(number + 2) % 6], path)
    found = run(ring)
    in_order = [ring[(number + 4) % 6] for number in range(6)]
    assert without_chain(found) == joined(in_order, "retransmissions")


def test_a_store_that_refuses_a_beginning_changes_no_order(hundred, monkeypatch):
    fetch = Store.fetch

    def refusing(self, uri, path, most=None):
        if most is not None and uri == hundred[1]:
            raise recoup.CaptureError(f"{uri}: the store refuses: busy")
        return fetch(self, uri, path, most)

    monkeypatch.setattr(Store, "fetch", refusing)
    with pytest.raises(recoup.CaptureError, match="the store refuses: busy"):
        run(hundred[:3])


@pytest.mark.parametrize("table", ["retransmissions", "episodes", "connections", "intervals", "summary"])
def test_a_chain_gives_what_its_files_joined_give(table, hundred):
    assert without_chain(run(hundred[:40], table)) == joined(hundred[:40], table)


def test_options_count_as_in_an_analysis(hundred):
    options = {"threads": 1, "filter": "port 32770", "profile": "linux-6"}
    found = without_chain(run(hundred, "connections", options=options))
    one = recoup.analyze(hundred, join=True, progress=False, **options)
    assert found == pa.table(one.connections).to_pylist() and len(found) == 1


@pytest.mark.parametrize("table", ["retransmissions", "episodes", "connections", "summary"])
@pytest.mark.parametrize("every", [1, 7])
def test_checkpoints_change_no_row(table, every, hundred, tmp_path):
    files = hundred[:30]
    saved = {"checkpoint": str(tmp_path), "every": every}
    assert without_chain(run(files, table, **saved)) == joined(files, table)


def test_a_chain_that_has_grown_reads_the_new_files_alone(hundred, tmp_path, monkeypatch):
    run(hundred[:20], checkpoint=str(tmp_path), every=3)
    read = []
    fetch = Store.fetch

    def counted(self, uri, path, most=None):
        if most is None:
            read.append(uri)
        return fetch(self, uri, path, most)

    monkeypatch.setattr(Store, "fetch", counted)
    found = run(hundred[:30], checkpoint=str(tmp_path), every=4)
    assert without_chain(found) == joined(hundred[:30], "retransmissions")
    assert read == hundred[20:30]


def test_a_chain_whose_old_files_changed_begins_anew(capture, hundred, tmp_path):
    (tmp_path / "files").mkdir()
    paths = [shutil.copy(path, tmp_path / "files") for path in hundred[:9]]
    run(paths, checkpoint=str(tmp_path / "c"))
    header, packets = records(capture)
    with open(paths[4], "wb") as file:
        file.write(header + packets[len(packets) // 2])
    found = run(paths, checkpoint=str(tmp_path / "c"))
    assert without_chain(found) == joined(paths, "retransmissions")


def test_a_step_without_its_state_does_not_count(hundred, tmp_path):
    request = Request("retransmissions", STORE, {"threads": 1}, checkpoint=str(tmp_path))
    chain = Chain("c", listed(hundred[:6]))
    list(chain_run.run(request, (chain,)))
    [folder] = tmp_path.iterdir()
    [state] = folder.glob("*.state")
    state.unlink()
    assert checkpoint.Checkpoint(str(tmp_path), request, chain).load() == checkpoint.Progress()
    assert len(list(folder.glob("*.records.arrow"))) == 6
    found = pa.Table.from_batches(chain_run.run(request, (chain,)))
    assert without_chain(found) == joined(hundred[:6], "retransmissions")


def test_a_damaged_state_is_refused(hundred, tmp_path):
    run(hundred[:3], checkpoint=str(tmp_path))
    [state] = tmp_path.glob("*/*.state")
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content)
    with pytest.raises(recoup.StateError, match="remove"):
        run(hundred[:5], checkpoint=str(tmp_path))


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("cut_short", [False, True])
def test_a_file_that_is_there_twice_counts_once_and_is_named(cut_short, saved, hundred, tmp_path):
    paths = [shutil.copy(path, tmp_path) for path in hundred[:4]]
    twice = str(tmp_path / "z_00001.pcap.gz")
    with open(paths[0], "rb") as whole, gzip.open(twice, "wb") as file:
        file.write(whole.read()[: 1000 if cut_short else None])
    more = {"checkpoint": str(tmp_path / "c")} if saved else {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = run([*paths, twice], **more)
    assert without_chain(found) == joined(paths, "retransmissions")
    assert [str(one.message) for one in said] == [f"{twice}: the same packets as in {paths[0]}: expected each capture once"]


@pytest.fixture
def mixed(capture, hundred, tmp_path):
    """Files of a chain: a capture, text, an empty file, a damaged capture, a compressed one, and an object without packets."""
    paths = [str(tmp_path / f"m_{number:03d}.pcap") for number in range(6)]
    header, _ = records(capture)
    shutil.copy(hundred[0], paths[0])
    with open(paths[1], "w") as file:
        file.write("no capture\n" * 30)
    open(paths[2], "w").close()
    with open(hundred[1], "rb") as whole, open(paths[3], "wb") as file:
        file.write(whole.read()[:2500])
    with open(hundred[2], "rb") as whole, gzip.open(paths[4], "wb") as file:
        file.write(whole.read())
    with open(paths[5], "wb") as file:
        file.write(header)
    return paths


@pytest.mark.parametrize("saved", [False, True])
def test_damaged_files_are_named_and_cost_no_other_row(saved, mixed, tmp_path):
    more = {"checkpoint": str(tmp_path / "c")} if saved else {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = run(mixed, **more)
        one = joined(mixed, "retransmissions")
    # The text counts no frame, and rows name URIs.
    assert without_chain(found) == one
    lines = [str(warning.message) for warning in said]
    assert any(f"{mixed[1]}: not a capture" in line for line in lines)
    assert any(f"{mixed[3]}, after its frame" in line for line in lines)

    files = run(mixed, "files", **more).to_pylist()
    # What concerns the chain stands at its first file.
    assert files[0]["status"] == "noted" and "left out" not in files[0]["message"]
    assert [(row["file"], row["status"]) for row in files[1:] if row["status"] != "read"] == [
        (mixed[1], "failed"),
        (mixed[2], "noted"),
        (mixed[3], "noted"),
        *([(mixed[5], "noted")] if files[5]["status"] == "noted" else []),
    ]


def test_an_unreadable_file_raises_if_asked(mixed):
    with pytest.raises(recoup.CaptureError, match=r"m_001.pcap: not a capture.*on_error='skip'"):
        run(mixed, on_error="raise")


@pytest.mark.parametrize("table", list(ORDER))
def test_a_chain_without_any_capture_has_no_rows_but_columns(table, mixed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(mixed[1:3], table)
    assert found.num_rows == (2 if table == "files" else 0)
    assert "chain" in found.column_names and len(found.column_names) > 5


def test_chains_by_time_are_files_that_share_connections(capture, tmp_path):
    paths = cut(capture, tmp_path, 4)
    # The same packets a day later: a capture of its own.
    header, packets = records(capture)
    later = str(tmp_path / "later.pcap")
    with open(later, "wb") as file:
        file.write(header + b"".join(_moved(packet, 86_400) for packet in packets[:200]))
    text = tmp_path / "text.pcap"
    text.write_text("no capture\n" * 30)
    names = {paths[0]: "x.pcap", paths[1]: "b.pcap", paths[2]: "z.pcap", paths[3]: "a.pcap"}
    moved = [shutil.move(path, tmp_path / name) for path, name in names.items()]
    request = Request("summary", STORE, {"threads": 1})
    files = listed([*map(str, moved), later, str(text)])
    rows = pa.Table.from_batches(survey.run(request, tuple(files)))
    made = survey.by_time(rows)
    assert sorted([[file.uri for file in chain.files] for chain in made]) == sorted(
        [[str(path) for path in moved], [later], [str(text)]]
    )


def _moved(packet: bytes, seconds: int) -> bytes:
    return (int.from_bytes(packet[:4], "little") + seconds).to_bytes(4, "little") + packet[4:]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.pcap", ["a.pcap"]),
        ("**/*.pcap", ["a.pcap", "d/b.pcap", "d/e/c.pcap"]),
        ("d/?.pcap", ["d/b.pcap"]),
        ("[!b].pcap", ["a.pcap"]),
        ("*/b.*", ["d/b.pcap", "d/b.txt"]),
        ("", ["a.pcap", "d/b.pcap", "d/e/c.pcap"]),
    ],
)
def test_patterns_name_files(pattern, names, tmp_path):
    for name in ("a.pcap", "d/b.pcap", "d/b.txt", "d/e/c.pcap"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [file.uri for file in STORE.find(f"{tmp_path}/{pattern}")] == [f"{tmp_path}/{name}" for name in names]


def test_a_pattern_without_files_and_a_wrong_table_say_what_was_expected(tmp_path):
    with pytest.raises(recoup.CaptureError, match="no file matches: expected at least one"):
        STORE.find(f"{tmp_path}/*.pcap")
    with pytest.raises(recoup.RecoupError, match="table retransmision: expected one of .*did you mean retransmissions"):
        Request("retransmision", STORE)
    with pytest.raises(recoup.RecoupError, match="option fillter: expected one of .*did you mean filter"):
        Request("summary", STORE, {"fillter": "port 1"})
    with pytest.raises(recoup.RecoupError, match="profile linux-7"):
        Request("summary", STORE, {"profile": "linux-7"})


def test_a_worker_with_another_version_says_so(hundred):
    content, version = portable.dumps(Chain, "c", listed(hundred[:1]))
    assert portable.load(content, version) == Chain("c", listed(hundred[:1]))
    with pytest.raises(RuntimeError, match=r"needs the Python package recoup 9\.9\.9, found [0-9.]+: install recoup==9\.9\.9"):
        portable.load(content, "9.9.9")


def test_cells_are_every_combination_with_their_seeds():
    made = sweeps.cells("prr", {"rtt": ["20ms", "80ms"], "seed": [1, 2]}, flows=3)
    assert [(cell.number, cell.values["rtt"], cell.seed) for cell in made] == [
        (0, "20ms", 1),
        (1, "20ms", 2),
        (2, "80ms", 1),
        (3, "80ms", 2),
    ]
    rows = sweeps.run(made[3]).to_pylist()
    assert {(row["cell"], row["seed"], row["set_rtt"]) for row in rows} == {(3, 2, "80ms")}
    one = recoup.run("prr", flows=3, seed=2, settings={"rtt": ["80ms"]}, progress=False)
    assert [row | {"cell": 0} for row in rows] == pa.table(one.results).to_pylist()


@pytest.mark.parametrize(
    ("grid", "line"),
    [({}, "expected a dict of lists"), ({"rtt": []}, "rtt: expected at least one value"), ({"rrt": ["1ms"]}, "rrt")],
)
def test_a_wrong_grid_says_what_was_expected(grid, line):
    with pytest.raises(recoup.RecoupError, match=line):
        sweeps.schema(sweeps.cells("prr", grid))

"""Chains too long for one worker: divided by connection, with the rows of one machine."""


import pytest

pa = pytest.importorskip("pyarrow")

import recoup
from recoup._sets import partitioned
from recoup._sets.chains import Chain
from recoup._sets.request import Request
from recoup._sets.storage import Store

from helpers import joined, without_chain


def run(paths, scratch, table="retransmissions", partitions=5, **more) -> pa.Table:
    store = Store()
    request = Request(table, store, {"threads": 1}, **more)
    chain = Chain("c", tuple(store._find_named(path)[0] for path in paths))

    def execute(tasks, schema):
        # In any order: engines keep none.
        return pa.Table.from_batches([batch for task in reversed(tasks) for batch in task.batches()], schema)

    return partitioned.run(request, chain, partitions, str(scratch), execute)


@pytest.mark.parametrize("table", ["retransmissions", "episodes", "connections", "summary"])
@pytest.mark.parametrize("partitions", [1, 7])
def test_partitions_give_what_the_files_joined_give(table, partitions, hundred, tmp_path):
    found = run(hundred, tmp_path / "scratch", table, partitions)
    assert without_chain(found) == joined(hundred, table)
    assert not list((tmp_path / "scratch").rglob("*.parquet"))


def test_a_file_that_is_no_capture_is_named_or_left_out(hundred, tmp_path):
    text = tmp_path / "text.pcap"
    text.write_text("no capture\n" * 30)
    paths = [*hundred[:6], str(text)]
    with pytest.raises(recoup.CaptureError, match="text.pcap: not a capture.*on_error='skip'"):
        run(paths, tmp_path / "scratch", on_error="raise")
    with pytest.warns(RuntimeWarning, match=f"^{text}: not a capture"):
        found = run(paths, tmp_path / "scratch")
    assert without_chain(found) == joined(hundred[:6], "retransmissions")


@pytest.mark.parametrize("engine", ["daft", "daft-ray", "ray"])
def test_engines_analyze_partitions_with_the_rows_of_one_machine(engine, hundred, tmp_path, on):
    found = on(engine, "read_captures", hundred, partitions=4, scratch=str(tmp_path / "scratch"))
    assert without_chain(found) == joined(hundred, "retransmissions")


def test_arguments_that_do_not_go_together_are_refused(hundred, tmp_path):
    request = Request("files", Store(), {"threads": 1})
    with pytest.raises(recoup.RecoupError, match="the table files has none: expected one of"):
        partitioned.check(request, 4, "x")
    with pytest.raises(recoup.RecoupError, match="expected scratch too"):
        partitioned.check(Request("summary", Store()), 4, None)
    with pytest.raises(recoup.RecoupError, match="partitions=0: expected 1 to 256"):
        partitioned.check(Request("summary", Store()), 0, "x")


def test_a_split_that_was_killed_is_made_again(hundred, tmp_path):
    """Its link to the capture and its unfinished files may still be in a shared folder."""
    from recoup._sets import partitioned, tasks
    from recoup._sets.chains import by_name

    request = tasks.request("retransmissions", None, "raise", None, 1, 1, {})
    (chain,) = by_name(request.store.find(hundred[0]))
    scratch = partitioned.Scratch(request.store, str(tmp_path))
    split = partitioned.SplitTask(request, scratch, chain, 0, 2)
    (first,) = split.batches()
    folder = tmp_path / "00000000"
    (folder / "at-00000000.capture").symlink_to(hundred[0])
    (folder / ".tmpAbCdEf").write_bytes(b"half a file")
    (second,) = split.batches()
    assert second["files"].to_pylist() == first["files"].to_pylist()
    assert not (folder / "at-00000000.capture").exists()

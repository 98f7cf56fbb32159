"""One capture in parts."""

import pytest
import recoup
from program import cut
from recoup import partition


@pytest.fixture(scope="module")
def pieces(capture, tmp_path_factory):
    return cut(capture, tmp_path_factory.mktemp("pieces"), 100)


@pytest.mark.parametrize("partitions", [1, 3, 16])
@pytest.mark.parametrize("table", ["retransmissions", "episodes", "connections", "summary"])
def test_parts_are_the_whole(pieces, tmp_path, partitions, table):
    records = [partition.split(piece, tmp_path, partitions).record for piece in reversed(pieces)]
    plan = partition.plan(records)
    settled = partition.analyze_all(plan.value, plan.partitions, table=table)
    whole = getattr(recoup.analyze(pieces, join=True), table)
    assert settled.table.columns == whole.columns
    assert settled.table.to_pylist() == whole.to_pylist()


def test_what_does_not_fit(pieces, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no capture")
    broken = partition.split(text, tmp_path, 2)
    assert "notes.txt: not a capture" in broken.failure
    good = partition.split(pieces[0], tmp_path, 2)
    assert partition.plan([good.record, broken.record]).failures == [broken.failure]
    other = partition.split(pieces[1], tmp_path, 3)
    with pytest.raises(recoup.RecoupError, match="split into 3 partitions: expected 2"):
        partition.plan([good.record, other.record])
    with pytest.raises(recoup.RecoupError, match="0 partitions: expected 1 to 256"):
        partition.split(pieces[0], tmp_path, 0)
    plan = partition.plan([good.record])
    with pytest.raises(recoup.RecoupError, match="expected one analysis of each partition"):
        partition.settle(plan.value, [partition.analyze(plan.value, 0)])
    with pytest.raises(recoup.RecoupError, match="damaged"):
        partition.analyze(plan.value[:-1], 0)
    with pytest.raises(recoup.RecoupError, match="expected a value"):
        partition.plan([b"something"])

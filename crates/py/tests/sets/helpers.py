"""What the tests of sets of captures share."""

import os

import pytest

pa = pytest.importorskip("pyarrow")

HERE = os.path.dirname(__file__)

#: Columns that order the rows of all chains.
ORDER = {
    "retransmissions": ["chain", "frame", "seq"],
    "episodes": ["chain", "connection", "capture_point", "frame", "side", "cause"],
    "connections": ["chain", "connection", "capture_point"],
    "intervals": ["chain", "time"],
    "summary": ["chain"],
    "files": ["chain", "position"],
}


def joined(paths, table: str) -> list[dict]:
    """What one machine finds in the files of one capture."""
    import recoup

    found = pa.table(getattr(recoup.analyze(paths, join=True, progress=False), table))
    return found.to_pylist()


def without_chain(table, names=("chain",)) -> list[dict]:
    return table.drop_columns(list(names)).to_pylist()


class Failed(Exception):
    """What an engine wrote before it ended."""

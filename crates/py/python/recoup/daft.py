"""Sets of captures and sweeps with Daft (``pip install 'recoup[daft]'``), on this machine or on a Ray cluster.

::

    import recoup.daft
    df = recoup.daft.read_captures("s3://captures/2026-11-*/*.pcap.zst")
    df.where(df["verdict"] == "spurious").groupby("trigger").count("frame").show()

Daft's ``DataSource`` is new and may change: these functions are tested with Daft 0.7. :mod:`recoup.ray` has the same ones.
docs/clusters.md describes chains, checkpoints and what happens to files that cannot be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pyarrow as pa

from ._recoup import RecoupError
from ._sets import portable, tasks
from ._sets.request import TASK_BYTES

try:
    import daft
    from daft.io.source import DataSource, DataSourceTask
    from daft.recordbatch import RecordBatch
    from daft.schema import Schema
except ImportError as error:
    raise ImportError(f"recoup.daft needs Daft 0.7: pip install 'recoup[daft]' ({error})") from None

__all__ = ["read_captures", "sweep"]


def read_captures(
    captures,
    table="retransmissions",
    *,
    chains="name",
    checkpoint=None,
    every=1,
    on_error="skip",
    task_bytes=TASK_BYTES,
    partitions=None,
    scratch=None,
    io_config=None,
    filesystem=None,
    **options,
) -> daft.DataFrame:
    """A lazy table of the retransmissions, lost time, connections or intervals of a set of captures.

    ``captures``: a URI, a folder or a pattern, or a list of them: ``"s3://bucket/*.pcap.zst"``, ``"/data/**/*.pcap"``.

    ``table``: ``"retransmissions"``, ``"episodes"`` (lost time), ``"connections"``, ``"intervals"``, ``"summary"`` (a row for
    each chain) or ``"files"`` (a row for each file: whether it could be read). The columns are those of :func:`recoup.analyze`, after ``chain``.

    ``chains``: which files are one capture in many files. ``"name"``: those whose names differ in numbers of rotation alone. A
    regular expression: those with the same groups. A function from URI to key. ``"time"``: those that continue each other; for
    that every file is read once before. ``None``: each file is by itself. A chain is analyzed as one capture, in one task.

    ``task_bytes``: chains whose files have up to this many bytes together share a task: 64 MiB by default.

    ``checkpoint``: a URI under which the progress of every chain is saved after ``every`` files. A task that is tried again
    goes on from there, and so does a later call when there are more files.

    ``partitions``: for chains that are too long for one worker. Packets are first divided by connection into this many parts,
    which are analyzed beside each other. ``scratch`` is a URI for what lies between. The work is done by this call, and the rows
    pass through this process.

    ``on_error``: ``"skip"`` leaves files out that cannot be read, and warns of each. The table ``"files"`` lists them, each with
    the reason; with the ``checkpoint`` of another table it reads no file again. ``"raise"`` ends the query at the first one.

    ``io_config``: Daft's configuration of object stores: its ``s3`` counts. ``filesystem``: a ``pyarrow.fs.FileSystem`` in its
    place. By default variables of the environment name the store and its keys (``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``).

    ``options``: as for :func:`recoup.analyze`. ``threads`` counts for each task and is 1 by default.

    The rows of a chain are in the order of one analysis. For an order of all rows: ``df.sort(["chain", "frame"])``.
    """
    if io_config is not None and filesystem is not None:
        raise RecoupError("io_config and filesystem: expected one of them")
    if io_config is not None:
        filesystem = _filesystem(io_config)
    request = tasks.request(table, filesystem, on_error, checkpoint, every, task_bytes, options)
    found = tasks.chains_of(captures, request, chains, _execute)
    if partitions is not None:
        return daft.from_arrow(tasks.in_partitions(found, request, partitions, scratch, _execute))
    return _Source(f"recoup captures ({table})", tasks.of_chains(found, request), request.schema).read()


def sweep(scenario, grid: Mapping, flows=None, *, profiles=(), seed=None, settings=None) -> daft.DataFrame:
    """A lazy table of the results of a scenario, for every combination of the values in ``grid``.

    ``grid``: a list of values for each setting: ``{"rtt": ["20ms", "80ms"], "seed": range(10)}``. Each combination is a task.
    ``flows``, ``profiles``, ``seed``, ``settings``: as for :func:`recoup.run`.

    Columns: ``cell``, ``scenario``, ``seed``, and those of ``recoup.run(…).results``. The numbers do not depend on workers. For
    the order of one machine: ``df.sort("cell")``.
    """
    cells, schema = tasks.of_sweep(
        scenario, grid, flows=flows, profiles=profiles, seed=seed, settings=settings
    )
    return _Source("recoup sweep", cells, schema).read()


class _Source(DataSource):
    """Tasks as a source of Daft."""

    def __init__(self, name: str, all_tasks: list, schema: pa.Schema):
        self._name = name
        self._tasks = all_tasks
        self._schema = schema

    @property
    def name(self) -> str:
        return self._name

    @property
    def schema(self) -> Schema:
        return Schema.from_pyarrow_schema(self._schema)

    async def get_tasks(self, pushdowns) -> AsyncIterator[DataSourceTask]:
        for task in self._tasks:
            yield _Task(task, self._schema)


class _Task(DataSourceTask):
    """A task as one of Daft."""

    def __init__(self, task, schema: pa.Schema):
        self._task = task
        self._schema = schema

    def __reduce__(self):
        return portable.load, portable.dumps(_Task, self._task, self._schema)

    @property
    def schema(self) -> Schema:
        return Schema.from_pyarrow_schema(self._schema)

    async def read(self) -> AsyncIterator[RecordBatch]:
        batches = self._task.batches()
        # Off the event loop: Daft runs several tasks on it.
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield RecordBatch.from_arrow_record_batches([batch], self._schema)


def _execute(all_tasks: list, schema: pa.Schema) -> pa.Table:
    return _Source("recoup survey", all_tasks, schema).read().to_arrow()


def _filesystem(io_config):
    """The S3 settings of Daft as a file system of pyarrow."""
    from pyarrow import fs

    s3 = io_config.s3
    options = {
        "endpoint_override": s3.endpoint_url,
        "access_key": s3.key_id,
        "secret_key": s3.access_key,
        "session_token": s3.session_token,
        "region": s3.region_name,
        "anonymous": s3.anonymous,
        "connect_timeout": s3.connect_timeout_ms / 1000,
        "request_timeout": s3.read_timeout_ms / 1000,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=max(1, min(s3.num_tries, 10))),
    }
    return fs.S3FileSystem(**{name: value for name, value in options.items() if value})

"""Sets of captures and sweeps with Ray Data (``pip install 'recoup[ray]'``): the functions of :mod:`recoup.daft`.

::

    import recoup.ray
    ds = recoup.ray.read_captures("s3://captures/2026-11-*/*.pcap.zst")
    ds.groupby("trigger").count().show()
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ._sets import portable, tasks
from ._sets.request import TASK_BYTES

try:
    import ray.data
except ImportError as error:
    raise ImportError(f"recoup.ray needs Ray 2: pip install 'recoup[ray]' ({error})") from None

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
    filesystem=None,
    ray_remote_args=None,
    **options,
) -> ray.data.Dataset:
    """A lazy dataset of the retransmissions, lost time, connections or intervals of a set of captures.

    Arguments and columns are those of :func:`recoup.daft.read_captures`, without ``io_config``. ``filesystem`` is a
    ``pyarrow.fs.FileSystem``. ``ray_remote_args`` go to Ray, such as ``{"memory": 2**30}``. A task takes as many CPUs as it
    has threads.
    """
    request = tasks.request(table, filesystem, on_error, checkpoint, every, task_bytes, options)
    args = {"num_cpus": request.options["threads"]} | (ray_remote_args or {})

    def execute(some: list, schema: pa.Schema) -> pa.Table:
        return _gathered(some, schema, args)

    found = tasks.chains_of(captures, request, chains, execute)
    if partitions is not None:
        return ray.data.from_arrow(tasks.in_partitions(found, request, partitions, scratch, execute))
    return _dataset(tasks.of_chains(found, request), args)


def sweep(
    scenario, grid: Mapping, flows=None, *, profiles=(), seed=None, settings=None, ray_remote_args=None
) -> ray.data.Dataset:
    """A lazy dataset of the results of a scenario, for every combination of the values in ``grid``: as
    :func:`recoup.daft.sweep`."""
    cells, _ = tasks.of_sweep(scenario, grid, flows=flows, profiles=profiles, seed=seed, settings=settings)
    return _dataset(cells, ray_remote_args or {})


def _dataset(all_tasks: list, args: dict) -> ray.data.Dataset:
    rows = [dict(zip(("task", "version"), portable.dumps(_itself, task))) for task in all_tasks]
    # A block for each task: Ray counts, moves and retries blocks.
    blocks = ray.data.from_items(rows, override_num_blocks=len(rows))
    return blocks.map_batches(_runner(), batch_size=1, batch_format="pyarrow", **args)


def _itself(task):
    return task


def _runner():
    load = portable.load

    # Sent as code, as `portable.load` is.
    def run(batch):
        import pyarrow

        for row in batch.to_pylist():
            for found in load(row["task"], row["version"]).batches():
                yield pyarrow.Table.from_batches([found])

    return run


def _gathered(all_tasks: list, schema: pa.Schema, args: dict) -> pa.Table:
    blocks = [ray.get(block) for block in _dataset(all_tasks, args).to_arrow_refs()]
    return pa.concat_tables([block for block in blocks if block.num_rows] or [schema.empty_table()])

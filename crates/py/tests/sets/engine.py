"""Runs one call on an engine, in a process of its own: Daft takes one runner per process.

    python engine.py ENGINE CALL.pickle OUT.arrow

ENGINE is daft, daft-ray or ray; CALL.pickle holds a function's name, its arguments and columns to sort by.
"""

import pickle
import sys

import pyarrow as pa


def main(engine: str, call: str, out: str) -> None:
    with open(call, "rb") as file:
        name, arguments, options, order, hidden = pickle.load(file)
    if engine != "daft":
        import ray

        hook = {"worker_process_setup_hook": "engine.hide_recoup"} if hidden else {}
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=200 << 20,
            runtime_env={"env_vars": {"PYTHONPATH": __file__.rsplit("/", 1)[0]}} | hook,
        )
    if engine == "ray":
        import recoup.ray

        dataset = getattr(recoup.ray, name)(*arguments, **options)
        found = [ray.get(block) for block in dataset.to_arrow_refs()]
        # Some of Ray's blocks are empty and have no columns.
        table = pa.concat_tables([block for block in found if block.num_columns])
        if order:
            table = table.sort_by([(name, "ascending") for name in order])
    else:
        import daft
        import recoup.daft

        if engine == "daft-ray":
            daft.set_runner_ray()
        frame = getattr(recoup.daft, name)(*arguments, **options)
        table = (frame.sort(order) if order else frame).to_arrow()
    with pa.OSFile(out, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def hide_recoup():
    """A worker on which the package is not installed."""
    sys.modules["recoup"] = None


if __name__ == "__main__":
    main(*sys.argv[1:])

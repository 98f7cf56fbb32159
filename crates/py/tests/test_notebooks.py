"""The notebooks run from their first cell to their last, each within two minutes, and are stored without outputs."""

import time
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LIMIT_S = 120


@pytest.mark.parametrize("name", ["my-capture", "paper-figure", "sweep"])
def test_a_notebook_runs(name, tmp_path):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "expected no outputs"
    begun = time.monotonic()
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=LIMIT_S, kernel_name="python3", resources=resources).execute()
    assert time.monotonic() - begun < LIMIT_S
    warnings = [output.text for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    assert not warnings


def test_every_notebook_is_tested():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {"my-capture", "paper-figure", "sweep"}

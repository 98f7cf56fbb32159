"""Recoup explains TCP retransmissions, and compares loss recovery mechanisms.

======================  ==================================================================
:func:`analyze`         every connection and retransmission of captures, as tables
:func:`explain`         where the time went, in sentences and as a page
:func:`compare`         what changed between two captures, beyond their own spread
:func:`whatif`          what other settings or loss recovery would have changed
:func:`run`             a scenario in the simulator, once per profile
:func:`paper`           figures and claims of four papers
``recoup.daft``         sets of captures and sweeps with Daft
``recoup.ray``          the same with Ray Data
======================  ==================================================================

Tables go to data frames without a copy::

    a = recoup.analyze("server.pcap")
    polars.DataFrame(a.retransmissions)
    pandas.DataFrame.from_arrow(a.retransmissions)
    pyarrow.table(a.retransmissions)
    retransmissions = a.retransmissions; duckdb.sql("from retransmissions")

Long calls release the GIL, end at Ctrl-C, and show progress if tqdm or rich is installed. ``progress=False`` shows none;
a function ``progress(done, all, what, unit)`` is called several times a second.
"""

from ._recoup import CaptureError, RecoupError, StateError, Table, __version__
from ._analysis import (
    Analysis,
    Comparison,
    Connection,
    Continuation,
    Explanation,
    WhatIf,
    analyze,
    compare,
    explain,
    whatif,
)
from ._lab import Run, Scenario, run, scenarios
from ._papers import Figure, Paper, paper
from ._picture import Svg

__all__ = [
    "Analysis",
    "CaptureError",
    "Comparison",
    "Connection",
    "Continuation",
    "Explanation",
    "Figure",
    "Paper",
    "RecoupError",
    "Run",
    "Scenario",
    "StateError",
    "Svg",
    "Table",
    "WhatIf",
    "__version__",
    "analyze",
    "compare",
    "explain",
    "paper",
    "run",
    "scenarios",
    "whatif",
]

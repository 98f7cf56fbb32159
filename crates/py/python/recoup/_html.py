"""How results look in notebooks."""

from __future__ import annotations

from html import escape

#: Rows that a table shows in a notebook.
SHOWN_ROWS = 10


def of_table(self) -> str:
    """The first rows of a table, its columns with units and descriptions."""
    table = self
    units, about = table.units, table.descriptions
    rows = table.head(SHOWN_ROWS)
    head = "".join(
        f'<th title="{escape(about[name])}">{escape(name)}{_unit(units[name])}</th>'
        for name in table.columns
    )
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in table.columns) + "</tr>"
        for row in rows
    )
    more = len(table) - len(rows)
    note = f"<p>{more:,} more rows</p>" if more > 0 else ""
    return (
        '<div style="overflow-x:auto"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>{note}"
    )


def of_text(text: str) -> str:
    """Text as it is printed."""
    return f'<pre style="line-height:1.25">{escape(text)}</pre>'


def _unit(unit: str) -> str:
    return f"<br><small>{escape(unit)}</small>" if unit else ""


def _cell(value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return escape(str(value))

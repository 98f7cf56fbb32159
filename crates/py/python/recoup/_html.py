"""How results look in notebooks."""

from __future__ import annotations

from datetime import datetime, timezone
from html import escape

from ._recoup import Table

#: Rows that a table shows in a notebook.
SHOWN_ROWS = 10

#: Connections that the table of an explanation has in a notebook.
SHOWN_CONNECTIONS = 200

#: Bytes of pages in one output. A notebook saves every output, and captures beyond it are shown as text.
MOST_BYTES = 2_000_000


def of_table(self) -> str:
    """The first rows of a table, its columns with units and descriptions."""
    table = self
    units, about = table.units, table.descriptions
    rows = table.head(SHOWN_ROWS)
    head = "".join(
        f'<th title="{escape(about[name])}">{escape(name)}{_unit(units[name], about[name])}</th>'
        for name in table.columns
    )
    body = "".join(
        "<tr>" + "".join(f'<td style="white-space:nowrap">{_cell(row[name], about[name])}</td>' for name in table.columns) + "</tr>"
        for row in rows
    )
    more = len(table) - len(rows)
    note = f"<p>{more:,} more rows</p>" if more > 0 else ""
    return (
        '<div style="overflow-x:auto"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>{note}"
    )


# The class is Rust's, its look in notebooks Python's.
Table._repr_html_ = of_table  # type: ignore[method-assign]


def of_text(text: str) -> str:
    """Text as it is printed."""
    # Some notebooks give HTML a proportional font, in which tables of text fall apart.
    style = "line-height:1.25;font-family:monospace;white-space:pre;overflow-x:auto;text-align:left"
    return f'<pre style="{style}">{escape(text)}</pre>'


def of_pages(pages: list[tuple[str, str]], text: str) -> str:
    """Pages with charts and tables, each in a frame of its own: their styles and scripts touch nothing else in the notebook. The
    text is what viewers show that permit no frames. Pages beyond :data:`MOST_BYTES` are left out."""
    frames, room = [], MOST_BYTES
    for name, page in pages:
        # What the attribute needs, and no more: `escape` makes the page a third longer.
        page = page.replace("&", "&amp;").replace('"', "&quot;")
        room -= len(page)
        if room < 0:
            break
        # Without the permission `allow-same-origin` the page's script reaches nothing of the notebook.
        frames.append(
            f'<iframe srcdoc="{page}" title="{escape(name)}" sandbox="allow-scripts allow-popups" '
            'style="width:100%;height:min(900px,85vh);border:1px solid #8884;color-scheme:normal" loading="lazy"></iframe>'
        )
    missing = len(pages) - len(frames)
    note = f"<p>{missing} more captures are shown as text only.</p>" if missing else ""
    opened = "" if frames and not missing else " open"
    return f"{''.join(frames)}{note}<details{opened}><summary>As text</summary>{of_text(text)}</details>"


def of_picture(svg: str) -> str:
    """A picture, no wider than the page."""
    return svg.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def _is_time(about: str) -> bool:
    """Whether a column with this description holds times: tables give them as ns since 1970."""
    return "since 1970" in about


def _unit(unit: str, about: str) -> str:
    shown = "UTC" if _is_time(about) else unit
    return f"<br><small>{escape(shown)}</small>" if shown else ""


def _cell(value, about: str) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and _is_time(about):
        seconds, nanos = divmod(value, 10**9)
        moment = datetime.fromtimestamp(seconds, timezone.utc)
        return f"{moment:%Y-%m-%d %H:%M:%S}.{nanos // 1000:06}"
    return escape(str(value))

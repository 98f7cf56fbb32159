"""Pictures."""

from __future__ import annotations

from . import _html


class Svg:
    """A picture. Notebooks show it; ``save`` writes it."""

    def __init__(self, svg: str):
        self.svg = svg

    def save(self, path) -> None:
        """Writes the picture as an SVG file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return _html.of_picture(self.svg)

    def __repr__(self):
        return f"<recoup.Svg: {len(self.svg):,} characters>"

"""Drawings as files; the ending of a name chooses the format."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medsenteval.errors import SettingsError
from medsenteval.report.charts.drawing import Drawing
from medsenteval.report.charts.raster import painted
from medsenteval.report.charts.svg import svg_file
from medsenteval.writing import write_atomically

__all__ = ["FIGURE_FORMATS", "write_drawing"]

FIGURE_FORMATS: Final = ("svg", "png", "pdf")


def write_drawing(drawing: Drawing, path: Path) -> None:
    """Write a figure as .svg, .png or .pdf."""
    kind = path.suffix.lstrip(".").casefold()
    if kind not in FIGURE_FORMATS:
        raise SettingsError(f"{path}: a figure's name ends in {', '.join('.' + each for each in FIGURE_FORMATS)}")
    write_atomically(path, svg_file(drawing) if kind == "svg" else painted(drawing, kind))

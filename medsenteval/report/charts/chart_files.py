"""Drawings as files; the ending of a name chooses the format."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medsenteval.errors import SettingsError
from medsenteval.report.charts.drawing import Drawing
from medsenteval.report.charts.raster import PIXELS_TO_THE_INCH, painted
from medsenteval.report.charts.svg import svg_file
from medsenteval.support.atomic_files import write_atomically

__all__ = ["FIGURE_FORMATS", "PIXELS_TO_THE_INCH", "figure_format", "write_drawing"]

FIGURE_FORMATS: Final = ("svg", "png", "pdf")


def figure_format(path: Path) -> str:
    """Return the format that the ending of a figure's name chooses."""
    kind = path.suffix.lstrip(".").casefold()
    if kind not in FIGURE_FORMATS:
        raise SettingsError(f"{path}: a figure's name ends in {', '.join('.' + each for each in FIGURE_FORMATS)}")
    return kind


def write_drawing(drawing: Drawing, path: Path) -> None:
    """Write a figure as .svg, .png or .pdf, in the size that it was laid out for."""
    kind = figure_format(path)
    write_atomically(path, svg_file(drawing) if kind == "svg" else painted(drawing, kind))

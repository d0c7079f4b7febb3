"""Drawings as files; the ending of a name chooses the format."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from medsenteval.errors import SettingsError
from medsenteval.report.charts.drawing import Drawing, Text
from medsenteval.report.charts.raster import painted
from medsenteval.report.charts.svg import svg_file
from medsenteval.support.atomic_files import write_atomically

__all__ = ["FIGURE_FORMATS", "figure_format", "scale_for", "write_drawing"]

FIGURE_FORMATS: Final = ("svg", "png", "pdf")


#: Points of the smallest letters that a journal prints.
_SMALLEST: Final = 7.0
#: Pixels of an inch, and points of a pixel.
_INCH: Final = 96.0
_POINT: Final = 0.75


def figure_format(path: Path) -> str:
    """Return the format that the ending of a figure's name chooses."""
    kind = path.suffix.lstrip(".").casefold()
    if kind not in FIGURE_FORMATS:
        raise SettingsError(f"{path}: a figure's name ends in {', '.join('.' + each for each in FIGURE_FORMATS)}")
    return kind


def scale_for(drawing: Drawing, inches: float) -> float:
    """Return how many times its size a figure must have for this width, but no less than letters of seven points need."""
    letters = min((shape.size for shape in drawing.shapes if isinstance(shape, Text)), default=12.0)
    return max(inches * _INCH / drawing.width, _SMALLEST / (letters * _POINT))


def write_drawing(drawing: Drawing, path: Path, inches: float | None = None) -> float:
    """Write a figure as .svg, .png or .pdf, so many inches wide where its letters allow it; return its width in inches."""
    kind = figure_format(path)
    scale = 1.0 if inches is None else scale_for(drawing, inches)
    write_atomically(path, svg_file(drawing, scale) if kind == "svg" else painted(drawing, kind, scale))
    return scale * drawing.width / _INCH

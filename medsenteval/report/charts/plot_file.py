"""Plots of matplotlib as files, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medsenteval.errors import MissingExtraError
from medsenteval.report.charts.figure_files import figure_format, saved
from medsenteval.support.atomic_files import write_atomically
from medsenteval.support.escaping import for_terminal


def new_plot(path: Path, width: float, height: float) -> Any:
    """Return an empty figure of matplotlib, so many inches large; the ending of ``path`` must be that of a figure."""
    figure_format(path)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("a figure", "matplotlib", "report") from error
    return Figure(figsize=(width, height), layout="constrained")


def plain(text: str) -> str:
    """Return a name of a stranger's as matplotlib shows it letter by letter: between two dollars it sees a formula."""
    return for_terminal(text).replace("$", r"\$")


def write_plot(figure: Any, path: Path) -> None:
    """Write a figure: the same file for the same scores, its fonts embedded as TrueType."""
    write_atomically(path, saved(figure, figure_format(path), path.stem))

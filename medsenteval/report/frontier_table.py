"""Compression frontiers as tables, and as one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medsenteval.comparison.frontier import Frontier, FrontierPoint
from medsenteval.report.charts.chart_files import write_drawing
from medsenteval.report.charts.frontier_chart import frontier_panels
from medsenteval.report.comparison_table import escape_cell, render_table


def render_frontier(found: Frontier, style: str = "text") -> str:
    """Return a row for each size of vectors, the largest first, and a sentence that says how small they can be."""
    digits = ".2f" if found.unit == "percent" else ".3f"
    rows = [
        [
            str(point.dimension),
            point.precision,
            f"{point.size:,}",
            f"{point.score:{digits}}",
            f"{point.loss:+{digits}}",
            f"[{point.low:+{digits}}, {point.high:+{digits}}]",
            "*" if point.kept else "",
        ]
        for point in found.points
    ]
    header = ["Dimensions", "Precision", "Bytes", found.metric, "Loss", "95 % interval", ""]
    table = render_table(header, rows, [True, False, True, True, True, True, False], style)
    if style in ("csv", "latex"):
        return table
    title = escape_cell(f"{found.task}, {found.encoder} ({found.n:,} items)", style)
    # One point; hundredths for correlations and other fractions.
    margin = 1.0 if found.unit == "percent" else 0.01
    sure = _smallest([point for point in found.points if point.high < margin], found)
    unseen = [point for point in found.points if point.kept and point.low <= 0] or [found.points[0]]
    most = max(min(unseen, key=lambda point: point.size).high, 0.0)
    said = (
        f"Smallest vectors that surely lose less than {margin:g}: {sure}.\n"
        f"Smallest vectors without a significant loss: {_smallest(unseen, found)}; they may lose up to {most:{digits}}.\n"
        "* no smaller vectors score as well."
    )
    return f"{title}\n\n{table}\n\n{said}"


def _smallest(points: Sequence[FrontierPoint], found: Frontier) -> str:
    """Describe the smallest of these vectors."""
    least = min(points, key=lambda point: (point.size, point.loss))
    if least == found.points[0]:
        return "none but the full ones"
    return f"{least.dimension} dimensions in {least.precision}, {least.size:,} of {found.points[0].size:,} bytes"


def draw_frontiers(found: Sequence[Frontier], path: Path) -> None:
    """Write bytes per vector against score, a panel for each encoder and task."""
    write_drawing(frontier_panels(found), path)

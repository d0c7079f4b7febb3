"""Compression frontiers as tables, and as one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medsenteval.comparison.frontier import Frontier
from medsenteval.report.charts.chart_files import write_drawing
from medsenteval.report.charts.frontier_chart import frontier_panels
from medsenteval.report.comparison_table import escape_cell, render_table

__all__ = ["draw_frontiers", "render_frontier"]


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
    harmless = [point for point in found.points if point.low <= 0]
    least = min(harmless, key=lambda point: (point.size, point.loss))
    said = (
        f"Smallest vectors whose loss cannot be told from none: {least.dimension} dimensions in {least.precision}, "
        f"{least.size:,} of {found.points[0].size:,} bytes; at most {max(least.high, 0.0):{digits}} lost.\n"
        "* no smaller vectors score as well."
    )
    return f"{title}\n\n{table}\n\n{said}"


def draw_frontiers(found: Sequence[Frontier], path: Path) -> None:
    """Write bytes per vector against score, a panel for each encoder and task."""
    write_drawing(frontier_panels(found), path)

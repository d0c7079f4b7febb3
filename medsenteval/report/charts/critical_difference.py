"""The critical-difference diagram of mean ranks (Demšar 2006)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from medsenteval.report.charts.drawing import PAGE_WIDTH, Axis, Circle, Drawing, Line, Shape, Text, text_width
from medsenteval.report.charts.row_chart import NAMES_SHARE, Row, row_panels
from medsenteval.statistics import FriedmanOutcome


def cliques(ranks: Sequence[float], critical_difference: float) -> list[tuple[int, int]]:
    """Return the longest runs (first, last) of sorted ranks that lie less than the critical difference apart."""
    runs = []
    furthest = -1
    for first in range(len(ranks)):
        last = max(i for i in range(len(ranks)) if ranks[i] - ranks[first] < critical_difference or i == first)
        if last > first and last > furthest:
            runs.append((first, last))
            furthest = last
    return runs


def critical_difference_diagram(encoders: Sequence[str], outcome: FriedmanOutcome, width: float = PAGE_WIDTH) -> Drawing:
    """Draw mean ranks, the best on top, as Demšar 2006; a bar joins those less than Nemenyi's critical difference apart."""
    k, critical = len(encoders), outcome.critical_difference
    order = sorted(range(k), key=lambda i: float(outcome.mean_ranks[i]))
    ranks = [float(outcome.mean_ranks[i]) for i in order]
    names = [encoders[i] for i in order]
    runs = cliques(ranks, critical)
    # Bars stand closer together where they would leave the axis less than 40 pixels between the names and the ranks.
    room = width - (17 + NAMES_SHARE * width) - 40 - 46
    apart = min(7.0, room / max(len(runs), 1))

    def axis_between(start: float, end: float) -> Axis:
        step = max(1, math.ceil(18 * (k - 1) / (end - start)))
        return Axis(1, k, start, end, tuple(range(1, k + 1, step)), 0)

    def draw(_: int, axis: Axis, rows: Sequence[Row]) -> Iterator[Shape]:
        said = f"critical difference {critical:.2f}"
        yield Text(min(axis.start, width - text_width(said, 11)), 12, said, fill="second", size=11)
        reach = axis.at(1 + critical)
        # It can be longer than there is room for.
        if reach < width - 2:
            yield Line(axis.start, 22, reach, 22, "second", 2)
            yield Line(axis.start, 18, axis.start, 26, "second", 1.5)
            yield Line(reach, 18, reach, 26, "second", 1.5)
        for name, rank, row in zip(names, ranks, rows, strict=True):
            yield Circle(axis.at(rank), row.middle, 4, "ink", f"{name}: mean rank {rank:.2f}")
            yield Text(axis.end + 36, row.middle + 4, f"{rank:.2f}", anchor="end", size=11)
        for level, (first, last) in enumerate(runs):
            x = axis.end + 44 + apart * level
            yield Line(x, rows[first].top + 3, x, rows[last].bottom - 3, "accent", apart / 2)

    below = f"mean rank over {outcome.n_tasks} tasks, 1 is best"
    height, shapes = row_panels(names, [""], below, axis_between, draw, width, top=34, right=46 + apart * len(runs))
    described = (
        f"Mean ranks over {outcome.n_tasks} tasks, 1 is best; ranks that differ by {critical:.2f} or more "
        f"differ at {outcome.level:g} (Nemenyi). Best: {names[0]}, {ranks[0]:.2f}."
    )
    return Drawing(width, height, "Critical-difference diagram", described, shapes)

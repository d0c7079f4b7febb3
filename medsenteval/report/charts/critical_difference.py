"""The critical-difference diagram of Demšar 2006: mean ranks on a line, bars over encoders that do not differ."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, shorten, text_width
from medsenteval.statistics import FriedmanOutcome

__all__ = ["cliques", "critical_difference_diagram"]

_ROW = 20.0
_PLOT = 420.0


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


def critical_difference_diagram(encoders: Sequence[str], outcome: FriedmanOutcome) -> Drawing:
    """Draw mean ranks, best at the left; a bar joins encoders whose ranks differ by less than Nemenyi's critical difference."""
    order = sorted(range(len(encoders)), key=lambda i: float(outcome.mean_ranks[i]))
    ranks = [float(outcome.mean_ranks[i]) for i in order]
    names = [shorten(f"{encoders[i]}", 200) for i in order]
    half = (len(order) + 1) // 2
    left = 30 + max(text_width(f"{name} 00.00") for name in names[:half])
    right = 30 + max((text_width(f"{name} 00.00") for name in names[half:]), default=0)
    k = len(order)
    start, end = left, left + _PLOT

    def at(rank: float) -> float:
        return start + (rank - 1) / max(k - 1, 1) * (end - start)

    runs = cliques(ranks, outcome.critical_difference)
    line = 58.0
    shapes: list[Shape] = []
    # With few tasks the critical difference is longer than the axis.
    reach = outcome.critical_difference / max(k - 1, 1) * (end - start)
    shapes += [Line(start, 22, start + reach, 22, "second", 2)]
    shapes += [Line(x, 18, x, 26, "second", 1.5) for x in (start, start + reach)]
    shapes.append(Text(start, 12, f"critical difference {outcome.critical_difference:.2f}", fill="second", size=11))
    shapes.append(Line(start, line, end, line, "ink", 1.5))
    every = 1 if k <= 12 else 2 if k <= 24 else 5
    for tick in range(1, k + 1):
        shapes.append(Line(at(tick), line - 5, at(tick), line, "ink"))
        if (tick - 1) % every == 0:
            shapes.append(Text(at(tick), line - 9, str(tick), anchor="middle", fill="muted", size=11))
    for level, (first, last) in enumerate(runs):
        y = line + 9 + 6 * level
        shapes.append(Line(at(ranks[first]) - 4, y, at(ranks[last]) + 4, y, "accent", 3.5))
    below = line + 24 + 6 * len(runs)
    for place, (rank, name) in enumerate(zip(ranks, names, strict=True)):
        at_left = place < half
        y = below + _ROW * (place if at_left else k - 1 - place)
        x = start - 12 if at_left else end + 12
        shapes.append(Line(at(rank), line, at(rank), y - 4, "soft"))
        shapes.append(Line(at(rank), y - 4, x + (4 if at_left else -4), y - 4, "soft"))
        shapes.append(Circle(at(rank), line, 3.5, "ink", f"{encoders[order[place]]}: mean rank {rank:.2f}"))
        said = f"{name}  {rank:.2f}" if at_left else f"{rank:.2f}  {name}"
        full = encoders[order[place]]
        shapes.append(Text(x, y, said, anchor="end" if at_left else "start", title="" if name == full else full))
    described = (
        f"Mean ranks over {outcome.n_tasks} tasks, 1 is best; ranks that differ by {outcome.critical_difference:.2f} or more "
        f"differ at {outcome.level:g} (Nemenyi). Best: {encoders[order[0]]}, {ranks[0]:.2f}."
    )
    width = max(end + right, start + reach + 12)
    return Drawing(width, below + _ROW * (half - 1) + 16, "Critical-difference diagram", described, tuple(shapes))

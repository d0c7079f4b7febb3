"""The critical-difference diagram of Demšar 2006: mean ranks on a line, bars over encoders that do not differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from medsenteval.report.charts.drawing import Axis, Circle, Drawing, Line, Shape, Text, labels_of, text_width
from medsenteval.statistics import FriedmanOutcome

_ROW = 20.0
_PLOT = 420.0
#: A figure that is narrower has no room for names at both sides.
_NARROW = 480.0


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


def critical_difference_diagram(encoders: Sequence[str], outcome: FriedmanOutcome, width: float | None = None) -> Drawing:
    """Draw mean ranks, best at the left; a bar joins encoders whose ranks differ by less than Nemenyi's critical difference."""
    order = sorted(range(len(encoders)), key=lambda i: float(outcome.mean_ranks[i]))
    ranks = [float(outcome.mean_ranks[i]) for i in order]
    names = [encoders[i] for i in order]
    described = (
        f"Mean ranks over {outcome.n_tasks} tasks, 1 is best; ranks that differ by {outcome.critical_difference:.2f} or more "
        f"differ at {outcome.level:g} (Nemenyi). Best: {names[0]}, {ranks[0]:.2f}."
    )
    # Where names at both sides leave too little between them, encoders stand one below the other.
    drawn = None if width is not None and width < _NARROW else _with_names_at_both_sides(names, ranks, outcome, width)
    if drawn is None or (width is not None and drawn[0] > width):
        drawn = _one_below_the_other(names, ranks, outcome, width or _NARROW)
    return Drawing(drawn[0], drawn[1], "Critical-difference diagram", described, drawn[2])


def _with_names_at_both_sides(
    names: Sequence[str], ranks: Sequence[float], outcome: FriedmanOutcome, width: float | None
) -> tuple[float, float, tuple[Shape, ...]]:
    k = len(names)
    half = (k + 1) // 2
    labels = labels_of(names, 200)
    room = text_width("  00.00")
    left = 30 + room + max(label.width for label in labels[:half])
    right = 30 + room + max((label.width for label in labels[half:]), default=0)
    # The critical difference can be longer than the axis, and lies within the width too.
    reach = outcome.critical_difference / (k - 1)
    plot = _PLOT if width is None else min(width - left - right, (width - left - 12) / max(reach, 1e-9))
    start, end = left, left + plot
    at = Axis(1, k, start, end, (), 0).at
    runs = cliques(ranks, outcome.critical_difference)
    line = 58.0
    shapes = _critical_difference(start, reach * plot, outcome.critical_difference)
    shapes.append(Line(start, line, end, line, "ink", 1.5))
    shapes += _rank_ticks(k, at, line, line - 5)
    for level, (first, last) in enumerate(runs):
        y = line + 9 + 6 * level
        shapes.append(Line(at(ranks[first]) - 4, y, at(ranks[last]) + 4, y, "accent", 3.5))
    below = line + 24 + 6 * len(runs)
    row = max(_ROW, *(label.height + 4 for label in labels))
    for place, (rank, label) in enumerate(zip(ranks, labels, strict=True)):
        at_left = place < half
        y = below + row * (place if at_left else k - 1 - place)
        x = start - 12 if at_left else end + 12
        anchor = "end" if at_left else "start"
        shapes.append(Line(at(rank), line, at(rank), y - 4, "soft"))
        shapes.append(Line(at(rank), y - 4, x + (4 if at_left else -4), y - 4, "soft"))
        shapes.append(Circle(at(rank), line, 3.5, "ink", f"{label.name}: mean rank {rank:.2f}"))
        shapes.append(Text(x, y, f"{rank:.2f}", anchor=anchor))
        shapes += label.beside(x - room if at_left else x + room, y - 4, anchor=anchor)
    bottom = below + row * (half - 1) + 16
    shapes.append(_axis_title(outcome, (start + end) / 2, bottom + 14))
    return max(end + right, start + reach * plot + 12), bottom + 26, tuple(shapes)


def _one_below_the_other(
    names: Sequence[str], ranks: Sequence[float], outcome: FriedmanOutcome, width: float
) -> tuple[float, float, tuple[Shape, ...]]:
    """Draw a row for each encoder; bars at the right join the rows of encoders that do not differ."""
    k = len(names)
    runs = cliques(ranks, outcome.critical_difference)
    labels = labels_of(names, 0.42 * width)
    start = 16 + max(label.width for label in labels)
    end = max(start + 40, width - 46 - 7 * len(runs))
    at = Axis(1, k, start, end, (), 0).at
    line = 52.0
    reach = outcome.critical_difference / (k - 1) * (end - start)
    shapes = _critical_difference(start, reach if start + reach < width - 2 else 0.0, outcome.critical_difference, width)
    heights = [max(_ROW, label.height + 4) for label in labels]
    tops = [line + 6 + sum(heights[:place]) for place in range(k + 1)]
    shapes += _rank_ticks(k, at, tops[-1], line, narrow=True)
    for label, rank, top, height in zip(labels, ranks, tops, heights, strict=False):
        middle = top + height / 2
        shapes += label.beside(start - 8, middle)
        shapes.append(Circle(at(rank), middle, 4, "ink", f"{label.name}: mean rank {rank:.2f}"))
        shapes.append(Text(end + 36, middle + 4, f"{rank:.2f}", anchor="end", size=11))
    for level, (first, last) in enumerate(runs):
        x = end + 44 + 7 * level
        shapes.append(Line(x, tops[first] + 3, x, tops[last + 1] - 3, "accent", 3.5))
    shapes.append(_axis_title(outcome, width / 2, tops[-1] + 16))
    return width, tops[-1] + 28, tuple(shapes)


def _critical_difference(start: float, reach: float, value: float, width: float = math.inf) -> list[Shape]:
    """Draw the length of the critical difference where there is room for it, and say it."""
    said = f"critical difference {value:.2f}"
    shapes: list[Shape] = [Text(min(start, width - text_width(said, 11)), 12, said, fill="second", size=11)]
    if reach:
        shapes.append(Line(start, 22, start + reach, 22, "second", 2))
        shapes += [Line(x, 18, x, 26, "second", 1.5) for x in (start, start + reach)]
    return shapes


def _rank_ticks(k: int, at: Callable[[float], float], bottom: float, top: float, narrow: bool = False) -> list[Shape]:
    """Draw a mark for each rank; the grid of a narrow figure is light and has few numbers."""
    every = 1 if k <= (7 if narrow else 12) else 2 if k <= (12 if narrow else 24) else 5
    shapes: list[Shape] = []
    for tick in range(1, k + 1):
        numbered = (tick - 1) % every == 0
        if numbered or not narrow:
            shapes.append(Line(at(tick), top, at(tick), bottom, "grid" if narrow else "ink"))
        if numbered:
            shapes.append(Text(at(tick), top - 4, str(tick), anchor="middle", fill="muted", size=11))
    return shapes


def _axis_title(outcome: FriedmanOutcome, x: float, y: float) -> Text:
    return Text(x, y, f"mean rank over {outcome.n_tasks} tasks, 1 is best", anchor="middle", fill="muted", size=11)

"""Names at the left, their values beside them: intervals of a task, mean ranks, analogies by relation, the domain gap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from medsenteval.comparison.domain_gap import DomainGap
from medsenteval.contracts import Metric
from medsenteval.report.charts.drawing import (
    PAGE_WIDTH,
    Axis,
    Circle,
    Drawing,
    Line,
    Rectangle,
    Shape,
    Text,
    axis_over,
    axis_title,
    labels_of,
    text_width,
)
from medsenteval.report.score_texts import interval, number
from medsenteval.statistics import FriedmanOutcome

_ROW: Final = 20.0
_SMALLEST_PLOT: Final = 110.0
#: Names take no more of a figure's width than this share.
_NAMES: Final = 0.42


class Row(NamedTuple):
    """Where the values of a name are drawn."""

    top: float
    middle: float
    bottom: float


def row_panels(
    names: Iterable[str],
    titles: Sequence[str],
    below: str,
    axis_between: Callable[[float, float], Axis],
    draw: Callable[[int, Axis, Sequence[Row]], Iterable[Shape]],
    width: float,
    *,
    top: float,
    right: float = 46.0,
) -> tuple[float, tuple[Shape, ...]]:
    """Return the height of panels that begin at ``top``, as many side by side as the width holds, and their shapes.

    All have the same rows and axis; ``below`` says what the axis shows. ``draw`` returns what stands in the panel of a number,
    behind which there is ``right`` room.
    """
    labels = labels_of(names, _NAMES * width)
    # Whole pixels, so that equal values are equally long in all panels.
    left = 16 + math.ceil(max(label.width for label in labels))
    across = max(1, min(len(titles), int((width - left) / (_SMALLEST_PLOT + right))))
    plot = int((width - left) / across - right)
    heads = labels_of(titles, plot + right - 20)
    head = max(label.height for label in heads) + 4 if any(titles) else 0.0
    heights = [max(_ROW, label.height + 5) for label in labels]
    panel_height = head + sum(heights) + 34
    shapes: list[Shape] = []
    for panel, title in enumerate(heads):
        down, column = divmod(panel, across)
        start, upper = left + (plot + right) * column, top + panel_height * down
        shapes += title.beside(start, upper + head - 4 - title.height / 2, "start", bold=True)
        ends = [upper + head + sum(heights[:place]) for place in range(len(heights) + 1)]
        rows = [Row(one, (one + other) / 2, other) for one, other in pairwise(ends)]
        if column == 0:
            for label, row in zip(labels, rows, strict=True):
                shapes += label.beside(left - 8, row.middle)
        axis = axis_between(start, start + plot)
        for tick in axis.ticks:
            shapes.append(Line(axis.at(tick), ends[0], axis.at(tick), ends[-1], "soft" if tick == 0 else "grid"))
            shapes.append(Text(axis.at(tick), ends[-1] + 15, axis.label(tick), anchor="middle", fill="muted", size=11))
        shapes += draw(panel, axis, rows)
    bottom = top + panel_height * -(-len(titles) // across) - 10
    (said,) = labels_of([below], width - 8, 11)
    # In the middle of the panels, or where the whole of it can be read.
    middle = max(said.width / 2, min((left + width - right) / 2, width - said.width / 2))
    shapes += said.beside(middle, bottom + said.height / 2, "middle", "muted")
    return bottom + said.height + 8, tuple(shapes)


def _axis_of(values: Sequence[float]) -> Callable[[float, float], Axis]:
    return lambda start, end: axis_over(values, start, end, about=5 if end - start > 200 else 3)


def interval_plot(
    title: str, metric: str, unit: str, baseline: float, scores: Mapping[str, Metric], width: float = PAGE_WIDTH
) -> Drawing:
    """Draw a row for each encoder in the order given: a dot for the score, a line for its interval, dashes for a baseline."""
    ends = [end for score in scores.values() for end in (score.low, score.value, score.high)]
    answer = f"constant answer {number(baseline, unit)}"

    def draw(_: int, axis: Axis, rows: Sequence[Row]) -> Iterator[Shape]:
        at = axis.at(baseline)
        yield Line(at, rows[0].top - 6, at, rows[-1].bottom, "second", 1.5, dashed=True)
        yield Text(max(0.0, min(at + 5, width - text_width(answer, 11))), rows[0].top - 8, answer, fill="second", size=11)
        for row, (encoder, score) in zip(rows, scores.items(), strict=True):
            low, high = axis.at(score.low), axis.at(score.high)
            said = f"{encoder}: {number(score.value, unit)} {interval(score.low, score.high, unit)}"
            yield Line(low, row.middle, high, row.middle, "accent", 2)
            yield Line(low, row.middle - 4, low, row.middle + 4, "accent", 1.5)
            yield Line(high, row.middle - 4, high, row.middle + 4, "accent", 1.5)
            yield Circle(axis.at(score.value), row.middle, 4.5, "accent", said)
            yield Text(axis.end + 14, row.middle + 4, number(score.value, unit), size=11)

    below = axis_title(title, metric, unit)
    height, shapes = row_panels(scores, [""], below, _axis_of([*ends, baseline]), draw, width, top=26, right=64)
    best = max(scores.items(), key=lambda pair: pair[1].value)
    described = (
        f"{metric} of {len(scores)} encoders with 95 % intervals; the constant answer scores {number(baseline, unit)}, "
        f"the highest is {best[0]} with {number(best[1].value, unit)}."
    )
    return Drawing(width, height, f"{title}: {metric} with intervals", described, shapes)


def analogy_bars(task: str, metric: str, series: Mapping[str, Mapping[str, float]], width: float = PAGE_WIDTH) -> Drawing:
    """Draw one metric of each relation (0 to 1), a panel for each encoder or the like."""
    relations = list(dict.fromkeys(name for values in series.values() for name in values))
    encoders = list(series)

    def axis_between(start: float, end: float) -> Axis:
        return Axis(0, 1, start, end, (0.0, 0.5, 1.0), 1)

    def draw(panel: int, axis: Axis, rows: Sequence[Row]) -> Iterator[Shape]:
        for row, relation in zip(rows, relations, strict=True):
            value, where = series[encoders[panel]].get(relation), f"{encoders[panel]}, {relation}"
            if value is None:
                said = f"{where}: no question asked"
                yield Text(axis.start + 4, row.middle + 4, "–", fill="muted", size=11, title=said)
                continue
            length = value * (axis.end - axis.start)
            said = f"{where}: {value:.3f}"
            yield Rectangle(axis.start, row.top + 3, max(length, 0.5), row.bottom - row.top - 6, "accent", said)
            yield Text(axis.start + length + 5, row.middle + 4, f"{value:.2f}", fill="muted", size=10)

    below = axis_title(task, metric, "fraction")
    height, shapes = row_panels(relations, encoders, below, axis_between, draw, width, top=4)
    described = f"{metric} of {len(relations)} relations in {len(series)} panels. The table holds the numbers."
    return Drawing(width, height, f"{task}: {metric} by relation", described, shapes)


def gap_panels(gaps: Sequence[DomainGap], width: float = PAGE_WIDTH) -> Drawing:
    """Draw shares of the way to a perfect score, a panel for each encoder: biomedical tasks and means of their counterparts."""
    encoders = list(dict.fromkeys(gap.encoder for gap in gaps))
    tasks = {gap.biomedical.task: f"{gap.biomedical.task} {gap.biomedical.metric}" for gap in gaps}
    ends = [end for gap in gaps for end in (gap.biomedical.low, gap.biomedical.high, gap.general_value)]

    def draw(panel: int, axis: Axis, rows: Sequence[Row]) -> Iterator[Shape]:
        place = dict(zip(tasks, rows, strict=True))
        for gap in gaps:
            if gap.encoder == encoders[panel]:
                y = place[gap.biomedical.task].middle
                own, general = axis.at(gap.biomedical.value), axis.at(gap.general_value)
                said = f"{gap.encoder}, {gap.biomedical.task}: gap {gap.gap:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
                yield Line(general, y, own, y, "soft", 3)
                yield Line(axis.at(gap.biomedical.low), y, axis.at(gap.biomedical.high), y, "accent", 1.5)
                yield Rectangle(general - 3.5, y - 3.5, 7, 7, "second", said)
                yield Circle(own, y, 4, "accent", said)

    legend = (
        Circle(8, 12, 4, "accent"),
        Text(18, 16, "biomedical task, with its interval", fill="muted", size=11),
        Rectangle(4.5, 24.5, 7, 7, "second"),
        Text(18, 32, "mean of its general counterparts", fill="muted", size=11),
    )
    below = "0: constant answer, 1: perfect"
    height, shapes = row_panels(tasks.values(), encoders, below, _axis_of([*ends, 0.0]), draw, width, top=44)
    described = (
        f"For {len(encoders)} encoders, the share of the way from the best constant answer to a perfect score on "
        f"{len(tasks)} biomedical tasks and on their general counterparts. The table below holds the numbers."
    )
    return Drawing(width, height, "Domain gap", described, legend + shapes)


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
    room = width - (17 + _NAMES * width) - 40 - 46
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

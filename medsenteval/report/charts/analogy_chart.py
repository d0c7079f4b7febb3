"""Analogy scores by relation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medsenteval.report.charts.drawing import PAGE_WIDTH, Axis, Drawing, Rectangle, Shape, Text, axis_title
from medsenteval.report.charts.row_chart import Row, row_panels


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

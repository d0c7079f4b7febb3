"""The scores of encoders on one task, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medsenteval.contracts import Metric
from medsenteval.report.charts.drawing import PAGE_WIDTH, Axis, Circle, Drawing, Line, Shape, Text, axis_title, text_width
from medsenteval.report.charts.row_chart import Row, axis_of, row_panels
from medsenteval.report.score_texts import interval, number


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
    height, shapes = row_panels(scores, [""], below, axis_of([*ends, baseline]), draw, width, top=26, right=64)
    best = max(scores.items(), key=lambda pair: pair[1].value)
    described = (
        f"{metric} of {len(scores)} encoders with 95 % intervals; the constant answer scores {number(baseline, unit)}, "
        f"the highest is {best[0]} with {number(best[1].value, unit)}."
    )
    return Drawing(width, height, f"{title}: {metric} with intervals", described, shapes)

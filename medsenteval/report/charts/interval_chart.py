"""One task: the score of every encoder with its interval, beside what a constant answer scores."""

from __future__ import annotations

from collections.abc import Mapping

from medsenteval.contracts import Metric
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, axis_over, labels_of, text_width
from medsenteval.report.score_texts import interval, number

_ROW = 22.0
_PLOT = 420.0
#: Room at the right for a score.
_SCORE = 64.0


def interval_plot(
    title: str, metric: str, unit: str, baseline: float, scores: Mapping[str, Metric], width: float | None = None
) -> Drawing:
    """Draw a row for each encoder in the order given: a dot for the score, a line for its interval, dashes for a baseline."""
    names = labels_of(scores, 220 if width is None else 0.42 * width)
    left = 12 + max(name.width for name in names)
    plot = _PLOT if width is None else width - left - 8 - _SCORE
    ends = [value for score in scores.values() for value in (score.value, score.low, score.high)]
    axis = axis_over([*ends, baseline], left + 8, left + 8 + plot, about=5 if plot > 200 else 3)
    top = y = 26.0
    heights = [max(_ROW, name.height + 6) for name in names]
    bottom = top + sum(heights)
    shapes: list[Shape] = []
    for tick in axis.ticks:
        shapes.append(Line(axis.at(tick), top, axis.at(tick), bottom, "grid"))
        shapes.append(Text(axis.at(tick), bottom + 16, axis.label(tick), anchor="middle", fill="muted", size=11))
    shapes.append(Line(axis.at(baseline), top - 6, axis.at(baseline), bottom, "second", 1.5, dashed=True))
    label = f"constant answer {number(baseline, unit)}"
    label_x = max(0.0, min(axis.at(baseline) + 5, axis.end + _SCORE - text_width(label, 11)))
    shapes.append(Text(label_x, top - 8, label, fill="second", size=11))
    for name, height, (encoder, score) in zip(names, heights, scores.items(), strict=True):
        middle = y + height / 2
        said = f"{encoder}: {number(score.value, unit)} {interval(score.low, score.high, unit)}"
        shapes += name.beside(left, middle)
        shapes.append(Line(axis.at(score.low), middle, axis.at(score.high), middle, "accent", 2))
        shapes += [Line(axis.at(end), middle - 4, axis.at(end), middle + 4, "accent", 1.5) for end in (score.low, score.high)]
        shapes.append(Circle(axis.at(score.value), middle, 4.5, "accent", said))
        shapes.append(Text(axis.end + 14, middle + 4, number(score.value, unit), size=11))
        y += height
    said = axis_title(title, metric, unit)
    # In the middle of the axis, or where the whole of it can be read.
    half, room = text_width(said, 11) / 2, axis.end + _SCORE
    middle = max(half, min((axis.start + axis.end) / 2, room - half))
    shapes.append(Text(middle, bottom + 34, said, anchor="middle", fill="muted", size=11))
    best = max(scores.items(), key=lambda pair: pair[1].value)
    described = (
        f"{metric} of {len(scores)} encoders with 95 % intervals; the constant answer scores {number(baseline, unit)}, "
        f"the highest is {best[0]} with {number(best[1].value, unit)}."
    )
    return Drawing(axis.end + _SCORE, bottom + 44, f"{title}: {metric} with intervals", described, tuple(shapes))


def axis_title(task: str, metric: str, unit: str) -> str:
    """Name what an axis shows: the task, its metric, and percent where it counts in these."""
    return f"{task}, {metric}" + (" (%)" if unit == "percent" else "")

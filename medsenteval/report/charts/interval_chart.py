"""One task: the score of every encoder with its interval, beside what a constant answer scores."""

from __future__ import annotations

from collections.abc import Mapping

from medsenteval.contracts import Metric
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, shorten, text_width
from medsenteval.report.charts.scale import axis_over

__all__ = ["interval_plot"]

_ROW = 22.0
_PLOT = 420.0


def interval_plot(title: str, metric: str, unit: str, baseline: float, scores: Mapping[str, Metric]) -> Drawing:
    """Draw a row for each encoder in the order given: a dot for the score, a line for its interval, dashes for the baseline."""
    names = {encoder: shorten(encoder, 220) for encoder in scores}
    left = 12 + max(map(text_width, names.values()))
    ends = [value for score in scores.values() for value in (score.value, score.low, score.high)]
    axis = axis_over([*ends, baseline], left + 8, left + 8 + _PLOT)
    top, bottom = 26.0, 26.0 + _ROW * len(scores)
    shapes: list[Shape] = []
    for tick in axis.ticks:
        shapes.append(Line(axis.at(tick), top, axis.at(tick), bottom, "grid"))
        shapes.append(Text(axis.at(tick), bottom + 16, axis.label(tick), anchor="middle", fill="muted", size=11))
    shapes.append(Line(axis.at(baseline), top - 6, axis.at(baseline), bottom, "second", 1.5, dashed=True))
    right = axis.at(baseline) > axis.end - 60
    label_x = axis.at(baseline) + (-5 if right else 5)
    label = f"constant answer {number(baseline, unit)}"
    shapes.append(Text(label_x, top - 8, label, anchor="end" if right else "start", fill="second", size=11))
    for row, (encoder, score) in enumerate(scores.items()):
        y = top + _ROW * (row + 0.5)
        shown = names[encoder]
        said = f"{encoder}: {number(score.value, unit)} [{number(score.low, unit)}, {number(score.high, unit)}]"
        shapes.append(Text(left, y + 4, shown, anchor="end", title="" if shown == encoder else encoder))
        shapes.append(Line(axis.at(score.low), y, axis.at(score.high), y, "accent", 2))
        shapes += [Line(axis.at(end), y - 4, axis.at(end), y + 4, "accent", 1.5) for end in (score.low, score.high)]
        shapes.append(Circle(axis.at(score.value), y, 4.5, "accent", said))
        shapes.append(Text(axis.end + 14, y + 4, number(score.value, unit), size=11))
    shapes.append(Text((axis.start + axis.end) / 2, bottom + 34, metric, anchor="middle", fill="muted", size=11))
    best = max(scores.items(), key=lambda pair: pair[1].value)
    described = (
        f"{metric} of {len(scores)} encoders with 95 % intervals; the constant answer scores {number(baseline, unit)}, "
        f"the highest is {best[0]} with {number(best[1].value, unit)}."
    )
    return Drawing(axis.end + 64, bottom + 44, f"{title}: {metric} with intervals", described, tuple(shapes))


def number(value: float, unit: str) -> str:
    """Return a score as tables print it."""
    return f"{value:.2f}" if unit == "percent" else f"{value:.3f}"

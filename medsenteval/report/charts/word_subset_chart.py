"""Word similarity by subset of words: a line for each encoder over the subsets."""

from __future__ import annotations

import math

from medsenteval.comparison.word_subsets import Subsets
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, shorten, text_width
from medsenteval.report.charts.scale import axis_over

__all__ = ["subset_curves"]

_STEP = 130.0
_HEIGHT = 240.0
_LINES = 8


def subset_curves(subsets: Subsets, values_are: str) -> Drawing:
    """Draw one line an encoder over the subsets, with intervals; a subset with too few pairs has no point."""
    encoders = list(dict.fromkeys(score.encoder for score in subsets.scores))
    ends = [v for score in subsets.scores for v in (score.value, score.low, score.high)]
    left, top = 56.0, 30.0
    axis = axis_over([*ends, 0.0], top + _HEIGHT, top)
    right = left + _STEP * subsets.n_subsets
    shapes: list[Shape] = []
    for tick in axis.ticks:
        shapes.append(Line(left, axis.at(tick), right, axis.at(tick), "soft" if tick == 0 else "grid"))
        shapes.append(Text(left - 8, axis.at(tick) + 4, axis.label(tick), anchor="end", fill="muted", size=11))
    for subset in range(subsets.n_subsets):
        x = left + _STEP * (subset + 0.5)
        sizes = sorted({score.n for score in subsets.scores if score.subset == subset})
        n = f"n = {sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
        shapes.append(Text(x, top + _HEIGHT + 18, subsets.label(subset), anchor="middle", size=11))
        shapes.append(Text(x, top + _HEIGHT + 33, n, anchor="middle", fill="muted", size=11))
    shapes.append(Text((left + right) / 2, top + _HEIGHT + 52, values_are, anchor="middle", fill="muted", size=11))
    names = [shorten(encoder, 220) for encoder in encoders]
    for number, encoder in enumerate(encoders):
        role = f"line{number % _LINES}"
        shift = (number - (len(encoders) - 1) / 2) * min(7.0, 60 / len(encoders))
        before: tuple[float, float] | None = None
        for score in (each for each in subsets.scores if each.encoder == encoder):
            if math.isnan(score.value):
                before = None
                continue
            x, y = left + _STEP * (score.subset + 0.5) + shift, axis.at(score.value)
            if before is not None:
                shapes.append(Line(*before, x, y, role, 1.5, dashed=number >= _LINES))
            shapes.append(Line(x, axis.at(score.low), x, axis.at(score.high), role))
            said = f"{encoder}, {subsets.label(score.subset)}: {score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
            shapes.append(Circle(x, y, 4, role, said, hollow=number >= _LINES))
            before = x, y
        y = top + 8 + 18 * number
        shapes.append(Circle(right + 20, y - 4, 4, role, hollow=number >= _LINES))
        shapes.append(Text(right + 30, y, names[number], title="" if names[number] == encoder else encoder))
    described = (
        f"{subsets.metric} of {len(encoders)} encoders on {subsets.n_subsets} subsets of the pairs of {subsets.task} by "
        f"{values_are}. The table below holds the numbers."
    )
    width = right + 44 + max(map(text_width, names))
    height = max(top + _HEIGHT + 64, top + 18 * len(encoders) + 20)
    return Drawing(width, height, f"{subsets.task} by {values_are}", described, tuple(shapes))

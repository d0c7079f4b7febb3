"""Word similarity by subset of words: a line for each encoder over the subsets."""

from __future__ import annotations

import math
from dataclasses import replace

from medsenteval.comparison.word_subsets import Subsets
from medsenteval.report.charts.drawing import Circle, Drawing, Line, Shape, Text, axis_over, labels_of, text_width
from medsenteval.report.charts.interval_chart import axis_title

_STEP = 130.0
_HEIGHT = 240.0
_LINES = 8


def subset_curves(subsets: Subsets, values_are: str, width: float | None = None) -> Drawing:
    """Draw one line an encoder over the subsets, with intervals; a subset with too few pairs has no point.

    In a figure of a given ``width`` the names of encoders stand below the curves.
    """
    encoders = list(dict.fromkeys(score.encoder for score in subsets.scores))
    ends = [v for score in subsets.scores for v in (score.value, score.low, score.high)]
    left, top = 62.0, 30.0
    step = _STEP if width is None else (width - left - 4) / subsets.n_subsets
    axis = axis_over([*ends, 0.0], top + _HEIGHT, top)
    right = left + step * subsets.n_subsets
    shapes: list[Shape] = []
    for tick in axis.ticks:
        shapes.append(Line(left, axis.at(tick), right, axis.at(tick), "soft" if tick == 0 else "grid"))
        shapes.append(Text(left - 8, axis.at(tick) + 4, axis.label(tick), anchor="end", fill="muted", size=11))
    foot = 0.0
    for subset in range(subsets.n_subsets):
        x = left + step * (subset + 0.5)
        sizes = sorted({score.n for score in subsets.scores if score.subset == subset})
        n = f"n = {sizes[0]:,}" + (f" to {sizes[-1]:,}" if len(sizes) > 1 else "")
        (label,), (counted,) = labels_of([subsets.label(subset)], step - 4, 11), labels_of([n], step - 4, 11)
        shapes += label.beside(x, top + _HEIGHT + 8 + label.height / 2, anchor="middle")
        lines = counted.beside(x, top + _HEIGHT + 8 + label.height + counted.height / 2, anchor="middle")
        shapes += [replace(line, fill="muted") for line in lines]
        foot = max(foot, 8 + label.height + counted.height)
    shapes.append(Text((left + right) / 2, top + _HEIGHT + foot + 15, values_are, anchor="middle", fill="muted", size=11))
    said = axis_title(subsets.task, subsets.metric, "fraction")
    turned = top + _HEIGHT / 2 + min(text_width(said, 11), _HEIGHT) / 2
    shapes.append(Text(14, turned, said, fill="muted", size=11, angle=-90))
    names = labels_of(encoders, 220 if width is None else width - 28)
    # Names at the right, or below.
    x_names, y_names = (right + 20, top + 4) if width is None else (14.0, top + _HEIGHT + foot + 36)
    for number, encoder in enumerate(encoders):
        role = f"line{number % _LINES}"
        shift = (number - (len(encoders) - 1) / 2) * min(7.0, 0.46 * step / len(encoders))
        before: tuple[float, float] | None = None
        for score in (each for each in subsets.scores if each.encoder == encoder):
            if math.isnan(score.value):
                before = None
                continue
            x, y = left + step * (score.subset + 0.5) + shift, axis.at(score.value)
            if before is not None:
                shapes.append(Line(*before, x, y, role, 1.5, dashed=number >= _LINES))
            shapes.append(Line(x, axis.at(score.low), x, axis.at(score.high), role))
            said = f"{encoder}, {subsets.label(score.subset)}: {score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
            shapes.append(Circle(x, y, 4, role, said, hollow=number >= _LINES))
            before = x, y
        shapes.append(Circle(x_names, y_names, 4, role, hollow=number >= _LINES))
        name = names[number]
        shapes += name.beside(x_names + 10, y_names, anchor="start")
        following = names[min(number + 1, len(names) - 1)]
        y_names += (name.height + following.height) / 2 + 4
    described = (
        f"{subsets.metric} of {len(encoders)} encoders on {subsets.n_subsets} subsets of the pairs of {subsets.task} by "
        f"{values_are}. The table below holds the numbers."
    )
    whole = right + 44 + max(name.width for name in names) if width is None else width
    height = max(top + _HEIGHT + foot + 28, y_names + 4)
    return Drawing(whole, height, f"{subsets.task} by {values_are}", described, tuple(shapes))

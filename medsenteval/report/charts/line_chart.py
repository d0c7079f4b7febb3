"""Lines of scores with intervals, a panel for each task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from medsenteval.report.charts.drawing import (
    PAGE_WIDTH,
    Axis,
    Circle,
    Drawing,
    Line,
    Shape,
    Text,
    axis_over,
    labels_of,
    shorten,
)

_NARROWEST: Final = 300.0
_HEIGHT: Final = 200.0
_LEFT: Final = 62.0
_RIGHT: Final = 12.0
#: What a number needs below the axis.
_TICK: Final = 44.0
#: Lines beyond these are dashed, and their dots hollow.
_COLOURS: Final = 8


@dataclass(frozen=True)
class Point:
    """A score with its interval; ``said`` is what a pointer resting on it shows. One that is NaN interrupts its line."""

    x: float
    y: float
    low: float
    high: float
    said: str
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """What is drawn above each other: what the axes show, marks on the lower one, a line for each name, perhaps a baseline."""

    title: str
    below: str
    beside: str
    ticks: Mapping[float, str]
    lines: Mapping[str, Sequence[Point]]
    baseline: float = math.nan


def line_panels(
    panels: Sequence[Panel], title: str, described: str, width: float = PAGE_WIDTH, note: str = ""
) -> Drawing:  # fmt: skip
    """Draw as many panels side by side as fit; names and a ``note`` on dots stand above."""
    across = max(1, min(len(panels), int(width / _NARROWEST)))
    plot = width / across - _LEFT - _RIGHT
    names = dict.fromkeys(name for panel in panels for name in panel.lines)
    roles = {name: number for number, name in enumerate(names)}
    shapes: list[Shape] = []
    x, top, height = 14.0, 4.0, 0.0
    for number, label in enumerate(labels_of([*roles, *([note] if note else [])], width - 28)):
        if x > 14 and x + 10 + label.width > width:
            x, top, height = 14.0, top + height + 4, 0.0
        height = max(height, label.height)
        if number < len(roles):
            shapes.append(Circle(x, top + label.height / 2, 4, f"line{number % _COLOURS}", hollow=number >= _COLOURS))
        shapes += label.beside(x + 10, top + label.height / 2, anchor="start")
        x += label.width + 34
    top += height + 8
    titles = labels_of((panel.title for panel in panels), plot)
    for start in range(0, len(panels), across):
        head = max(label.height for label in titles[start : start + across])
        bottoms = []
        for column, (panel, label) in enumerate(list(zip(panels, titles, strict=True))[start : start + across]):
            left = _LEFT + column * width / across
            shapes += label.beside(left, top + label.height / 2, "start", bold=True)
            drawn, bottom = _panel(panel, roles, left, top + head + 10, plot)
            shapes += drawn
            bottoms.append(bottom)
        top = max(bottoms) + 14
    return Drawing(width, top, title, described, tuple(shapes))


def _panel(panel: Panel, roles: Mapping[str, int], left: float, top: float, width: float) -> tuple[list[Shape], float]:
    """Return the shapes of a panel, and where it ends."""
    points = [point for line in panel.lines.values() for point in line]
    bottom = top + _HEIGHT
    down = axis_over(
        [panel.baseline, *(end for point in points for end in (point.y, point.low, point.high))], bottom, top, about=4
    )
    places = [*panel.ticks, *(point.x for point in points)]
    low, high = min(places), max(places)
    step = (high - low) / max(1, len(panel.ticks) - 1) or 1.0
    at = Axis(low - step / 2, high + step / 2, left, left + width, (), 0).at
    shapes: list[Shape] = []
    for tick in down.ticks:
        shapes.append(Line(left, down.at(tick), left + width, down.at(tick), "soft" if tick == 0 else "grid"))
        shapes.append(Text(left - 8, down.at(tick) + 4, down.label(tick), anchor="end", fill="muted", size=11))
    if math.isfinite(panel.baseline):
        shapes.append(Line(left, down.at(panel.baseline), left + width, down.at(panel.baseline), "second", 1.5, dashed=True))
    marked: list[float] = []
    for tick in panel.ticks:
        if not marked or at(tick) - at(marked[-1]) >= _TICK:
            marked.append(tick)
    room = min((at(other) - at(one) for one, other in pairwise(marked)), default=width) - 4
    names = labels_of((panel.ticks[tick] for tick in marked), room, 11)
    for tick, label in zip(marked, names, strict=True):
        shapes += label.beside(at(tick), bottom + 8 + label.height / 2, "middle", "muted")
    foot = bottom + 12 + max(label.height for label in names)
    shapes.append(Text(left + width / 2, foot + 11, shorten(panel.below, width, 11), anchor="middle", fill="muted", size=11))
    beside = shorten(panel.beside, _HEIGHT, 11)
    shapes.append(Text(left - 48, top + _HEIGHT / 2, beside, anchor="middle", fill="muted", size=11, angle=-90))
    for name, line in panel.lines.items():
        number = roles[name]
        role, later = f"line{number % _COLOURS}", number >= _COLOURS
        # Lines stand beside each other, so that their intervals can be told apart.
        shift = (number - (len(roles) - 1) / 2) * min(7.0, 0.46 * width / len(panel.ticks) / len(roles))
        for one, other in pairwise(line):
            if not math.isnan(one.y + other.y):
                ends = (at(one.x) + shift, down.at(one.y), at(other.x) + shift, down.at(other.y))
                shapes.append(Line(*ends, role, 1.5, dashed=later))
        for point in line:
            if not math.isnan(point.y):
                x = at(point.x) + shift
                shapes.append(Line(x, down.at(point.low), x, down.at(point.high), role))
                shapes.append(Circle(x, down.at(point.y), 4, role, point.said, hollow=later or point.hollow))
    return shapes, foot + 14

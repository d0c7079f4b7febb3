"""What a figure consists of: shapes at places in pixels, coloured by role, so that page and files share one geometry."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

#: The sequential map, from the constant answer to a perfect one.
_RAMP: Final = ("#f4f8fc", "#e1ecf6", "#c9ddef", "#a9cae5", "#82b2d8", "#5a96c6", "#3a79af", "#235e93", "#0f4373")
N_RAMP: Final = len(_RAMP)
#: Okabe and Ito's colours, which stay apart for colour-blind readers; the yellow is darkened to be seen on white.
_LINES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a7f00", "#444444")

#: Role -> its colour on paper; the page has the same roles as CSS variables, in a light and a dark set.
COLOURS: Final = {
    "ink": "#1b1f24", "muted": "#57606a", "grid": "#d5dae0", "paper": "#ffffff", "accent": "#0b5cad", "second": "#a8480b",
    "soft": "#b9c3cd", "worse": "#eceef1",
    **{f"ramp{step}": colour for step, colour in enumerate(_RAMP)},
    **{f"line{number}": colour for number, colour in enumerate(_LINES)},
}  # fmt: skip

#: Figures are as wide as a page of a journal, 6.9 inches, where nothing else is asked for; letters of 11 pixels are then larger
#: than 7 points in print.
PAGE_WIDTH: Final = 662.0

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Rectangle:
    """A filled box; ``title`` is what a pointer resting on it shows."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    title: str = ""


@dataclass(frozen=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str = "ink"
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True)
class Circle:
    """A dot; ``hollow`` ones are filled with the colour of the paper."""

    x: float
    y: float
    radius: float
    fill: str
    title: str = ""
    hollow: bool = False


@dataclass(frozen=True)
class Text:
    """Words whose anchor (start, middle or end) is at x and whose baseline is at y; ``angle`` turns them about that point."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    fill: str = "ink"
    size: float = 12.0
    bold: bool = False
    angle: float = 0.0
    title: str = ""


Shape = Rectangle | Line | Circle | Text


@dataclass(frozen=True)
class Drawing:
    """A finished figure: its size in pixels, what it is called, what it says in words, and its shapes in order of painting."""

    width: float
    height: float
    title: str
    description: str
    shapes: tuple[Shape, ...] = field(repr=False)


def clean(text: str) -> str:
    """Replace what no page or picture can hold: control characters and halves of surrogate pairs."""
    return _CONTROL.sub("\ufffd", text)


def text_width(text: str, size: float = 12.0) -> float:
    """Estimate the width of a text in a sans-serif face; a little too wide rather than too narrow."""
    total = 0.0
    for character in text:
        if unicodedata.combining(character):
            continue
        wide = unicodedata.east_asian_width(character) in "WF"
        total += 1.0 if wide else 0.3 if character in " .,:;'|!ijlI()[]/" else 0.9 if character in "mwMW@%" else 0.6
    return total * size


def shorten(text: str, width: float, size: float = 12.0) -> str:
    """Cut a text so that it is not wider than ``width``; an ellipsis shows that it was cut."""
    text = " ".join(clean(text).split())
    if text_width(text, size) <= width:
        return text
    kept = 0
    while text_width(text[: kept + 1] + "…", size) <= width:
        kept += 1
    return text[:kept].rstrip() + "…"


#: A name takes as many lines of a figure, at most.
_MOST_LINES: Final = 6
#: What a name can be broken after.
_BREAK_AFTER: Final = re.compile(r"(?<=[-_/ .,:@])")


class Label:
    """A name in full, on as many lines as it needs."""

    def __init__(self, name: str, lines: Sequence[str], size: float) -> None:
        self.name, self.lines, self.size = name, lines, size
        self.width = max(text_width(line, size) for line in lines)
        self.height = 1.2 * size * len(lines)

    def beside(self, x: float, y: float, anchor: str = "end", fill: str = "ink", *, bold: bool = False) -> list[Text]:
        """Return the lines one below the other, their middle at height y."""
        top = y - self.height / 2 + 0.95 * self.size
        title = "" if "".join(self.lines).replace(" ", "") == self.name.replace(" ", "") else self.name
        places = (top + 1.2 * self.size * number for number in range(len(self.lines)))
        return [Text(x, at, line, anchor, fill, self.size, bold, 0, title) for at, line in zip(places, self.lines, strict=True)]


def labels_of(names: Iterable[str], width: float, size: float = 12.0) -> list[Label]:
    """Break names into lines that are not wider than ``width``; only one of more than six lines is cut."""
    return [Label(name, _broken(name, width, size), size) for name in names]


def _broken(name: str, width: float, size: float) -> tuple[str, ...]:
    lines = [""]
    for part in _BREAK_AFTER.split(" ".join(clean(name).split())):
        if text_width((lines[-1] + part).rstrip(), size) <= width:
            lines[-1] += part
            continue
        if lines[-1]:
            lines.append("")
        # A part that is wider than a line is broken wherever the line ends.
        for character in part:
            if lines[-1] and text_width(lines[-1] + character, size) > width:
                if len(lines) > _MOST_LINES:
                    break
                lines.append("")
            lines[-1] += character
    if len(lines) > _MOST_LINES:
        rest = "".join(lines[_MOST_LINES - 1 :])
        lines[_MOST_LINES - 1 :] = [shorten(rest, width, size)]
    return tuple(line.strip() for line in lines)


@dataclass(frozen=True)
class Axis:
    """A straight axis from ``low`` at pixel ``start`` to ``high`` at pixel ``end``, with marks at round numbers."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    digits: int

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def label(self, tick: float) -> str:
        return f"{tick:.{self.digits}f}".replace("-", "−")


def axis_over(values: Sequence[float], start: float, end: float, *, about: int = 5) -> Axis:
    """Return an axis that holds all finite values, its ends at round numbers, with about so many marks."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    digits = len(f"{step:.10f}".rstrip("0").partition(".")[2])
    return Axis(first * step, last * step, start, end, ticks, digits)


def axis_title(task: str, metric: str, unit: str) -> str:
    """Name what an axis shows: the task, its metric, and percent where it counts in these."""
    return f"{task}, {metric}" + (" (%)" if unit == "percent" else "")

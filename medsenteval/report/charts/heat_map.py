"""Encoders by tasks as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medsenteval.report.charts.drawing import N_RAMP, Drawing, Rectangle, Shape, Text, shorten, text_width

__all__ = ["HeatCell", "heat_map"]

_CELL_WIDTH = 46.0
_CELL_HEIGHT = 24.0
_TASKS_IN_A_BAND = 20


@dataclass(frozen=True)
class HeatCell:
    """A score as it is printed, and the share of the way to a perfect one that colours it; 0 is the constant answer."""

    text: str
    share: float


def heat_map(encoders: Sequence[str], tasks: Sequence[str], cells: Sequence[Sequence[HeatCell | None]]) -> Drawing:
    """Colour each score by its share of the way from the best constant answer to a perfect one; None is a missing score.

    Many tasks are laid out in several bands below each other, so that the figure fits a page.
    """
    bands = -(-len(tasks) // _TASKS_IN_A_BAND)
    # Bands of equal length look better than a full one and a rest.
    across = -(-len(tasks) // bands)
    names = [shorten(name, 220) for name in encoders]
    left = 12 + max(map(text_width, names))
    shapes: list[Shape] = []
    y = 0.0
    for start in range(0, len(tasks), across):
        columns = range(start, min(start + across, len(tasks)))
        titles = [shorten(tasks[j], 150) for j in columns]
        top = y + 26 + max(map(text_width, titles)) * 0.72
        for place, (j, title) in enumerate(zip(columns, titles, strict=True)):
            x = left + _CELL_WIDTH * (place + 0.5)
            shapes.append(Text(x, top - 8, title, angle=-45, title="" if title == tasks[j] else tasks[j]))
        for i, (name, encoder) in enumerate(zip(names, encoders, strict=True)):
            y = top + _CELL_HEIGHT * i
            shapes.append(Text(left - 8, y + 16, name, anchor="end", title="" if name == encoder else encoder))
            for place, j in enumerate(columns):
                cell = cells[i][j]
                if cell is not None:
                    shapes.extend(_cell(cell, left + _CELL_WIDTH * place, y, f"{encoder}, {tasks[j]}"))
        y = top + _CELL_HEIGHT * len(encoders)
    shapes.extend(_legend(left, y + 16))
    width = max(left + _CELL_WIDTH * across + 118, left + 330)
    described = (
        f"Scores of {len(encoders)} encoders on {len(tasks)} tasks, darker where more of the way from the best constant answer "
        "to a perfect score is covered. The table of scores holds the same numbers."
    )
    return Drawing(width, y + 62, "Scores of encoders by tasks", described, tuple(shapes))


def ramp_step(share: float) -> int:
    return min(N_RAMP - 1, int(max(0.0, share) * N_RAMP))


def _cell(cell: HeatCell, x: float, y: float, where: str) -> list[Shape]:
    worse = cell.share <= 0
    step = ramp_step(cell.share)
    fill = "worse" if worse else f"ramp{step}"
    said = "not above the constant answer" if worse else f"{cell.share:.0%} of the way"
    ink = "muted" if worse else "paper" if step >= 6 else "ink"
    return [
        Rectangle(x + 0.5, y + 0.5, _CELL_WIDTH - 1, _CELL_HEIGHT - 1, fill, f"{where}: {cell.text} ({said})"),
        Text(x + _CELL_WIDTH / 2, y + 16, cell.text, anchor="middle", fill=ink, size=11),
    ]


def _legend(x: float, y: float) -> list[Shape]:
    step = 22.0
    shapes: list[Shape] = [Rectangle(x + 0.5, y, step * 1.2, 10, "worse")]
    start = x + step * 1.6
    shapes += [Rectangle(start + step * i, y, step, 10, f"ramp{i}") for i in range(N_RAMP)]
    shapes.append(Text(x, y + 24, "≤ 0", fill="muted", size=11))
    shapes.append(Text(start, y + 24, "0: constant answer", fill="muted", size=11))
    shapes.append(Text(start + step * N_RAMP, y + 24, "1: perfect", anchor="end", fill="muted", size=11))
    return shapes

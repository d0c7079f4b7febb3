"""Encoders by tasks as a heat map."""

from __future__ import annotations

from collections.abc import Sequence

from medsenteval.report.charts.drawing import N_RAMP, Drawing, Rectangle, Shape, Text, labels_of, shorten, text_width

_CELL_WIDTH = 46.0
_NARROW_CELL_WIDTH = 38.0
_CELL_HEIGHT = 24.0
_TASKS_IN_A_BAND = 20
_LEGEND_WIDTH = 240.0


#: A score as it is printed, and the share of the way to a perfect one that colours it; 0 is the constant answer.
HeatCell = tuple[str, float]


def heat_map(
    encoders: Sequence[str], tasks: Sequence[str], cells: Sequence[Sequence[HeatCell | None]], width: float | None = None
) -> Drawing:
    """Colour each score by its share of the way from the best constant answer to a perfect one; None is a missing score."""
    names = labels_of(encoders, 220 if width is None else 0.42 * width)
    left = 12 + max(name.width for name in names)
    # Upright titles are narrow and need no room beside the last column.
    cell_width, angle, beside = (_CELL_WIDTH, -45.0, 118.0) if width is None else (_NARROW_CELL_WIDTH, -90.0, 0.0)
    most = _TASKS_IN_A_BAND if width is None else max(1, int((width - left) / cell_width))
    # Bands of equal length look better than a full one and a rest.
    across = -(-len(tasks) // -(-len(tasks) // most))
    heights = [max(_CELL_HEIGHT, name.height + 4) for name in names]
    shapes: list[Shape] = []
    y = 0.0
    for start in range(0, len(tasks), across):
        band = range(start, min(start + across, len(tasks)))
        titles = [shorten(tasks[j], 150 if width is None else 400) for j in band]
        y += 26 + max(map(text_width, titles)) * (0.72 if width is None else 1.0)
        for place, (j, title) in enumerate(zip(band, titles, strict=True)):
            x = left + cell_width * (place + 0.5) + (4 if width is not None else 0)
            shapes.append(Text(x, y - 8, title, angle=angle, title="" if title == tasks[j] else tasks[j]))
        for encoder, name, height, row in zip(encoders, names, heights, cells, strict=True):
            shapes += name.beside(left - 8, y + height / 2)
            for place, j in enumerate(band):
                if (cell := row[j]) is not None:
                    shapes += _cell(cell, left + cell_width * place, y, cell_width, height, f"{encoder}, {tasks[j]}")
            y += height
    whole = max(left + cell_width * across + beside, left + 330) if width is None else width
    shapes += _legend(left if width is None else max(2.0, min(left, width - _LEGEND_WIDTH)), y + 16)
    described = (
        f"Scores of {len(encoders)} encoders on {len(tasks)} tasks, darker where more of the way from the best constant answer "
        "to a perfect score is covered. The table of scores holds the same numbers."
    )
    return Drawing(whole, y + 62, "Scores of encoders by tasks", described, tuple(shapes))


def ramp_step(share: float) -> int:
    return min(N_RAMP - 1, int(max(0.0, share) * N_RAMP))


def _cell(cell: HeatCell, x: float, y: float, width: float, height: float, where: str) -> list[Shape]:
    text, share = cell
    step = ramp_step(share)
    fill, ink, said = f"ramp{step}", "paper" if step >= 6 else "ink", f"{share:.0%} of the way"
    if share <= 0:
        fill, ink, said = "worse", "muted", "not above the constant answer"
    return [
        Rectangle(x + 0.5, y + 0.5, width - 1, height - 1, fill, f"{where}: {text} ({said})"),
        Text(x + width / 2, y + height / 2 + 4, text, anchor="middle", fill=ink, size=11),
    ]


def _legend(x: float, y: float) -> list[Shape]:
    step = 22.0
    start = x + step * 1.6
    return [
        Rectangle(x + 0.5, y, step * 1.2, 10, "worse"),
        *(Rectangle(start + step * i, y, step, 10, f"ramp{i}") for i in range(N_RAMP)),
        Text(x, y + 24, "≤ 0", fill="muted", size=11),
        Text(start, y + 24, "0: constant answer", fill="muted", size=11),
        Text(start + step * N_RAMP, y + 24, "1: perfect", anchor="end", fill="muted", size=11),
    ]

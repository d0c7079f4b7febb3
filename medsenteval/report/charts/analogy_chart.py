"""Analogies: a bar for each relation, a panel for each encoder."""

from __future__ import annotations

from collections.abc import Mapping

from medsenteval.report.charts.drawing import Drawing, Line, Rectangle, Shape, Text, shorten, text_width

__all__ = ["analogy_bars"]

_ROW = 18.0
_PLOT = 130.0
_SPACE = 56.0


def analogy_bars(task: str, metric: str, series: Mapping[str, Mapping[str, float]]) -> Drawing:
    """Draw one metric of each relation (0 to 1) for several encoders side by side; relations in the order of the data."""
    relations = list(dict.fromkeys(name for values in series.values() for name in values))
    names = [shorten(name, 260, 11) for name in relations]
    left = 16 + max(text_width(name, 11) for name in names)
    top, bottom = 40.0, 40.0 + _ROW * len(relations)
    shapes: list[Shape] = []
    for row, (name, relation) in enumerate(zip(names, relations, strict=True)):
        y = top + _ROW * (row + 0.5)
        shapes.append(Text(left - 8, y + 4, name, anchor="end", size=11, title="" if name == relation else relation))
    for number, (encoder, values) in enumerate(series.items()):
        start = left + (_PLOT + _SPACE) * number
        title = shorten(encoder, _PLOT + _SPACE - 12)
        shapes.append(Text(start, top - 10, title, bold=True, title="" if title == encoder else encoder))
        for tick in (0.0, 0.5, 1.0):
            x = start + _PLOT * tick
            shapes.append(Line(x, top, x, bottom, "soft" if tick == 0 else "grid"))
            shapes.append(Text(x, bottom + 15, f"{tick:g}", anchor="middle", fill="muted", size=11))
        for row, relation in enumerate(relations):
            y = top + _ROW * row
            value = values.get(relation)
            said = f"{encoder}, {relation}: " + ("no question asked" if value is None else f"{value:.3f}")
            if value is None:
                shapes.append(Text(start + 4, y + 13, "–", fill="muted", size=11, title=said))
            else:
                shapes.append(Rectangle(start, y + 3, max(_PLOT * value, 0.5), _ROW - 6, "accent", said))
                shapes.append(Text(start + _PLOT * value + 5, y + 13, f"{value:.2f}", fill="muted", size=10))
    described = f"{metric} of {len(relations)} relations for {len(series)} encoders. The table below holds the numbers."
    width = left + (_PLOT + _SPACE) * len(series)
    return Drawing(width, bottom + 26, f"{task}: {metric} by relation", described, tuple(shapes))

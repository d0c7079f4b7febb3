"""Scores over bytes per vector, a line for each precision."""

from __future__ import annotations

import math
from collections.abc import Sequence

from medsenteval.comparison.frontier import Frontier
from medsenteval.report.charts.drawing import Drawing, axis_title
from medsenteval.report.charts.line_chart import Panel, Point, line_panels
from medsenteval.support.grouping import grouped


def frontier_panels(found: Sequence[Frontier]) -> Drawing:
    """Draw scores over the logarithm of bytes, a line for each precision, with intervals of losses below the full score."""
    panels = []
    for frontier in found:
        full = frontier.points[0].score
        points = []
        for point in frontier.points:
            said = (
                f"{point.dimension} dimensions, {point.precision}, {point.size:,} bytes: {point.score:.3f}, "
                f"loss {point.loss:+.3f} [{point.low:+.3f}, {point.high:+.3f}]"
            )
            place = Point(math.log2(point.size), point.score, full - point.high, full - point.low, said, not point.kept)
            points.append((point.precision, place))
        sizes = [place.x for _, place in points]
        powers = range(math.floor(min(sizes)), math.ceil(max(sizes)) + 1)
        measured = axis_title(frontier.task, frontier.metric, frontier.unit)
        ticks = {float(power): f"{2**power:,}" for power in powers}
        panels.append(Panel(f"{frontier.task}, {frontier.encoder}", "bytes per vector", measured, ticks, grouped(points)))
    described = (
        f"Scores of {len(found)} pairs of encoder and task over the bytes of a vector, for fewer dimensions in float32, int8 "
        "and one bit, with intervals of the loss against all dimensions in float32. The table holds the numbers."
    )
    return line_panels(panels, "Compression frontier", described, note="filled: no smaller vectors score as well")

"""Biomedical tasks beside the means of their general counterparts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medsenteval.comparison.domain_gap import DomainGap
from medsenteval.report.charts.drawing import PAGE_WIDTH, Axis, Circle, Drawing, Line, Rectangle, Shape, Text
from medsenteval.report.charts.row_chart import Row, axis_of, row_panels


def gap_panels(gaps: Sequence[DomainGap], width: float = PAGE_WIDTH) -> Drawing:
    """Draw shares of the way to a perfect score, a panel for each encoder: biomedical tasks and means of their counterparts."""
    encoders = list(dict.fromkeys(gap.encoder for gap in gaps))
    tasks = {gap.biomedical.task: f"{gap.biomedical.task} {gap.biomedical.metric}" for gap in gaps}
    ends = [end for gap in gaps for end in (gap.biomedical.low, gap.biomedical.high, gap.general_value)]

    def draw(panel: int, axis: Axis, rows: Sequence[Row]) -> Iterator[Shape]:
        place = dict(zip(tasks, rows, strict=True))
        for gap in gaps:
            if gap.encoder == encoders[panel]:
                y = place[gap.biomedical.task].middle
                own, general = axis.at(gap.biomedical.value), axis.at(gap.general_value)
                said = f"{gap.encoder}, {gap.biomedical.task}: gap {gap.gap:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
                yield Line(general, y, own, y, "soft", 3)
                yield Line(axis.at(gap.biomedical.low), y, axis.at(gap.biomedical.high), y, "accent", 1.5)
                yield Rectangle(general - 3.5, y - 3.5, 7, 7, "second", said)
                yield Circle(own, y, 4, "accent", said)

    legend = (
        Circle(8, 12, 4, "accent"),
        Text(18, 16, "biomedical task, with its interval", fill="muted", size=11),
        Rectangle(4.5, 24.5, 7, 7, "second"),
        Text(18, 32, "mean of its general counterparts", fill="muted", size=11),
    )
    below = "0: constant answer, 1: perfect"
    height, shapes = row_panels(tasks.values(), encoders, below, axis_of([*ends, 0.0]), draw, width, top=44)
    described = (
        f"For {len(encoders)} encoders, the share of the way from the best constant answer to a perfect score on "
        f"{len(tasks)} biomedical tasks and on their general counterparts. The table below holds the numbers."
    )
    return Drawing(width, height, "Domain gap", described, legend + shapes)

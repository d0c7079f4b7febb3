"""Learning curves as a table and as a figure: scores by the part of the training rows that the probe saw."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from medsenteval.contracts import Result
from medsenteval.errors import SettingsError
from medsenteval.report.charts.drawing import Drawing, axis_title
from medsenteval.report.charts.line_chart import Panel, Point, line_panels
from medsenteval.report.comparison_table import render_table
from medsenteval.report.score_texts import interval, number
from medsenteval.running.job_identity import what_tells_apart
from medsenteval.support.grouping import grouped

_PART: Final = re.compile(r"^(?:(?P<whole>.+)-)?(?P<kind>fraction|shots|mteb-shots)-(?P<size>[\d.e-]+?)-draws-(?P<draws>\d+)$")


class CurvePoint:
    """A result on a curve; ``part`` is what was taken of the training set.

    ``protocol`` is that of the whole set, with all that tells the result from others of its task but the part.
    """

    def __init__(self, result: Result, protocol: str, part: str) -> None:
        self.result, self.protocol, self.part = result, protocol, part
        self.metric = result.metric(result.headline[0])
        self.curve = result.task, result.encoder, protocol


def curve_points(results: Sequence[Result]) -> list[CurvePoint]:
    """Return the points of all curves in order of size, a result on all training rows as the last point of its curve."""
    points = []
    for others in grouped((result.task, result) for result in results).values():
        for result in others:
            match = _PART.match(result.protocol)
            whole, part = (match["whole"] or "mteb", f"{match['kind']} {match['size']}") if match else (result.protocol, "all")
            ways = [way for way in what_tells_apart(result, others) if way != result.protocol]
            points.append(CurvePoint(result, ", ".join([whole, *ways]), part))
    curves = {point.curve for point in points if point.part != "all"}
    if not curves:
        raise SettingsError("no result on a part of the training rows; make some with run --train-fraction or run --shots")
    return sorted((point for point in points if point.curve in curves), key=lambda point: (point.curve, point.result.n_train))


def render_curves(points: Sequence[CurvePoint], style: str = "text") -> str:
    rows = []
    for point in points:
        score, unit = point.metric, point.metric.unit
        shown = [number(score.value, unit), interval(score.low, score.high, unit), number(score.baseline, unit)]
        note = "; ".join([*point.result.cautions, *(["synthetic sample data"] if point.result.synthetic else [])])
        rows.append([*point.curve, point.part, f"{point.result.n_train:,}", score.name, *shown, note])
    header = ["Task", "Encoder", "Protocol", "Part", "Training rows", "Metric", "Score", "95 % interval", "Baseline", ""]
    return render_table(header, rows, [False, False, False, False, True, False, True, True, True, False], style)


def curve_panels(points: Sequence[CurvePoint]) -> Drawing:
    """Draw a panel for each task, a line for each encoder and protocol over the logarithm of training rows."""
    panels = []
    for task, own in grouped((point.result.task, point) for point in points).items():
        lines = []
        for point in own:
            name, score, n = f"{point.result.encoder}, {point.protocol}", point.metric, point.result.n_train
            said = f"{name}, {n:,} rows: {number(score.value, score.unit)} {interval(score.low, score.high, score.unit)}"
            lines.append((name, Point(math.log(max(1, n)), score.value, score.low, score.high, said)))
        ticks = {math.log(max(1, size)): f"{size:,}" for size in sorted({point.result.n_train for point in own})}
        score = own[0].metric
        measured = axis_title(task, score.name, score.unit)
        panels.append(Panel(task, "training rows; dashed: constant answer", measured, ticks, grouped(lines), score.baseline))
    described = f"Scores on {len(panels)} tasks by the number of training rows, with intervals. The table holds the numbers."
    return line_panels(panels, "Learning curves", described)

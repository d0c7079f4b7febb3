"""Learning curves as a table and as a figure: scores by the part of the training rows that the probe saw."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medsenteval.contracts import Metric, Result
from medsenteval.errors import SettingsError
from medsenteval.report.charts.plot_file import new_plot, plain, write_plot
from medsenteval.report.comparison_table import escape_cell, render_table
from medsenteval.running.job_results import comparability

_PART: Final = re.compile(r"^(?:(?P<whole>.+)-)?(?P<kind>fraction|shots|mteb-shots)-(?P<size>[\d.e-]+?)-draws-(?P<draws>\d+)$")


@dataclass(frozen=True)
class CurvePoint:
    """One score on a curve; ``protocol`` is that of the whole training set, ``part`` what was taken of it."""

    encoder: str
    task: str
    protocol: str
    part: str
    n_train: int
    metric: Metric
    cautions: str


def curve_points(results: Sequence[Result]) -> list[CurvePoint]:
    """Return the points of all curves in order of size, a result on all training rows as the last point of its curve.

    Where a task's results differ in more than the part, in seed or probe for one, each way is a curve of its own.
    """
    points = [
        CurvePoint(
            result.encoder,
            result.task,
            _curve_name(result, [other for other in results if other.task == result.task]),
            f"{match['kind']} {match['size']}" if match else "all",
            result.n_train,
            result.metric(result.headline[0]),
            "; ".join([*result.cautions, *(["synthetic sample data"] if result.synthetic else [])]),
        )
        for result, match in ((result, _PART.match(result.protocol)) for result in results)
    ]
    curves = {(point.encoder, point.task, point.protocol) for point in points if point.part != "all"}
    if not curves:
        raise SettingsError("no result on a part of the training rows; make some with run --train-fraction or run --shots")
    points = [point for point in points if (point.encoder, point.task, point.protocol) in curves]
    return sorted(points, key=lambda point: (point.task, point.encoder, point.protocol, point.n_train))


def _curve_name(result: Result, others: Sequence[Result]) -> str:
    """Return the protocol on the whole training set, with all that tells it from other results of the task but the part."""
    common = set.intersection(*(set(_ways(other)) for other in others))
    return ", ".join([_whole(result), *(way for way in _ways(result) if way not in common)])


def _whole(result: Result) -> str:
    match = _PART.match(result.protocol)
    return result.protocol if match is None else match["whole"] or "mteb"


def _ways(result: Result) -> list[str]:
    ways = [way for way in comparability(result).split("|")[1:] if way != result.protocol]
    return [*ways, f"seed={result.seed}"]


def render_curves(points: Sequence[CurvePoint], style: str = "text") -> str:
    """Return a line for each point."""
    rows = [
        [
            point.task,
            escape_cell(point.encoder, style),
            point.protocol,
            point.part,
            f"{point.n_train:,}",
            point.metric.name,
            _number(point.metric.value, point.metric),
            f"[{_number(point.metric.low, point.metric)}, {_number(point.metric.high, point.metric)}]",
            _number(point.metric.baseline, point.metric),
            point.cautions,
        ]
        for point in points
    ]
    header = ["Task", "Encoder", "Protocol", "Part", "Training rows", "Metric", "Score", "95 % interval", "Baseline", ""]
    return render_table(header, rows, [False, False, False, False, True, False, True, True, True, False], style)


def _number(value: float, metric: Metric) -> str:
    return f"{value:.2f}" if metric.unit == "percent" else f"{value:.3f}"


def draw_curves(points: Sequence[CurvePoint], path: Path) -> None:
    """Draw a panel for each task, a line for each encoder and protocol."""
    tasks = list(dict.fromkeys(point.task for point in points))
    figure = new_plot(path, 1 + 3.6 * len(tasks), 3.6)
    for axis, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        own = [point for point in points if point.task == task]
        for encoder, protocol in dict.fromkeys((point.encoder, point.protocol) for point in own):
            line = [point for point in own if (point.encoder, point.protocol) == (encoder, protocol)]
            sizes = [point.n_train for point in line]
            label = plain(f"{encoder}, {protocol}")
            drawn = axis.plot(sizes, [point.metric.value for point in line], marker="o", label=label)
            lows, highs = [point.metric.low for point in line], [point.metric.high for point in line]
            axis.fill_between(sizes, lows, highs, color=drawn[0].get_color(), alpha=0.2, linewidth=0)
        axis.axhline(own[0].metric.baseline, color="0.5", linestyle=":", label="constant answer")
        axis.set_xscale("log")
        sizes = sorted({point.n_train for point in own})
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45)
        axis.minorticks_off()
        axis.set_title(plain(task), fontsize=10)
        axis.set_xlabel("training rows")
        axis.set_ylabel(plain(own[0].metric.name))
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=7, frameon=False)
    write_plot(figure, path)

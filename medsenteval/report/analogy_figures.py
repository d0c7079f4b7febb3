"""The paper's figures from stored results: the three metrics of each relation, and settings or encoders side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medsenteval.contracts import Result
from medsenteval.errors import DataError, SettingsError
from medsenteval.report.charts.plot_file import new_plot, plain, write_plot

_LABELS = {"acc": "relaxed accuracy", "map": "MAP", "mrr": "MRR"}
#: Colours that stay apart for colour-blind readers (Okabe and Ito).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


def draw_metrics(result: Result, path: Path) -> None:
    """Draw accuracy, MAP and MRR of each relation as bars beside each other (the paper's Figure 1)."""
    relations = _relations(result)
    series = {_LABELS[metric]: {name: means[metric] for name, means in relations.items()} for metric in _LABELS}
    _draw(series, f"{result.task}: {result.encoder}, {_conditions(result)}{_mark([result])}", "score", path)


def draw_comparison(results: Sequence[Result], metric: str, path: Path) -> None:
    """Draw one metric of each relation for several results: settings, scores or encoders (Figures 2 and 3)."""
    if metric not in _LABELS:
        raise SettingsError(f"no metric of analogies is called {metric!r}; known: {', '.join(_LABELS)}")
    if len({result.task for result in results}) != 1:
        raise SettingsError("a comparison needs results of one task")
    same_encoder = len({result.encoder for result in results}) == 1
    same_conditions = len({_conditions(result) for result in results}) == 1

    def label(result: Result) -> str:
        if same_encoder:
            return _conditions(result)
        return result.encoder if same_conditions else f"{result.encoder}, {_conditions(result)}"

    series: dict[str, dict[str, float]] = {}
    for result in results:
        series[label(result)] = {name: means[metric] for name, means in _relations(result).items()}
    shared = results[0].encoder if same_encoder else _conditions(results[0]) if same_conditions else ""
    title = ": ".join(part for part in (results[0].task, shared) if part) + _mark(results)
    _draw(series, title, _LABELS[metric], path)


def _relations(result: Result) -> Mapping[str, Any]:
    relations = result.details.get("relations")
    if not relations or not all(set(_LABELS) <= scores.keys() for scores in relations.values()):
        raise DataError(f"the result of {result.encoder} on {result.task} holds no relations; draw results of analogy tasks")
    found: Mapping[str, Any] = relations
    return found


def _mark(results: Sequence[Result]) -> str:
    return " (SYNTHETIC SAMPLE DATA)" if any(result.synthetic for result in results) else ""


def _conditions(result: Result) -> str:
    return result.protocol


def _draw(series: Mapping[str, Mapping[str, float]], title: str, axis_label: str, path: Path) -> None:
    names = list(dict.fromkeys(name for values in series.values() for name in values))
    places, width = np.arange(len(names)), 0.8 / len(series)
    figure = new_plot(path, max(6.0, 1.5 + 0.42 * len(names) * max(1.0, len(series) / 3)), 4.8)
    axes = figure.add_subplot()
    for number, (label, values) in enumerate(series.items()):
        heights = [values.get(name, np.nan) for name in names]
        shift = (number - (len(series) - 1) / 2) * width
        axes.bar(places + shift, heights, width, label=plain(label), color=_COLOURS[number % len(_COLOURS)])
    axes.set_xticks(places, list(map(plain, names)), rotation=40, ha="right", fontsize=8)
    axes.set_ylim(0, 1)
    axes.set_ylabel(axis_label)
    axes.set_title(plain(title), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.grid(True, linewidth=0.4, color="0.85")
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=min(4, len(series)), frameon=False, fontsize=8)
    write_plot(figure, path)

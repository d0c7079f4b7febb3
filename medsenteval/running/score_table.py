"""Plain-text tables of results: encoders by tasks like the paper's Table 3, and one line a score with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from medsenteval.contracts import MARK_NOTES, Metric, Result
from medsenteval.running.job_identity import comparability, joined_marks, one_for_each_job, training_note, what_differs
from medsenteval.statistics.power import smallest_expected
from medsenteval.support.grouping import grouped
from medsenteval.support.text_table import text_table, without_empty

_EXPLANATION = (
    "[low, high]: 95 % interval over items (analogies: over relations; concepts: over concepts). "
    "Baseline: the best constant answer.\n"
    "! not above the baseline    ? above it, but the interval reaches down to it"
)
_SHOWS = "\nShows: the smallest difference to another encoder that these items would show in four of five experiments."
_DRAWS = "\nProtocols with draws: mean over draws of training rows; the interval is over draws and items."
SYNTHETIC_WARNING = "SYNTHETIC SAMPLE DATA: these scores show that the toolkit works and say nothing about biomedical text."


def score_table(results: Sequence[Result], with_notes: bool = True) -> str:
    """Return encoders by tasks: accuracy, accuracy/F1 or Pearson/Spearman, with the constant answer as last row.

    Several seeds of one job become their mean and standard deviation; ``detail_table`` has each value.
    """
    header, rows, notes = score_rows(results)
    return "\n".join([text_table(header, rows, [False] + [True] * (len(header) - 1)), *(notes if with_notes else [])])


def score_rows(results: Sequence[Result]) -> tuple[list[str], list[list[str]], list[str]]:
    """Return what ``score_table`` shows: its header, its rows, and the notes below them."""
    # Scores under two protocols, probes or options are not seeds of one score: each gets its column.
    columns: dict[str, Result] = {}
    for result in results:
        columns.setdefault(comparability(result), result)
    # Two encoders of one name get a number each; what is left under one key are seeds of one job.
    by_encoder = grouped(((result.encoder, result.dimension), result) for result in one_for_each_job(results)[0])
    rows = []
    for (encoder, dimension), of_encoder in by_encoder.items():
        found = grouped((comparability(result), result) for result in of_encoder)
        cells = (_cell(found[column], "value") if column in found else "-" for column in columns)
        rows.append([encoder, str(dimension), *cells])
    titles = _titles(list(columns.values()))
    rows.append(["constant answer", "", *(_cell([any_result], "baseline") for any_result in columns.values())])
    return ["Encoder", "Size", *titles], rows, _notes(results)


def _titles(results: Sequence[Result]) -> list[str]:
    """Name columns by task; where a task has several, by protocol, probe and all that differs, as far as it takes."""
    several = Counter(result.task for result in results)
    protocols = Counter((result.task, result.protocol) for result in results)
    probes = Counter((result.task, result.protocol, result.probe) for result in results)
    titles = []
    for result in results:
        title = result.task
        if several[result.task] > 1:
            title += f" {result.protocol}"
        if protocols[result.task, result.protocol] > 1:
            title += f", {result.probe}"
        if probes[result.task, result.protocol, result.probe] > 1:
            alike = [other for other in results if other.task == result.task]
            title += "".join(f", {part}" for part in what_differs(result, alike))
        titles.append(title)
    return titles


def detail_table(results: Sequence[Result], shown: Mapping[tuple[str, str], str] | None = None) -> str:
    """Return a line for every score: value, interval, baseline, number of items and what they could show, if known, protocol.

    ``shown`` has for (comparability, metric) what the disagreement of encoders gives; without it the score and n say it.
    """
    rows = []
    several_seeds = len({result.seed for result in results}) > 1
    for result in results:
        for metric in result.metrics:
            score, low, high, baseline = (
                _number(value, metric) for value in (metric.value, metric.low, metric.high, metric.baseline)
            )
            how = result.protocol if result.probe == "none" else f"{result.protocol}, {result.probe}"
            how += f", seed {result.seed}" if several_seeds else ""
            mark = ("" if result.synthetic else metric.mark) + result.marks
            row = [result.task, result.encoder, metric.name, score, mark, f"[{low}, {high}]", baseline, f"{metric.n:,}"]
            shows = (shown or {}).get((comparability(result), metric.name)) or _shows(result, metric)
            rows.append([*row, shows, how])
    header = ["Task", "Encoder", "Metric", "Score", "", "95 % interval", "Baseline", "n", "Shows", "Protocol"]
    right = [False, False, False, True, False, True, True, True, True, False]
    header, rows, right = without_empty("Shows", header, rows, right)
    drawn = any("-draws-" in result.protocol for result in results)
    explanation = _EXPLANATION + (_SHOWS if "Shows" in header else "") + (_DRAWS if drawn else "")
    return "\n".join([text_table(header, rows, right), explanation, *_notes(results)])


def as_points(difference: float | None, unit: str) -> str:
    """Return a difference as tables print it, "-" for none."""
    return "-" if difference is None else f"{difference:.1f}" if unit == "percent" else f"{difference:.3f}"


def _shows(result: Result, metric: Metric) -> str:
    """Return what the items would show between this encoder and one that scores about the same."""
    if result.synthetic or "relation" in result.items or "concept" in result.items:  # means over these are another matter
        return "-"
    scale = 100.0 if metric.unit == "percent" else 1.0
    found = smallest_expected(metric.name, metric.value / scale, metric.n)
    return as_points(None if found is None else found * scale, metric.unit)


def _cell(results: Sequence[Result], field: str) -> str:
    """Return the headline metrics of one encoder on one task: the value, or mean ± standard deviation over seeds."""
    shown = []
    for name in results[0].headline:
        values = [getattr(result.metric(name), field) for result in results]
        metric = results[0].metric(name)
        spread = f"±{_number(stdev(values), metric)}" if len(values) > 1 else ""
        shown.append(_number(fmean(values), metric) + spread)
    return "/".join(shown) + (joined_marks(results) if field == "value" else "")


def _number(value: float, metric: Metric) -> str:
    return f"{value:.2f}" if metric.unit == "percent" else f"{value:.3f}"


def _notes(results: Sequence[Result]) -> list[str]:
    marks = joined_marks(results)
    notes = [f"{note}." for mark, note in MARK_NOTES.items() if mark in marks]
    if any(result.synthetic for result in results):
        return [*notes, SYNTHETIC_WARNING]
    return [*notes, f"{training_note(result.trained_on for result in results)}."]

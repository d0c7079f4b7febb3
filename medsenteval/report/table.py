"""Plain-text tables of results: encoders by tasks like the paper's Table 3, and one line a score with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean, stdev

from medsenteval.contracts import Metric
from medsenteval.results import Result

__all__ = ["SYNTHETIC_WARNING", "detail_table", "score_table", "text_table"]

_EXPLANATION = (
    "[low, high]: 95 % bootstrap interval over items (analogies: over relations). Baseline: the best constant answer.\n"
    "! not above the baseline    ? above it, but the interval reaches down to it"
)
_DRAWS = "\nProtocols with draws: mean over draws of training rows, and the interval of that mean."
SYNTHETIC_WARNING = "SYNTHETIC SAMPLE DATA: these scores show that the toolkit works and say nothing about biomedical text."


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Align cells in columns; ``right`` says which columns hold numbers."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def score_table(results: Sequence[Result]) -> str:
    """Return encoders by tasks: accuracy, accuracy/F1 or Pearson/Spearman, with the constant answer as last row.

    Several seeds of one job become their mean and standard deviation; ``detail_table`` has each value.
    """
    columns = list(dict.fromkeys((result.task, result.protocol) for result in results))
    # Scores under two protocols are not seeds of one score: each protocol gets its column.
    several = {task for task, count in Counter(task for task, _ in columns).items() if count > 1}
    titles = [f"{task} {protocol}" if task in several else task for task, protocol in columns]
    # The identity keeps two encoders of one name apart; what is left under one key are seeds of one job.
    by_encoder: dict[tuple[str, int, str], dict[tuple[str, str], list[Result]]] = {}
    for result in results:
        key = (result.encoder, result.dimension, result.encoder_identity)
        by_encoder.setdefault(key, {}).setdefault((result.task, result.protocol), []).append(result)
    rows = [
        [encoder, str(dimension), *(_cell(found[column], "value") if column in found else "-" for column in columns)]
        for (encoder, dimension, _), found in by_encoder.items()
    ]
    any_result = {(result.task, result.protocol): [result] for result in results}
    rows.append(["constant answer", "", *(_cell(any_result[column], "baseline") for column in columns)])
    table = text_table(["Encoder", "Size", *titles], rows, [False] + [True] * (len(columns) + 1))
    return _with_footer(table, results, "")


def detail_table(results: Sequence[Result]) -> str:
    """Return a line for every score: value, interval, baseline, number of items, protocol."""
    rows = []
    several_seeds = len({result.seed for result in results}) > 1
    for result in results:
        for metric in result.metrics:
            score, low, high, baseline = (
                _number(value, metric) for value in (metric.value, metric.low, metric.high, metric.baseline)
            )
            how = result.protocol if result.probe == "none" else f"{result.protocol}, {result.probe}"
            how += f", seed {result.seed}" if several_seeds else ""
            row = [result.task, result.encoder, metric.name, score, _mark(metric), f"[{low}, {high}]", baseline]
            rows.append([*row, f"{metric.n:,}", how])
    header = ["Task", "Encoder", "Metric", "Score", "", "95 % interval", "Baseline", "n", "Protocol"]
    right = [False, False, False, True, False, True, True, True, False]
    drawn = any("-draws-" in result.protocol for result in results)
    return _with_footer(text_table(header, rows, right), results, _EXPLANATION + (_DRAWS if drawn else ""))


def _cell(results: Sequence[Result], field: str) -> str:
    """Return the headline metrics of one encoder on one task: the value, or mean ± standard deviation over seeds."""
    shown = []
    for name in results[0].headline:
        values = [getattr(result.metric(name), field) for result in results]
        metric = results[0].metric(name)
        spread = f"±{_number(stdev(values), metric)}" if len(values) > 1 else ""
        shown.append(_number(fmean(values), metric) + spread)
    return "/".join(shown)


def _number(value: float, metric: Metric) -> str:
    return f"{value:.2f}" if metric.unit == "percent" else f"{value:.3f}"


def _mark(metric: Metric) -> str:
    if not metric.above_baseline:
        return "!"
    return "" if metric.clear_of_baseline else "?"


def _with_footer(table: str, results: Sequence[Result], explanation: str) -> str:
    synthetic = SYNTHETIC_WARNING if any(result.synthetic for result in results) else ""
    return "\n".join(part for part in (table, explanation, synthetic) if part)

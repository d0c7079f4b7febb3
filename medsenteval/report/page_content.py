"""Results as what a page shows: tables, figures and views of single tasks, before any mark-up.

Everything is taken from the comparison that ``medsenteval compare`` prints; nothing is computed in another way here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medsenteval import __version__
from medsenteval.comparison.compare import compare_results, ranking
from medsenteval.comparison.decision import Decision, decide, ranks_with_intervals, smallest_shown
from medsenteval.comparison.domain_gap import DomainGap, domain_gaps, share_of_way
from medsenteval.comparison.significance import Column, Comparison
from medsenteval.comparison.word_subsets import Subsets, subset_scores
from medsenteval.contracts import Result
from medsenteval.datasets.locate import data_root
from medsenteval.errors import DataError, SettingsError
from medsenteval.registry import TASK_GROUPS
from medsenteval.report.comparison_table import lettered, render_comparison
from medsenteval.report.privacy import access_of, public_note, texts_may_be_shown
from medsenteval.report.score_texts import number
from medsenteval.report.sections.cost import EncoderCost
from medsenteval.report.sections.disagreement import Disagreement, confusion_matrix, find_disagreements, item_texts
from medsenteval.report.sections.headline import headline
from medsenteval.report.sections.missing import missing_scores
from medsenteval.report.sections.relations import relation_scores
from medsenteval.running.job_identity import comparability, one_for_each_job, training_note
from medsenteval.running.result_schema import Failure
from medsenteval.statistics.verdicts import VERDICTS
from medsenteval.support.grouping import grouped


@dataclass(frozen=True)
class PageOptions:
    """What goes on a page.

    ``examples`` is how many disputed items a task shows with their texts, read from ``data``; without it, ids are shown alone.
    Items of data sets that are not open are shown with ``include_restricted`` only. ``rope`` is the largest difference that
    does not matter, in points.
    """

    title: str = "How good are these encoders on biomedical text?"
    examples: int | None = None
    data: Path | None = None
    include_restricted: bool = False
    level: float = 0.05
    correction: str = "holm"
    resamples: int = 10_000
    seed: int = 1111
    rope: float = 1.0


class Cell:
    """A score as the table shows it."""

    def __init__(self, column: Column, encoder: str, comparison: Comparison) -> None:
        score = column.scores[encoder]
        text, self.low, self.high = (short(end, column.unit) for end in (score.value, score.low, score.high))
        self.text, self.value = text + column.marks[encoder], score.value
        self.beats = lettered(comparison, column.beaten_by(encoder, comparison.level))
        self.best = encoder in column.best()
        self.mark = "" if column.synthetic else score.mark
        self.share = share_of_way(score.value, column.baseline, column.unit)


class TaskView:
    """Everything about one task under one protocol: its metrics, and ``column``, the one that stands for it."""

    def __init__(
        self, name: str, column: Column, results: Sequence[Result], comparison: Comparison, options: PageOptions
    ) -> None:
        may_be_shown = texts_may_be_shown(column.task, options.include_restricted)
        chosen = {result.encoder: result for result in sorted(results, key=lambda result: -result.seed)}
        chosen = {encoder: chosen[encoder] for encoder in comparison.encoders if encoder in chosen}
        smallest = smallest_shown(column, comparison.level)
        self.name, self.column, self.results = name, column, tuple(results)
        self.columns = tuple(each for each in comparison.columns if each.key == column.key)
        self.access = access_of(column.task)
        self.smallest = "" if smallest is None else number(smallest, column.unit)
        self.notes = tuple(dict.fromkeys(public_note(note, may_be_shown) for result in results for note in result.notes))
        matrices = {encoder: confusion_matrix(result) for encoder, result in chosen.items()}
        self.confusion = {encoder: matrix for encoder, matrix in matrices.items() if matrix is not None}
        self.disagreement = _disagreement(chosen, column, options, may_be_shown)


class Page:
    """All that a report shows, before any mark-up; ``cells`` has the columns of the table of scores.

    ``word_values`` (frequencies, for example) add subset curves; ``subsets_by`` says what they are. ``anchors`` are the names
    of views by the keys of columns.
    """

    version = __version__

    def __init__(
        self,
        results: Sequence[Result],
        failures: Sequence[Failure] = (),
        options: PageOptions | None = None,
        word_values: Mapping[str, float] | None = None,
        subsets_by: str = "",
    ) -> None:
        self.options = options = options or PageOptions()
        self.comparison = comparison = compare_results(
            results, resamples=options.resamples, level=options.level, correction=options.correction, seed=options.seed
        )
        # From here on an encoder's name is its label: two encoders of one name stay apart in every table.
        named, _ = one_for_each_job(results)
        tasks = [column.task for column in comparison.columns]
        named.sort(key=lambda result: (tasks.index(result.task), comparison.encoders.index(result.encoder)))
        by_key = grouped((comparability(result), result) for result in named)
        # A task under a protocol is shown by its first headline metric, or else its first metric.
        first = {column.key: column for column in reversed(comparison.columns)}
        first |= {column.key: column for column in comparison.headline_columns()}
        shown = [first[key] for key in dict.fromkeys(column.key for column in comparison.columns)]
        self.views = [TaskView(f"task-{i}", each, by_key[each.key], comparison, options) for i, each in enumerate(shown)]
        self.anchors = {view.column.key: view.name for view in self.views}
        self.groups = tuple(dict.fromkeys(group_of(column.task) for column in shown))
        headlines = [column for column in comparison.columns if column.headline]
        self.cells = {column: {name: Cell(column, name, comparison) for name in column.scores} for column in headlines}
        real = [column for column in comparison.columns if not column.synthetic]
        told = {(column.key, encoder): said for column in real for encoder, said in column.trained_on.items()}
        self.training = training_note(told.values()) if told else ""
        self.rank = ranking(comparison)
        self.decisions = decide(comparison, options.rope, power=False)
        self.headline = headline(comparison, self.decisions, ranks_with_intervals(comparison, seed=options.seed))
        self.gaps = _gaps(named, comparison)
        self.analogies = relation_scores(named)
        self.subsets, self.without_subsets = _subsets(named, word_values)
        self.subsets_by = subsets_by
        self.costs = [EncoderCost(each, [result for result in named if result.encoder == each]) for each in comparison.encoders]
        self.missing = missing_scores(named, comparison.encoders, failures, options.include_restricted)
        self.n_results = len(results)

    def payload(self) -> dict[str, Any]:
        """Return what the page's script needs: confusion matrices, every pair's difference, and the table to take away."""
        encoders = self.comparison.encoders
        pairs = grouped(((found.task, found.metric), found) for found in self.decisions)

        def pair(found: Decision) -> list[float]:
            """Return [first, second, difference, low, high, corrected p, verdict] with the places of encoders and verdict."""
            numbers = (found.interval.estimate, found.interval.low, found.interval.high, found.corrected)
            places = [encoders.index(found.first), encoders.index(found.second)]
            return [*places, *(round(each, 5) for each in numbers), VERDICTS.index(found.verdict)]

        columns = []
        for column in self.cells:
            judged = [pair(found) for found in pairs.get((column.label, column.metric), ())]
            about = {"label": column.label, "metric": column.metric, "digits": _digits(column.unit)}
            columns.append({**about, "view": self.anchors[column.key], "pairs": judged})
        matrices = [view for view in self.views if view.confusion]
        return {
            "confusion": {v.name: {"labels": list(v.results[0].label_names), "matrices": v.confusion} for v in matrices},
            "encoders": list(encoders),
            "verdicts": list(VERDICTS),
            "columns": columns,
            "tables": {style: render_comparison(self.comparison, style) for style in ("markdown", "latex", "csv")},
        }


def group_of(task: str) -> str:
    """Return the group that a task is in, "other" for those of plug-ins."""
    return next((group for group, table in TASK_GROUPS.items() if task in table), "other")


def _digits(unit: str) -> int:
    return 1 if unit == "percent" else 3


def short(value: float, unit: str) -> str:
    """Return a score as the table of scores shows it, with fewer digits of percentages than elsewhere."""
    return f"{value:.{_digits(unit)}f}"


def _disagreement(
    results: Mapping[str, Result], column: Column, options: PageOptions, may_be_shown: bool
) -> Disagreement | None:  # fmt: skip
    found = find_disagreements(results, column.metric, options.examples or 10)
    if found is None:
        return None
    if not may_be_shown:
        reason = f"Access to this data set is “{access_of(column.task)}”, so its items stay off this page."
        return replace(found, items=(), withheld=reason)
    if not options.examples or not found.items:
        return found
    texts = item_texts(next(iter(results.values())), data_root(options.data))
    if isinstance(texts, str):
        return replace(found, withheld=f"Ids without texts: {texts}.")
    return replace(found, items=tuple(replace(item, texts=texts.get(item.id, ())) for item in found.items))


def _gaps(results: Sequence[Result], comparison: Comparison) -> list[DomainGap]:
    try:
        return sorted(domain_gaps(results), key=lambda gap: comparison.encoders.index(gap.encoder))
    except SettingsError:
        # No encoder has both halves: the page has no such section.
        return []


def _subsets(results: Sequence[Result], values: Mapping[str, float] | None) -> tuple[list[Subsets], list[str]]:
    """Return the scores by subset of each word similarity task, and why some have none."""
    if values is None:
        return [], []
    by_task = grouped((result.task, result) for result in results if "first" in result.items)
    if not by_task:
        raise SettingsError("subset curves need results of word similarity tasks; `medsenteval run -t word` makes some")
    found: list[Subsets] = []
    left_out: list[str] = []
    for name, of_task in by_task.items():
        try:
            subsets = subset_scores(of_task, values)
        except DataError as error:
            left_out.append(str(error))
            continue
        if all(math.isnan(score.value) for score in subsets.scores):
            left_out.append(f"{name}: too few pairs in every subset")
        else:
            found.append(subsets)
    return found, left_out

"""``medsenteval subsets``: word similarity by frequency, or by any value that words have."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import click

from medsenteval import registry
from medsenteval.cli import shared
from medsenteval.cli.shared import echo
from medsenteval.comparison.word_subsets import read_word_values, subset_scores
from medsenteval.errors import DataError
from medsenteval.report.charts.word_subset_chart import subset_curves
from medsenteval.running.result_store import ResultStore
from medsenteval.support.grouping import grouped
from medsenteval.support.text_table import text_table


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--by", "table", required=True, metavar="TABLE", type=shared.PATH,
              help="Words and their values (frequency, number of subjects, ...), separated by a tab or comma.")  # fmt: skip
@shared.task_names("Word similarity tasks, separated by commas; default all in RESULTS.")
@shared.LIMITS
@shared.GROUPS
@click.option("--metric", type=click.Choice(["spearman", "pearson", "kendall"]), default="spearman", show_default=True)
@shared.FIGURE
def subsets(results: Path, table: Path, tasks: str | None, figure: Path | None, **how: Any) -> None:
    """Score stored word similarity RESULTS on subsets of pairs: both words in the same interval of values."""
    values = read_word_values(table)
    wanted = None if tasks is None else {task.name for task in registry.select_tasks(tasks)}
    stored = [result for result in shared.settled(ResultStore(results).results()) if "first" in result.items]
    used = [result for result in stored if wanted is None or result.task in wanted]
    if not used:
        on = f" on {tasks}" if tasks else ""
        raise DataError(f"{results}: no results of word similarity{on}; `medsenteval run -t word` makes some")
    by_task = grouped((result.task, result) for result in used)
    found = [subset_scores(each, values, **how) for each in by_task.values()]
    for each in found:
        rows = []
        for score in each.scores:
            shown = [f"{score.value:.3f}", f"[{score.low:.3f}, {score.high:.3f}]"]
            shown = ["-", "too few"] if math.isnan(score.value) else shown
            rows.append([score.encoder, each.label(score.subset), f"{score.n:,}", *shown])
        header = ["Encoder", "Both words", "n", each.metric, "95 % interval"]
        echo(f"{each.task}\n{text_table(header, rows, [False, False, True, True, True])}\n{each.left_out}\n")
    shared.say_cautions(used)
    shared.say_synthetic(used)
    shared.draw(figure, partial(subset_curves, values_are=table.stem.replace("_", " ")), found)

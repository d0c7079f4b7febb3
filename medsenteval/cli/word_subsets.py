"""``medsenteval subsets``: word similarity by frequency, number of subjects, or any value that words have."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from medsenteval.cli.stored_results import say_cautions, settled
from medsenteval.cli.terminal import echo

if TYPE_CHECKING:
    from medsenteval.comparison.word_subsets import Subsets
    from medsenteval.statistics import Correlation

__all__ = ["subsets"]


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--by", "table", required=True, metavar="TABLE", type=click.Path(path_type=Path),
              help="Words and their values (frequency, number of subjects, ...), separated by a tab or comma.")  # fmt: skip
@click.option("-t", "--tasks", metavar="NAMES", help="Word similarity tasks, separated by commas; default all in RESULTS.")
@click.option("--limits", metavar="A,B,...", help="Where subsets end; default: groups of equally many words.")
@click.option("--groups", type=int, default=3, metavar="N", show_default=True, help="How many groups without --limits.")
@click.option("--metric", type=click.Choice(["spearman", "pearson", "kendall"]), default="spearman", show_default=True)
@click.option("--figure", metavar="FILE", type=click.Path(path_type=Path), help="Draw it: FILE.svg, .png or .pdf.")
def subsets(
    results: Path, table: Path, tasks: str | None, limits: str | None, groups: int, metric: Correlation, figure: Path | None
) -> None:
    """Score stored word similarity RESULTS on subsets of pairs: both words in the same interval of values."""
    from medsenteval import registry
    from medsenteval.comparison.word_subsets import read_word_values, subset_scores
    from medsenteval.errors import DataError
    from medsenteval.running.result_store import ResultStore

    values = read_word_values(table)
    stored = [result for result in settled(ResultStore(results).results()) if "first" in result.items]
    wanted = None if tasks is None else [task.name for task in registry.select_tasks(tasks)]
    names = [name for name in dict.fromkeys(result.task for result in stored) if wanted is None or name in wanted]
    if not names:
        on = f" on {tasks}" if tasks else ""
        raise DataError(f"{results}: no results of word similarity{on}; `medsenteval run -t word` makes some")
    found = [
        subset_scores(
            [result for result in stored if result.task == name], values, limits=_limits(limits), groups=groups, metric=metric
        )
        for name in names
    ]
    for each in found:
        echo(_described(each))
    say_cautions([result for result in stored if result.task in names])
    if any(result.synthetic for result in stored if result.task in names):
        echo("SYNTHETIC SAMPLE DATA: these scores say nothing about biomedical text.")
    if figure is not None:
        from medsenteval.report.word_subset_figure import draw_subsets

        draw_subsets(found, figure, table.stem.replace("_", " "))
        echo(f"Figure: {figure}")


def _described(found: Subsets) -> str:
    from medsenteval.support.text_table import text_table

    rows = [
        [score.encoder, found.label(score.subset), f"{score.n:,}", _number(score.value), _interval(score.low, score.high)]
        for score in found.scores
    ]
    header = ["Encoder", "Both words", "n", found.metric, "95 % interval"]
    table = text_table(header, rows, [False, False, True, True, True])
    left_out = (
        f"Left out: {found.mixed:,} pairs with words in different subsets, {found.without:,} with a word without a value."
    )
    return f"{found.task}\n{table}\n{left_out}\n"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _interval(low: float, high: float) -> str:
    return "too few" if math.isnan(low) else f"[{low:.3f}, {high:.3f}]"


def _limits(text: str | None) -> tuple[float, ...]:
    from medsenteval.errors import SettingsError

    if text is None:
        return ()
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise SettingsError(f"--limits is {text!r}; expected numbers separated by commas") from error

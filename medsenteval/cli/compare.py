"""``medsenteval compare``: encoders side by side, with paired tests, ranks, and published numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from medsenteval.cli import shared
from medsenteval.comparison.common_pairs import on_common_pairs
from medsenteval.comparison.compare import compare_results
from medsenteval.comparison.decision import decide, ranks_with_intervals
from medsenteval.comparison.domain_gap import domain_gaps
from medsenteval.comparison.published.numbers import PublishedNumber, published_numbers, select_numbers
from medsenteval.errors import SettingsError
from medsenteval.interop.mteb_results import read_mteb_folder
from medsenteval.report.answer_tables import render_decisions, render_gaps
from medsenteval.report.comparison_table import TableOptions, render_comparison
from medsenteval.running.record import note_on_the_record
from medsenteval.running.result_store import load_results, of_tasks

#: What --with calls the record of reference results.
REFERENCE = "reference"


@click.command()
@shared.results_named
@shared.ONLY_TASKS
@click.option("--with", "beside", multiple=True, metavar="reference|published|TABLE|FOLDER",
              help="Beside ours: the reference encoders' results, all published numbers, a table (medsenteval-3), or a "
                   "folder of mteb's results.")  # fmt: skip
@click.option("--against", default="", metavar="ENCODER", help="List every encoder's difference to this one.")
@click.option("--general", is_flag=True, help="Add the domain gap: each task beside its general counterpart.")
@click.option("--rope", type=float, metavar="POINTS",
              help="Say better, worse, equivalent (less than POINTS apart; correlations: hundredths), undecided.")  # fmt: skip
@shared.FORMAT
@click.option("--metrics", metavar="NAMES", help="Metrics of the table: acc,f1,pearson; default those of the papers.")
@click.option("--transpose", is_flag=True, help="Tasks as rows, encoders as columns.")
@click.option("--digits", type=click.IntRange(0, 10), default=2, metavar="N",
              help="Digits of percentages, default 2; correlations get one more.")  # fmt: skip
@click.option("--differences", is_flag=True, help="Every pair's difference; in place of the scores but for text.")
@click.option("--caption", default="", metavar="TEXT", help="A caption for the table in markdown or latex.")
@click.option("--notes", is_flag=True, help="Add to markdown or latex what marks mean, and what is to be said of the data.")
@shared.TO_FILE
@click.option("--common-pairs", is_flag=True, help="Score word similarity again on the pairs whose words all encoders know.")
@click.option("--intervals", type=click.Choice(["percentile", "bca"]), default="percentile", show_default=True,
              help="How resampled differences (correlations, F1) get their intervals and significance.")  # fmt: skip
@shared.RESAMPLES
@shared.LEVEL
@shared.CORRECTION
@click.option("--seed", type=shared.SEED, default=1111, metavar="N", help="Seed of the resamples; default 1111.")
def compare(
    what: tuple[str, ...],
    folder: Path,
    tasks: str | None,
    beside: tuple[str, ...],
    against: str,
    general: bool,
    rope: float | None,
    style: str,
    metrics: str | None,
    output: Path | None,
    common_pairs: bool,
    intervals: Literal["percentile", "bca"],
    resamples: int,
    level: float,
    correction: str,
    seed: int,
    **table: Any,
) -> None:
    """Compare encoders: which is better, by how much, and is it real?

    RESULTS are folders or files that `medsenteval run` stored; ENCODER is the name of an encoder in the results folder. Without
    either, everything in the results folder is compared.
    """
    results = of_tasks(load_results(what, folder, reference=REFERENCE in beside), tasks)
    said = note_on_the_record(results) if REFERENCE in beside else ()
    if common_pairs:
        results = on_common_pairs(results)
    comparison = compare_results(
        results,
        resamples=resamples,
        level=level,
        correction=correction,
        seed=seed,
        intervals=intervals,
        published=_numbers(beside),
        all_metrics=style == "csv" or metrics is not None,
    )
    comparison = replace(comparison, notes=(*said, *comparison.notes))
    if against and against not in comparison.encoders:
        raise SettingsError(f"--against is {against!r}; the encoders are {', '.join(comparison.encoders)}")
    text = render_comparison(comparison, style, TableOptions(tuple(shared.names_in(metrics)), against=against, **table))
    if rope is not None:
        if comparison.synthetic:
            raise SettingsError("--rope asks for a verdict, and there is none on synthetic data; name results on real data")
        decisions, ranks = decide(comparison, rope), ranks_with_intervals(comparison, seed=seed)
        text += "\n\n" + render_decisions(decisions, ranks, rope, level, style)
    if general:
        text += "\n\n" + render_gaps(domain_gaps(results), style)
    shared.write_or_echo(f"{text}\n", output)


def _numbers(beside: tuple[str, ...]) -> list[PublishedNumber]:
    """Return the numbers that --with names; the reference is results, which are loaded with ours."""
    numbers: list[PublishedNumber] = []
    for source in (each for each in beside if each != REFERENCE):
        if source == "published":
            numbers.extend(published_numbers())
        elif Path(source).is_dir():
            numbers.extend(read_mteb_folder(Path(source)))
        else:
            numbers.extend(select_numbers(table=source))
    return numbers

"""``medsenteval compare``: encoders side by side, with paired tests, ranks, and published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from medsenteval.published.numbers import PublishedNumber

__all__ = ["compare"]


@click.command()
@click.argument("what", nargs=-1, metavar="[RESULTS|ENCODER]...")
@click.option("-r", "--results", "folder", default="results", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where encoders named by their name have their results; default results.")  # fmt: skip
@click.option("-t", "--tasks", metavar="NAMES", help="Only these tasks or groups of tasks.")
@click.option("--with", "beside", multiple=True, metavar="published|TABLE|FOLDER",
              help="Numbers beside ours: all published, a table (medsenteval-3), or a folder of mteb's results.")  # fmt: skip
@click.option("--against", default="", metavar="ENCODER", help="List every encoder's difference to this one.")
@click.option("--general", is_flag=True, help="Add the domain gap: each task beside its general counterpart.")
@click.option("--format", "style", default="text", metavar="NAME", help="text (default), markdown, latex or csv")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to a file instead.")
@click.option("--resamples", default=10_000, metavar="N", help="Resamples of the paired bootstrap; default 10,000.")
@click.option("--level", default=0.05, metavar="P", help="Level of significance; default 0.05.")
@click.option(
    "--correction", default="holm", metavar="NAME", help="holm (default), bonferroni, bh (Benjamini and Hochberg) or none"
)
@click.option("--seed", default=1111, metavar="N", help="Seed of the resamples; default 1111.")
def compare(
    what: tuple[str, ...],
    folder: Path,
    tasks: str | None,
    beside: tuple[str, ...],
    against: str,
    general: bool,
    style: str,
    output: Path | None,
    resamples: int,
    level: float,
    correction: str,
    seed: int,
) -> None:
    """Compare encoders: which is better, by how much, and is it real?

    RESULTS are folders or files that `medsenteval run` stored; ENCODER is the name of an encoder in the results folder. Without
    either, everything in the results folder is compared.
    """
    from medsenteval import registry
    from medsenteval.compare import compare_results
    from medsenteval.errors import SettingsError
    from medsenteval.report.comparison import FORMATS, render_comparison
    from medsenteval.store import load_results
    from medsenteval.writing import write_atomically

    if style not in FORMATS:
        raise SettingsError(f"--format is {style!r}; it can be {', '.join(FORMATS)}")
    results = load_results(what, folder)
    if tasks is not None:
        chosen = {task.name for task in registry.select_tasks(tasks)}
        results = [result for result in results if result.task in chosen]
        if not results:
            raise SettingsError(f"no result of the tasks {tasks!r}")
    numbers = _numbers(beside)
    comparison = compare_results(results, resamples=resamples, level=level, correction=correction, seed=seed, published=numbers)
    if against and against not in comparison.encoders:
        raise SettingsError(f"--against is {against!r}; the encoders are {', '.join(comparison.encoders)}")
    text = render_comparison(comparison, style, against)
    if general:
        from medsenteval.domain_gap import domain_gaps
        from medsenteval.report.gap import render_gaps

        text += "\n\n" + render_gaps(domain_gaps(results), style)
    if output is None:
        click.echo(text)
    else:
        write_atomically(output, text + "\n")
        click.echo(f"written: {output}", err=True)


def _numbers(beside: tuple[str, ...]) -> list[PublishedNumber]:
    from medsenteval.interop.mteb_results import read_mteb_folder
    from medsenteval.published.numbers import published_numbers, select_numbers

    numbers: list[PublishedNumber] = []
    for source in beside:
        if source == "published":
            numbers.extend(published_numbers())
        elif Path(source).is_dir():
            numbers.extend(read_mteb_folder(Path(source)))
        else:
            numbers.extend(select_numbers(table=source))
    return numbers

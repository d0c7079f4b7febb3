"""``medsenteval run``: encoders times tasks into stored results and tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from medsenteval.commands import BAD_INPUT, DATA_ABSENT

if TYPE_CHECKING:
    from medsenteval.settings import Settings
    from medsenteval.suite import SuiteOutcome

__all__ = ["run"]


@click.command()
@click.argument("suite", required=False, metavar="[SUITE.toml]", type=click.Path(path_type=Path))
@click.option("-e", "--encoder", "encoders", multiple=True, metavar="SPEC",
              help="KIND:ARGUMENT,OPTION=VALUE,... or a published encoder's name; repeat for several; default lexical. "
                   "`medsenteval encoders` lists both.")  # fmt: skip
@click.option("-t", "--tasks", metavar="NAMES",
              help="Tasks or groups of tasks, separated by commas: sentence,RQE; default sentence")  # fmt: skip
@click.option("-d", "--data", metavar="FOLDER", help="Data folder; default MEDSENTEVAL_DATA, then the bundled sample.")
@click.option("-o", "--output", metavar="FOLDER", type=click.Path(path_type=Path),
              help="Where results are stored, a JSON file each; default results.")  # fmt: skip
@click.option("--probe", metavar="NAME", help="exact (default), sklearn, senteval (SentEval's torch loop) or mlp")
@click.option("--grid", metavar="NAME", help="Penalties to search: senteval (default) or wide")
@click.option("--folds", type=int, metavar="K", help="Folds of cross-validation; default 10")
@click.option("--grouped", is_flag=True, default=None, help="Keep all rows of a question, tweet or paper in one fold.")
@click.option("--seed", "--seeds", "seeds", metavar="N,...", help="One seed or several (mean and spread); default 1111")
@click.option("--limit", type=int, metavar="N", help="Use N rows of each split only, to try things out.")
@click.option("--train-fraction", "train_fractions", metavar="F,...",
              help="Train on this share of the training rows; several shares make a learning curve.")  # fmt: skip
@click.option("--shots", metavar="N,...", help="Train on N rows of each class; several numbers make a curve.")
@click.option("--draws", type=int, metavar="N", help="How often a part of the training rows is drawn; default 10")
@click.option("--few-shot", metavar="NAME", help="own (default), or mteb for its few-shot protocol")
@click.option("--batch-size", type=int, metavar="N", help="Texts handed to the encoder at once; default 128")
@click.option("--option", "options", multiple=True, metavar="TASK.NAME=VALUE",
              help="A reading option of a task: BioASQ.snippets=all")  # fmt: skip
@click.option("-x", "--executor", metavar="WHERE",
              help="Where work runs: in-process (default), processes:N, dask:N or dask://HOST:PORT; "
                   "scores do not depend on it")  # fmt: skip
@click.option("--only-missing", is_flag=True, help="Run jobs only that have neither a result nor a failure; the default.")
@click.option("--force", is_flag=True, help="Run jobs again whose results are stored.")
@click.option("--retry-failed", is_flag=True, help="Run jobs again that failed before.")
@click.option(
    "--plan", "plan_only", is_flag=True, help="Say what would be done for each job and how long it may take, and stop."
)
@click.option("--no-cache", is_flag=True, help="Neither read nor write the embedding cache.")
@click.option("--quality", is_flag=True, help="Report duplicates, leaks and the best possible score of each data set too.")
@click.option("--quiet", is_flag=True, help="No progress: tables and notes only.")
def run(
    suite: Path | None,
    encoders: tuple[str, ...],
    tasks: str | None,
    data: str | None,
    output: Path | None,
    seeds: str | None,
    options: tuple[str, ...],
    executor: str | None,
    only_missing: bool,
    force: bool,
    retry_failed: bool,
    plan_only: bool,
    no_cache: bool,
    quality: bool,
    quiet: bool,
    train_fractions: str | None,
    shots: str | None,
    few_shot: str | None,
    **settings: str | int | bool | None,
) -> None:
    """Score encoders on tasks and print a table like the paper's Table 3.

    Everything can stand in a SUITE.toml; options given here win over it. A rerun does only what is missing.
    """
    from medsenteval import registry
    from medsenteval.cache import EmbeddingCache
    from medsenteval.store import ResultStore
    from medsenteval.suite import Suite, SuiteOutcome
    from medsenteval.suitefile import SuiteDescription, read_suite

    if only_missing and (force or retry_failed):
        raise click.UsageError(f"--only-missing excludes {'--force' if force else '--retry-failed'}")
    described = SuiteDescription() if suite is None else read_suite(suite)
    changes = {name: value for name, value in settings.items() if value is not None}
    task_options = {**described.settings.task_options, **_task_options(options)}
    selected = registry.select_tasks(tasks if tasks is not None else described.tasks)
    chosen = described.settings.with_changes(**changes, task_options=task_options)
    folder = output or described.output
    together = SuiteOutcome()
    for part in _parts_of_training(train_fractions, shots, few_shot):
        to_run = Suite(
            encoders or described.encoders,
            selected,
            chosen.with_changes(**part),
            described.seeds if seeds is None else _seeds(seeds),
            data=data or described.data,
            store=ResultStore(folder),
            cache=None if no_cache else EmbeddingCache(),
            force=force,
            retry_failed=retry_failed,
            executor=executor or described.executor,
            progress=not quiet,
            announce=lambda message: None if quiet else click.echo(message, err=True),
        )
        if plan_only:
            click.echo(to_run.describe(to_run.plan()).table())
            continue
        outcome = to_run.run()
        together.results += outcome.results
        together.skipped |= outcome.skipped
        together.failed |= outcome.failed
        together.reused += outcome.reused
    if plan_only:
        return
    _show_tables(together, folder)
    if quality:
        _show_quality(together, data or described.data, chosen)
    _end(together, quiet)


def _parts_of_training(
    train_fractions: str | None, shots: str | None, few_shot: str | None
) -> list[dict[str, float | int | str]]:
    """Return the changes of settings for each point of a learning curve; one empty change without a curve."""
    from medsenteval.errors import SettingsError

    if train_fractions is not None and shots is not None:
        raise SettingsError("--train-fraction and --shots exclude each other")
    common: dict[str, float | int | str] = {} if few_shot is None else {"few_shot": few_shot}
    try:
        if shots is not None:
            return [{"shots": int(text), **common} for text in shots.split(",")]
        if train_fractions is not None:
            return [{"train_fraction": float(text), **common} for text in train_fractions.split(",")]
    except ValueError as error:
        raise SettingsError(f"--train-fraction and --shots take numbers separated by commas: {error}") from error
    return [common]


def _show_tables(outcome: SuiteOutcome, folder: Path) -> None:
    """Print the tables, with what is to be said of each data set."""
    from medsenteval.report.table import detail_table, score_table

    if outcome.results:
        click.echo()
        click.echo(detail_table(outcome.results))
        click.echo()
        click.echo(score_table(outcome.results))
        for note in dict.fromkeys(f"{result.task}: {note}" for result in outcome.results for note in result.notes):
            click.echo(f"Note: {note}")
        reused = f", {outcome.reused} of them from an earlier run" if outcome.reused else ""
        click.echo(f"\n{len(outcome.results)} result(s) stored in {folder}{reused}")


def _show_quality(outcome: SuiteOutcome, data: str | Path | None, settings: Settings) -> None:
    """Print each scored data set's leaks and contradictions, read with the options that were scored."""
    from medsenteval import registry
    from medsenteval.datasets import data_root, load_dataset
    from medsenteval.quality import describe_quality, examine_quality

    click.echo()
    for name in dict.fromkeys(result.task for result in outcome.results):
        dataset = load_dataset(registry.task(name), data_root(data), settings)
        for line in describe_quality(examine_quality(dataset)):
            click.echo(f"Quality: {name}: {line}")


def _end(outcome: SuiteOutcome, quiet: bool) -> None:
    """End with the exit code that the outcome calls for; reasons are said now if nothing was said before."""
    if quiet:
        for (_, task), error in outcome.failed.items():
            click.echo(f"{task}: failed: {error}", err=True)
        for task, reason in outcome.skipped.items():
            click.echo(f"{task}: left out: {reason}", err=True)
    if outcome.failed:
        names = ", ".join(sorted({task for _, task in outcome.failed}))
        click.echo(f"Failed: {names} (the reasons stand above)", err=True)
        sys.exit(BAD_INPUT)
    if outcome.skipped:
        click.echo(f"Left out, data absent: {', '.join(outcome.skipped)} (how to get it stands above)", err=True)
        sys.exit(DATA_ABSENT)


def _seeds(text: str) -> tuple[int, ...]:
    from medsenteval.errors import SettingsError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise SettingsError(f"--seeds is {text!r}; expected whole numbers separated by commas")
    return tuple(dict.fromkeys(map(int, parts)))


def _task_options(options: tuple[str, ...]) -> dict[str, dict[str, str]]:
    from medsenteval import registry
    from medsenteval.errors import SettingsError

    collected: dict[str, dict[str, str]] = {}
    for option in options:
        name, equals, value = option.partition("=")
        task, dot, key = name.partition(".")
        if not equals or not dot:
            raise SettingsError(f"--option is {option!r}; expected TASK.NAME=VALUE, for example BioASQ.snippets=all")
        collected.setdefault(registry.task(task).name, {})[key] = value
    return collected

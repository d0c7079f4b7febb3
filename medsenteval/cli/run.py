"""``medsenteval run``: encoders times tasks into stored results and tables."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from medsenteval.cli.commands import BAD_INPUT, DATA_ABSENT
from medsenteval.cli.shared import DATA, PATH, announcer, echo, numbers, task_names, whole_numbers
from medsenteval.errors import SettingsError

if TYPE_CHECKING:
    from medsenteval.running.suite import Suite, SuiteOutcome


@click.command()
@click.argument("suite", required=False, metavar="[SUITE.toml]", type=PATH)
@click.option("-e", "--encoder", "encoders", multiple=True, metavar="SPEC",
              help="KIND:ARGUMENT,OPTION=VALUE,... or a published encoder's name; repeat for several; default lexical. "
                   "`medsenteval encoders` lists both.")  # fmt: skip
@task_names(
    "Tasks or groups of tasks, separated by commas: sentence,RQE; your own data: file:notes.csv,label=severity; "
    "default sentence"
)
@DATA
@click.option("-o", "--output", metavar="FOLDER", type=PATH, help="Where results go, a JSON file each; default results.")
@click.option("--probe", metavar="NAME", help="exact (default), sklearn, senteval (SentEval's torch loop) or mlp")
@click.option("--grid", metavar="NAME", help="Penalties to search: senteval (default) or wide")
@click.option("--folds", type=int, metavar="K", help="Folds of cross-validation; default 10")
@click.option("--grouped", is_flag=True, default=None, help="Keep all rows of a question, tweet or paper in one fold.")
@click.option("--seed", "--seeds", "seeds", metavar="N,...", callback=whole_numbers,
              help="One seed or several (mean and spread); default 1111")  # fmt: skip
@click.option("--limit", type=int, metavar="N", help="Use N rows of each split only, to try things out.")
@click.option("--allow-incomplete", is_flag=True, default=None,
              help="Score data sets too that are far from their published size or lost over 2 % of their rows.")  # fmt: skip
@click.option("--train-fraction", "train_fractions", metavar="F,...", callback=numbers,
              help="Train on this share of the training rows; several shares make a learning curve.")  # fmt: skip
@click.option("--shots", metavar="N,...", callback=whole_numbers,
              help="Train on N rows of each class; several numbers make a curve.")  # fmt: skip
@click.option("--draws", type=int, metavar="N", help="How often a part of the training rows is drawn; default 10")
@click.option("--few-shot", metavar="NAME", help="own (default), or mteb for its few-shot protocol")
@click.option("--batch-size", type=int, metavar="N", help="Texts handed to the encoder at once; default 128")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N",
              help="Tokens that the endpoint: encoders may use together; the run ends before it could use more.")  # fmt: skip
@click.option("--option", "options", multiple=True, metavar="TASK.NAME=VALUE", help="A reading option: BioASQ.snippets=all")
@click.option("-x", "--executor", metavar="WHERE",
              help="Where work runs: in-process (default), processes:N, dask://HOST:PORT; no score depends on it")  # fmt: skip
@click.option("--only-missing", is_flag=True, help="Run jobs only that have neither a result nor a failure; the default.")
@click.option("--force", is_flag=True, help="Run jobs again whose results are stored.")
@click.option("--retry-failed", is_flag=True, help="Run jobs again that failed before.")
@click.option("--plan", "plan_only", is_flag=True, help="Say what would be done for each job, and how long it may take; stop.")
@click.option("--allow-code", is_flag=True,
              help="Trust what SUITE.toml names: code (python:, mteb:), servers (endpoint:, dask://).")  # fmt: skip
@click.option("--no-cache", is_flag=True, help="Neither read nor write the embedding cache.")
@click.option("--common-pairs", is_flag=True,
              help="Show word similarity on the pairs whose words all encoders know, not on all that each knows.")  # fmt: skip
@click.option("--quality", is_flag=True, help="Report duplicates, leaks and the best possible score of each data set too.")
@click.option("--progress", is_flag=True, help="Lines of progress every few seconds where no terminal shows a bar.")
@click.option("--quiet", is_flag=True, help="No progress: tables and notes only.")
def run(
    suite: Path | None,
    encoders: tuple[str, ...],
    tasks: str | None,
    data: str | None,
    output: Path | None,
    seeds: tuple[int, ...],
    options: tuple[str, ...],
    executor: str | None,
    only_missing: bool,
    force: bool,
    retry_failed: bool,
    plan_only: bool,
    allow_code: bool,
    no_cache: bool,
    common_pairs: bool,
    quality: bool,
    progress: bool,
    quiet: bool,
    train_fractions: tuple[float, ...],
    shots: tuple[int, ...],
    max_tokens: int | None,
    **settings: str | int | bool | None,
) -> None:
    """Score encoders on tasks and print a table like the paper's Table 3.

    Everything can stand in a SUITE.toml; options given here win over it. A rerun does only what is missing.
    """
    from medsenteval import registry
    from medsenteval.embedding.cache import EmbeddingCache
    from medsenteval.encoders.endpoint_budget import TokenBudget
    from medsenteval.running.result_store import ResultStore
    from medsenteval.running.suite import Suite, SuiteOutcome
    from medsenteval.running.suite_file import SuiteDescription, read_suite, what_needs_trust

    if only_missing and (force or retry_failed):
        raise click.UsageError(f"--only-missing excludes {'--force' if force else '--retry-failed'}")
    described = SuiteDescription() if suite is None else read_suite(suite)
    # What is given on the command line replaces what the file says, and is the user's own word.
    given: dict[str, Any] = {"encoders": encoders, "executor": executor, "output": output, "seeds": seeds}
    given["data"] = Path(data) if data else None
    described = replace(described, **{name: value for name, value in given.items() if value})
    named = what_needs_trust(described) if suite is not None and not allow_code else []
    if from_file := [name for name in named if name not in (*encoders, executor)]:
        raise SettingsError(
            f"{suite} names {', '.join(from_file)}: that runs code or hands texts and keys to another machine. Nothing was "
            "loaded. If you know what it does, repeat the command with --allow-code"
        )
    changes: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    changes["task_options"] = {**described.settings.task_options, **_task_options(options)}
    selected = registry.select_tasks(tasks if tasks is not None else described.tasks)
    folder, store = described.output, ResultStore(described.output)
    cache, budget = None if no_cache else EmbeddingCache(), None if max_tokens is None else TokenBudget(max_tokens)
    together = SuiteOutcome()
    if train_fractions and shots:
        raise SettingsError("--train-fraction and --shots exclude each other")
    parts: list[dict[str, Any]] = [{"train_fraction": share} for share in train_fractions] or [{"shots": n} for n in shots]
    for part in parts or [{}]:
        to_run = Suite(
            described.encoders,
            selected,
            described.settings.with_changes(**changes, **part),
            described.seeds,
            data=described.data,
            store=store,
            cache=cache,
            force=force,
            retry_failed=retry_failed,
            executor=described.executor,
            progress=False if quiet else progress or None,
            budget=budget,
            announce=announcer(quiet),
        )
        if plan_only:
            _show_plan(to_run, folder, together)
        else:
            to_run.run(together)
    if common_pairs:
        from medsenteval.comparison.common_pairs import on_common_pairs

        together.results = on_common_pairs(together.results)
    if together.results:
        _show_tables(together, folder)
    if quality and not plan_only:
        _show_quality(together, to_run)
    _end(together, quiet or plan_only)


def _show_plan(suite: Suite, folder: Path, outcome: SuiteOutcome) -> None:
    """Print what every job is going to take and how small a difference it could show; ``outcome`` gets what cannot be read."""
    from medsenteval.comparison.decision import planned_differences
    from medsenteval.running.result_store import ResultStore

    jobs = suite.plan(outcome)
    tasks = {job.task.name: (job.task, 0 if job.dataset.synthetic else job.n_items) for job in jobs}
    stored = [result for result in ResultStore(folder).results() if result.task in tasks] if folder.is_dir() else []
    echo(suite.describe(jobs).table(planned_differences(tasks, stored)))


def _show_tables(outcome: SuiteOutcome, folder: Path) -> None:
    """Print the tables, with what is to be said of each data set."""
    from medsenteval.comparison.decision import shown_differences
    from medsenteval.running.score_table import detail_table, score_table
    from medsenteval.support.escaping import for_terminal

    results = outcome.results
    echo(f"\n{detail_table(results, shown_differences(results))}\n\n{score_table(results, with_notes=False)}")
    for note in dict.fromkeys(f"{result.task}: {note}" for result in results for note in result.notes):
        echo(f"Note: {for_terminal(note)}")
    reused = f", {outcome.reused} of them from an earlier run" if outcome.reused else ""
    echo(f"\n{len(results)} result(s) stored in {folder}{reused}")


def _show_quality(outcome: SuiteOutcome, suite: Suite) -> None:
    """Print each scored data set's leaks and contradictions, read with the options that were scored."""
    from medsenteval.datasets.locate import data_root, load_dataset
    from medsenteval.datasets.quality import quality_lines

    echo()
    tasks = {task.name: task for task in suite.tasks}
    for name in dict.fromkeys(result.task for result in outcome.results):
        dataset = load_dataset(tasks[name], data_root(suite.data), suite.settings)
        for line in quality_lines(dataset):
            echo(f"Quality: {name}: {line}")


def _end(outcome: SuiteOutcome, quiet: bool) -> None:
    """End with the exit code that the outcome calls for; reasons are said now if nothing was said before."""
    if quiet:
        for (_, task), error in outcome.failed.items():
            echo(f"{task}: failed: {error}", err=True)
        for task, reason in outcome.skipped.items():
            echo(f"{task}: left out: {reason}", err=True)
    if outcome.failed:
        names = ", ".join(sorted({task for _, task in outcome.failed}))
        echo(f"Failed: {names} (see the messages above)", err=True)
        sys.exit(BAD_INPUT)
    if outcome.skipped:
        echo(f"Left out, data absent: {', '.join(outcome.skipped)} (see above how to get it)", err=True)
        sys.exit(DATA_ABSENT)


def _task_options(options: tuple[str, ...]) -> dict[str, dict[str, str]]:
    from medsenteval import registry

    collected: dict[str, dict[str, str]] = {}
    for option in options:
        name, equals, value = option.partition("=")
        task, dot, key = name.partition(".")
        if not equals or not dot:
            raise SettingsError(f"--option is {option!r}; expected TASK.NAME=VALUE, for example BioASQ.snippets=all")
        chosen = collected.setdefault(registry.task(task).name, {})
        if chosen.setdefault(key, value) != value:
            raise SettingsError(f"--option {task}.{key} is given twice, as {chosen[key]} and {value}; give it once")
    return collected

"""The command line: ``medsenteval run | tasks | encoders``.

Exit codes: 0 every selected task was scored; 1 an unexpected error; 2 wrong usage, unreadable data or a broken encoder; 3 tasks
were left out because their data is absent (all others were scored).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from medsenteval import __version__
from medsenteval.errors import MedSentEvalError

if TYPE_CHECKING:
    from medsenteval.contracts import Task

__all__ = ["main"]

BAD_INPUT: Final = 2
DATA_ABSENT: Final = 3


class _Group(click.Group):
    """Shows the toolkit's own errors as one line instead of a traceback."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except MedSentEvalError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(BAD_INPUT)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="medsenteval")
def main() -> None:
    """How good is a sentence encoder on biomedical text?

    Without options, `medsenteval run` scores the embedded encoder on the bundled synthetic sample of all ten tasks.
    """


@main.command()
@click.option("-e", "--encoder", "encoders", multiple=True, metavar="SPEC", default=("lexical",), show_default=True,
              help="KIND:ARGUMENT,OPTION=VALUE,...; repeat for several. `medsenteval encoders` lists the kinds.")  # fmt: skip
@click.option("-t", "--tasks", default="sentence", show_default=True, metavar="NAMES",
              help="Tasks or groups of tasks, separated by commas: sentence,RQE")  # fmt: skip
@click.option("-d", "--data", metavar="FOLDER", help="Data folder; default MEDSENTEVAL_DATA, then the bundled sample.")
@click.option("-o", "--output", metavar="FOLDER", default="results", show_default=True, type=click.Path(path_type=Path),
              help="Where results are stored, a JSON file each.")  # fmt: skip
@click.option("--probe", default="exact", show_default=True, metavar="NAME",
              help="exact, sklearn, senteval (SentEval's torch loop) or mlp")  # fmt: skip
@click.option("--grid", default="senteval", show_default=True, metavar="NAME", help="Penalties to search: senteval or wide")
@click.option("--folds", default=10, show_default=True, metavar="K", help="Folds of cross-validation")
@click.option("--grouped", is_flag=True, help="Keep all rows of a question, tweet or paper in one fold.")
@click.option("--seed", default=1111, show_default=True, metavar="N")
@click.option("--limit", type=int, metavar="N", help="Use N rows of each split only, to try things out.")
@click.option("--batch-size", default=128, show_default=True, metavar="N", help="Texts handed to the encoder at once")
@click.option("--option", "options", multiple=True, metavar="TASK.NAME=VALUE",
              help="A reading option of a task: BioASQ.snippets=all")  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress: tables and notes only.")
def run(
    encoders: tuple[str, ...],
    tasks: str,
    data: str | None,
    output: Path,
    probe: str,
    grid: str,
    folds: int,
    grouped: bool,
    seed: int,
    limit: int | None,
    batch_size: int,
    options: tuple[str, ...],
    quiet: bool,
) -> None:
    """Score encoders on tasks and print a table like the paper's Table 3."""
    from medsenteval import registry
    from medsenteval.report.table import detail_table, score_table
    from medsenteval.settings import Settings
    from medsenteval.suite import run_suite

    selected = registry.select_tasks(tasks)
    settings = Settings(
        probe=probe, grid=grid, folds=folds, grouped=grouped, seed=seed, limit=limit, batch_size=batch_size,
        task_options=_task_options(options),
    )  # fmt: skip
    outcome = run_suite(
        [registry.load_encoder(spec) for spec in encoders],
        selected,
        data=data,
        settings=settings,
        output=output,
        progress=not quiet,
        announce=lambda message: None if quiet else click.echo(message, err=True),
    )
    if outcome.results:
        click.echo()
        click.echo(detail_table(outcome.results))
        click.echo()
        click.echo(score_table(outcome.results))
        for note in dict.fromkeys(f"{result.task}: {note}" for result in outcome.results for note in result.notes):
            click.echo(f"Note: {note}")
        click.echo(f"\n{len(outcome.results)} result(s) stored in {output}")
    if outcome.failed:
        names = ", ".join(sorted({task for _, task in outcome.failed}))
        click.echo(f"Failed: {names} (the reasons stand above)", err=True)
        sys.exit(BAD_INPUT)
    if outcome.skipped:
        click.echo(f"Left out, data absent: {', '.join(outcome.skipped)} (how to get it stands above)", err=True)
        sys.exit(DATA_ABSENT)


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


@main.command()
@click.argument("name", required=False)
@click.option("-d", "--data", metavar="FOLDER", help="Data folder; default MEDSENTEVAL_DATA, then the bundled sample.")
def tasks(name: str | None, data: str | None) -> None:
    """List the tasks and whether their data is there; with NAME, say what to cite, the licence and how to get the data."""
    from medsenteval import registry
    from medsenteval.datasets import data_root, locate
    from medsenteval.errors import DataMissingError
    from medsenteval.report.table import text_table

    if name is not None:
        click.echo(_describe(registry.task(name)))
        return
    root = data_root(data)
    rows = []
    for task in map(registry.task, registry.task_names()):
        try:
            where = str(locate(task, root))
        except DataMissingError:
            where = f"absent ({task.access})"
        options = " ".join(f"{key}={'|'.join(values)}" for key, values in task.options.items())
        classes = str(len(task.labels)) if task.labels else ""
        rows.append([task.name, task.family, classes, task.protocol, "/".join(task.metrics), options, where])
    header = ["Task", "Family", "Classes", "Protocol", "Metrics", "Options", "Data"]
    click.echo(text_table(header, rows, [False, False, True, False, False, False, False]))


def _describe(task: Task) -> str:
    counts = ", ".join(f"{split} {count:,}" for split, count in task.published_counts.items())
    lines = {
        "Task": f"{task.name} (version {task.version}): {task.family}, {task.protocol}, {'/'.join(task.metrics)}",
        "Labels": ", ".join(task.labels),
        "Published": counts,
        "Options": " ".join(f"{key}={'|'.join(values)}" for key, values in task.options.items()),
        "Cite": task.citation,
        "Licence": task.licence,
        "Access": task.access,
        "To get it": task.obtain,
    }
    return "\n".join(f"{key + ':':<11}{value}" for key, value in lines.items() if value)


@main.command()
def encoders() -> None:
    """List the kinds of encoder that --encoder can name."""
    from medsenteval import registry
    from medsenteval.report.table import text_table

    rows = [[kind, argument] for kind, argument in registry.encoder_kinds().items()]
    click.echo(text_table(["Kind", "Argument"], rows, [False, False]))
    click.echo("\nWritten KIND:ARGUMENT,OPTION=VALUE, for example vectors:glove.6B.100d.txt,case=lower")

"""The command line: ``medsenteval run | tasks | encoders | cache | train-infersent``.

Exit codes: 0 every selected task was scored; 1 an unexpected error; 2 wrong usage, unreadable data or a broken encoder; 3 tasks
were left out because their data is absent (all others were scored).
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from medsenteval import __version__
from medsenteval.errors import MedSentEvalError

if TYPE_CHECKING:
    from medsenteval.contracts import Task
    from medsenteval.suite import SuiteOutcome

__all__ = ["main"]

BAD_INPUT: Final = 2
DATA_ABSENT: Final = 3


#: Commands whose options live with their code, and what --help says of them without importing it.
_LAZY_COMMANDS: Final = {
    "train-infersent": (
        "medsenteval.encoders.infersent_training:train_infersent_command",
        "Train InferSent on a data set in MedNLI's format.",
    )
}


class _Group(click.Group):
    """Shows the toolkit's own errors as one line instead of a traceback, and imports lazy commands when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *_LAZY_COMMANDS])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _LAZY_COMMANDS:
            return super().get_command(context, name)
        module, _, attribute = _LAZY_COMMANDS[name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [
            (name, self.commands[name].get_short_help_str(80) if name in self.commands else _LAZY_COMMANDS[name][1])
            for name in self.list_commands(context)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

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
@click.option("--batch-size", type=int, metavar="N", help="Texts handed to the encoder at once; default 128")
@click.option("--option", "options", multiple=True, metavar="TASK.NAME=VALUE",
              help="A reading option of a task: BioASQ.snippets=all")  # fmt: skip
@click.option("--force", is_flag=True, help="Run jobs again whose results are stored.")
@click.option("--retry-failed", is_flag=True, help="Run jobs again that failed before.")
@click.option("--plan", "plan_only", is_flag=True, help="Say what would be done, and stop.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the embedding cache.")
@click.option("--quiet", is_flag=True, help="No progress: tables and notes only.")
def run(
    suite: Path | None,
    encoders: tuple[str, ...],
    tasks: str | None,
    data: str | None,
    output: Path | None,
    seeds: str | None,
    options: tuple[str, ...],
    force: bool,
    retry_failed: bool,
    plan_only: bool,
    no_cache: bool,
    quiet: bool,
    **settings: str | int | bool | None,
) -> None:
    """Score encoders on tasks and print a table like the paper's Table 3.

    Everything can stand in a SUITE.toml; options given here win over it. A rerun does only what is missing.
    """
    from medsenteval import registry
    from medsenteval.cache import EmbeddingCache
    from medsenteval.store import ResultStore
    from medsenteval.suite import Suite
    from medsenteval.suitefile import SuiteDescription, read_suite

    described = SuiteDescription() if suite is None else read_suite(suite)
    changes = {name: value for name, value in settings.items() if value is not None}
    task_options = {**described.settings.task_options, **_task_options(options)}
    selected = registry.select_tasks(tasks if tasks is not None else described.tasks)
    chosen = described.settings.with_changes(**changes, task_options=task_options)
    folder = output or described.output
    to_run = Suite(
        [registry.load_encoder(spec) for spec in encoders or described.encoders],
        selected,
        chosen,
        described.seeds if seeds is None else _seeds(seeds),
        data=data or described.data,
        store=ResultStore(folder),
        cache=None if no_cache else EmbeddingCache(),
        force=force,
        retry_failed=retry_failed,
        progress=not quiet,
        announce=lambda message: None if quiet else click.echo(message, err=True),
    )
    if plan_only:
        click.echo(to_run.describe(to_run.plan()))
        return
    _show(to_run.run(), folder)


def _show(outcome: SuiteOutcome, folder: Path) -> None:
    """Print the tables and end with the exit code that the outcome calls for."""
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
@click.argument("name", required=False)
def encoders(name: str | None) -> None:
    """List the kinds of encoder and the published encoders that --encoder can name; with NAME, say all about one."""
    from medsenteval import registry
    from medsenteval.encoders.recipes import describe, recipes
    from medsenteval.report.table import text_table

    kinds = registry.encoder_kinds()
    if name is not None:
        canonical, recipe = registry.encoder_name(name)
        click.echo(f"{canonical}: {kinds[canonical]}" if recipe is None else describe(recipe))
        return
    click.echo(text_table(["Kind", "Argument"], list(kinds.items()), [False, False]))
    click.echo("\nWritten KIND:ARGUMENT,OPTION=VALUE, for example vectors:glove.6B.100d.txt,case=lower\n")
    rows = []
    for recipe in recipes().values():
        weights = "automatic" if recipe.automatic else "present" if recipe.present else "by hand"
        size = "unknown" if recipe.dimension is None else str(recipe.dimension)
        rows.append([recipe.name, recipe.kind, size, weights, "; ".join(map(str, recipe.rows))])
    click.echo(text_table(["Published encoder", "Kind", "Size", "Weights", "Rows"], rows, [False, False, True, False, False]))
    click.echo("\nWritten by name, for example biobert or biobert,max_length=256. `medsenteval encoders NAME` says where")
    click.echo("the weights come from and, where they are fetched by hand, what to put where.")


@main.group()
def cache() -> None:
    """The embedding cache: what is in it, what can go."""


@cache.command()
def info() -> None:
    """Show every entry: encoder, task, texts, size, completeness."""
    from medsenteval.cache import EmbeddingCache
    from medsenteval.report.table import text_table

    found = EmbeddingCache()
    rows, total = [], 0
    for entry, about in found.entries():
        total += entry.size
        complete = f"{entry.n_recorded} of {entry.n_blocks}" if about else "unreadable"
        names = [str(about.get(key, "?")) for key in ("encoder", "task", "rows", "dimension")]
        rows.append([entry.key[:12], *names, f"{entry.size / 1e6:,.1f}", complete])
    header = ["Entry", "Encoder", "Task", "Texts", "Size", "MB", "Blocks"]
    click.echo(text_table(header, rows, [False, False, False, True, True, True, True]))
    click.echo(f"\n{len(rows)} entries, {total / 1e6:,.1f} MB in {found.folder}")


@cache.command()
def verify() -> None:
    """Check every stored block against its hash; exit code 2 if anything is damaged."""
    from medsenteval.cache import EmbeddingCache

    damaged = 0
    for entry, about in EmbeddingCache().entries():
        wrong = entry.damaged_blocks() if about else [0]
        damaged += bool(wrong)
        state = f"{len(wrong)} damaged block(s), computed again when next used" if wrong else "sound"
        click.echo(f"{entry.key[:12]}: {about.get('encoder', '?')} on {about.get('task', '?')}: {state}")
    if damaged:
        sys.exit(BAD_INPUT)


@cache.command()
@click.option("--encoder", metavar="NAME", help="Only entries of this encoder.")
@click.option("--task", metavar="NAME", help="Only entries of this task.")
@click.option("--older-than", type=float, metavar="DAYS", help="Only entries not used for so many days.")
@click.option("--all", "everything", is_flag=True, help="All entries.")
def prune(encoder: str | None, task: str | None, older_than: float | None, everything: bool) -> None:
    """Remove entries; say which."""
    from medsenteval.cache import EmbeddingCache

    if not (encoder or task or older_than is not None or everything):
        raise click.UsageError("say which entries: --encoder, --task, --older-than or --all")
    found = EmbeddingCache()
    freed = 0
    for entry, about in found.entries():
        chosen = (encoder in (None, about.get("encoder"))) and (task in (None, about.get("task")))
        if chosen and (older_than is None or entry.days_unused > older_than):
            freed += entry.size
            found.remove(entry)
            click.echo(f"removed {entry.key[:12]}: {about.get('encoder', '?')} on {about.get('task', '?')}")
    click.echo(f"{freed / 1e6:,.1f} MB freed")

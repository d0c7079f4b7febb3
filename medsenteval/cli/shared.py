"""What commands share: options, how their texts are read, and how things are shown or written.

Names and texts of strangers cannot move the cursor, change colours or clear the screen.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from medsenteval.errors import SettingsError
from medsenteval.support.escaping import for_terminal

if TYPE_CHECKING:
    from medsenteval.contracts import Result
    from medsenteval.report.charts.drawing import Drawing

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S")


def level_of(context: click.Context, option: click.Parameter, level: float) -> float:
    """Refuse what is no level of significance, as its option's callback: under 5 every difference would be significant."""
    if not 0 < level < 1:
        raise SettingsError(f"--level is {level:g}; it must lie between 0 and 1, as 0.05 does")
    return level


def task_names(said: str, default: str | None = None) -> Callable[[F], F]:
    """Give a command the option --tasks; names after one --tasks and after several count alike."""

    def joined(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> str | None:
        return ",".join(texts) if texts else default

    return click.option("-t", "--tasks", multiple=True, metavar="NAMES", callback=joined, help=said)


PATH = click.Path(path_type=Path)
SEED = click.IntRange(min=0)
ONLY_TASKS = task_names("Only these tasks or groups of tasks.")
DATA = click.option("-d", "--data", metavar="FOLDER", help="Data folder; default MEDSENTEVAL_DATA, then the bundled sample.")
LEVEL = click.option("--level", default=0.05, metavar="P", callback=level_of, help="Level of significance; default 0.05.")
FIGURE = click.option("--figure", type=PATH, metavar="FILE", help="Draw it: .svg, .png or .pdf")
TO_FILE = click.option("-o", "--output", type=PATH, metavar="FILE", help="Write to a file instead.")
SUBSETS_BY = click.option("--subsets-by", type=PATH, metavar="TABLE",
                          help="Words and their values: adds curves of word similarity by frequency or the like.")  # fmt: skip
RESAMPLES = click.option("--resamples", default=10_000, metavar="N", help="Resamples of the paired bootstrap; default 10,000.")
FORMAT = click.option("--format", "style", type=click.Choice(["text", "markdown", "latex", "csv"]), default="text",
                      help="Of the table; default text.")  # fmt: skip
CORRECTION = click.option("--correction", default="holm", metavar="NAME",
                          help="holm (default), bonferroni, benjamini-hochberg or none")  # fmt: skip
_wide = click.option("--wide", is_flag=True, help="Whole cells, however long lines get.")
_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table, for programs.")


def echo(message: object = "", err: bool = False, nl: bool = True) -> None:
    """Print a message; characters that a terminal would obey are shown instead, but for ends of line and tabs."""
    click.echo(for_terminal(str(message), keep="\n\t"), err=err, nl=nl)


def for_machines(command: F) -> F:
    """Give a command that lists things the options --wide and --json."""
    return _wide(_json(command))


def line_width(wide: bool) -> int | None:
    """Return how long a line may be: COLUMNS, else the terminal's width; None where output goes to a file or a program."""
    columns = os.environ.get("COLUMNS", "")
    if wide or not (columns.isdecimal() or sys.stdout.isatty()):
        return None
    return max(40, int(columns) if columns.isdecimal() else shutil.get_terminal_size().columns)


def echo_wrapped(text: str, width: int | None) -> None:
    """Print a sentence below a listing, in lines that fit as the listing does."""
    from textwrap import fill

    echo(text if width is None else fill(text, width, break_long_words=False, break_on_hyphens=False))


def echo_facts(facts: Mapping[str, str]) -> None:
    """Print a line for each fact that there is, after what it is."""
    for name, fact in facts.items():
        if fact:
            echo(f"{name + ':':<11}{fact}")


def echo_json(content: Any) -> None:
    """Print what a listing holds as JSON."""
    echo(json.dumps(content, ensure_ascii=False, indent=1))


def results_named(command: F) -> F:
    """Let a command take folders or files of results and names of encoders."""
    what = click.argument("what", nargs=-1, metavar="[RESULTS|ENCODER]...")
    folder = click.option("-r", "--results", "folder", default="results", type=PATH, metavar="FOLDER",
                          help="Where encoders named by their name have their results; default results.")  # fmt: skip
    return what(folder(command))


def with_results(command: Callable[..., None]) -> Callable[..., None]:
    """Hand a command the results themselves that ``results_named`` and ``ONLY_TASKS`` choose, settled."""

    @wraps(command)
    def loaded(what: Sequence[str], folder: Path, tasks: str | None = None, **options: Any) -> None:
        from medsenteval.running.result_store import load_results, of_tasks

        command(settled(of_tasks(load_results(what, folder), tasks)), **options)

    return results_named(loaded)


def settled(results: Sequence[Result]) -> list[Result]:
    """Return the newest result of each job, two encoders of one name under two, and say what was left out."""
    from medsenteval.running.job_identity import one_for_each_job

    kept, notes = one_for_each_job(results)
    for note in notes:
        echo(f"Note: {note}.", err=True)
    return kept


def say_cautions(results: Sequence[Result]) -> None:
    """Name each score that is to be read with care, for tables whose cells have no place for its mark."""
    for result in results:
        for caution in result.cautions:
            echo(f"Caution: {result.task}, {result.encoder}: {caution}.")


def announcer(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints what a command is doing beside its output, or nothing where it is to be quiet."""
    return lambda message: None if quiet else echo(message, err=True)


def one_source(**places: Path | None) -> tuple[str, Path]:
    """Return which of several options was given, and the file or folder that it names."""
    named = [(kind, place) for kind, place in places.items() if place is not None]
    if len(named) != 1:
        *first, last = (f"--{kind}" for kind in places)
        raise click.UsageError(f"name one source: {', '.join(first)} or {last}")
    return named[0]


def draw(figure: Path | None, make: Callable[[S], Drawing], scores: S) -> None:
    """Write what ``make`` draws of scores to the file that was named, if one was."""
    if figure is not None:
        from medsenteval.report.charts.figure_files import write_drawing

        write_drawing(make(scores), figure)
        echo(f"drawn: {figure}", err=True)


def say_synthetic(results: Sequence[Result], err: bool = False) -> None:
    """Say it where scores are those of synthetic data."""
    from medsenteval.running.score_table import SYNTHETIC_WARNING

    if any(result.synthetic for result in results):
        echo(SYNTHETIC_WARNING, err=err)


def write_or_echo(text: str, output: Path | None) -> None:
    """Print a text that ends a line, or write it to the file that was named."""
    from medsenteval.support.atomic_files import write_atomically

    if output is None:
        echo(text, nl=False)
    else:
        write_atomically(output, text)
        echo(f"written: {output}", err=True)


def names_in(text: str | None) -> list[str]:
    """Split an option's names at commas."""
    return [name for part in (text or "").split(",") if (name := part.strip())]


def whole_numbers(context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Read an option's whole numbers, each once, as its callback; none where it is not given."""
    parts = [] if text is None else [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) < 20 for part in parts):
        raise SettingsError(f"{option.opts[-1]} is {text!r}; expected whole numbers separated by commas")
    return tuple(dict.fromkeys(map(int, parts)))


def numbers(context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...]:
    """Read an option's numbers as its callback; none where it is not given."""
    try:
        return tuple(float(part) for part in text.split(",")) if text is not None else ()
    except ValueError as error:
        raise SettingsError(f"{option.opts[-1]} is {text!r}; expected numbers separated by commas") from error


LIMITS = click.option("--limits", metavar="A,B,...", callback=numbers,
                      help="Where subsets end; default: groups of equally many words.")  # fmt: skip
GROUPS = click.option("--groups", type=int, default=3, metavar="N", show_default=True, help="How many groups without --limits.")

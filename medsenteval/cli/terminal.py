"""What commands say: names and texts of strangers cannot move the cursor, change colours or clear the screen."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from medsenteval.support.escaping import for_terminal

_wide = click.option("--wide", is_flag=True, help="Whole cells, however long lines get.")
_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table, for programs.")


def echo(message: object = "", err: bool = False, nl: bool = True) -> None:
    """Print a message; characters that a terminal would obey are shown instead, but for ends of line and tabs."""
    click.echo(for_terminal(str(message), keep="\n\t"), err=err, nl=nl)


F = TypeVar("F", bound=Callable[..., Any])


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

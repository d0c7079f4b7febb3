"""The command line; its commands are listed in ``medsenteval.cli``.

Exit codes: 0 every selected task was scored; 1 an unexpected error; 2 wrong usage, unreadable data or a broken encoder; 3 tasks
were left out because their data is absent (all others were scored); 130 an interrupt.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import warnings
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import click

from medsenteval import __version__
from medsenteval.cli.commands import BAD_INPUT, COMMAND_GROUPS, COMMANDS, INTERRUPTED
from medsenteval.cli.shared import echo
from medsenteval.errors import MedSentEvalError, MedSentEvalWarning
from medsenteval.support.interrupts import noticing_interrupts, raise_if_interrupted

#: Seconds that threads are given to end after an interrupt.
_PATIENCE: Final = 1.0
# Commands print what happens; without a handler Python would print warnings of the log a second time.
logging.getLogger("medsenteval").addHandler(logging.NullHandler())


class _Group(click.Group):
    """Shows the toolkit's own errors as one line instead of a traceback, and imports a command when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _ = COMMANDS[name]
        command: click.Command = getattr(import_module(f"medsenteval.cli.{module}"), name.replace("-", "_"))
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        # From the table, so that --help need not import every command.
        for title, commands in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, said) for name, (_, said) in commands.items()], col_max=16)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if name not in COMMANDS and not name.startswith("-"):
            # Letters that were mistyped, or the beginning of a name.
            near = [each for each in COMMANDS if each.startswith(name)] or get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
            hint = f"Did you mean {' or '.join(near)}?" if near else "`medsenteval --help` lists them."
            context.fail(f"No such command {name!r}. {hint}")
        return super().resolve_command(context, arguments)

    def invoke(self, context: click.Context) -> object:
        try:
            with warnings.catch_warnings(), noticing_interrupts():
                warnings.showwarning = _show_warning
                try:
                    return super().invoke(context)
                except Exception as error:
                    raise_if_interrupted(error)
                    raise
        except MedSentEvalError as error:
            echo(f"Error: {error}", err=True)
            sys.exit(BAD_INPUT)
        except OSError as error:
            if error.filename is None:
                raise
            # A full disk, a folder that is not there or not one's own: the machine's state, and nothing that a trace explains.
            echo(f"Error: {error.filename}: {error.strerror}; free some space, or name another place", err=True)
            sys.exit(BAD_INPUT)
        except KeyboardInterrupt as error:
            said = str(error) or "files are written whole or not at all, and the same command goes on"
            echo(f"\nInterrupted: {said}", err=True)
            _end_threads()
            sys.exit(INTERRUPTED)


def _end_threads() -> None:
    """End the process now if threads are busy in code that nothing can interrupt; Python would wait for them."""
    deadline = time.monotonic() + _PATIENCE
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(INTERRUPTED)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: str | None = None
) -> None:
    """Show the toolkit's own warnings as one line, all others as Python does."""
    if issubclass(category, MedSentEvalWarning):
        echo(f"Warning: {message}", err=True)
    else:
        echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="medsenteval")
def main() -> None:
    """How good is a sentence encoder on biomedical text?

    Without options, `medsenteval run` scores the embedded encoder on the bundled synthetic sample of all ten tasks.
    """

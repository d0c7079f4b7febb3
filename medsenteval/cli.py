"""The command line; its commands are listed in ``medsenteval.commands``.

Exit codes: 0 every selected task was scored; 1 an unexpected error; 2 wrong usage, unreadable data or a broken encoder; 3 tasks
were left out because their data is absent (all others were scored).
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from medsenteval import __version__
from medsenteval.commands import BAD_INPUT, COMMANDS
from medsenteval.errors import MedSentEvalError

__all__ = ["main"]


class _Group(click.Group):
    """Shows the toolkit's own errors as one line instead of a traceback, and imports a command when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        # From the table, so that --help need not import every command.
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(context)])

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

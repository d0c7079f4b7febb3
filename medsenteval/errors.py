"""Every error that the toolkit raises on purpose.

    MedSentEvalError
    ├── UnknownNameError        no task, encoder or option of that name (also an AssertionError, as SentEval raised)
    ├── SettingsError           a setting that cannot be honoured
    ├── DataError               a data set that cannot be read as it stands
    │   └── DataMissingError    its files are not there (a run skips the task and says how to get them)
    ├── EncoderError            weights that cannot be loaded, or an encoder that broke its contract
    │   └── MissingExtraError   a package that the encoder or probe needs is not installed
    ├── BudgetError             the tokens that a run may use are used up (the run ends; what is done is kept)
    ├── ProbeError              a classifier that cannot be fitted to these rows
    └── ExecutorError           workers that cannot be reached or started
        └── WorkerDiedError     work that ended the process it ran in, every time it was tried

Warnings are of the class MedSentEvalWarning: something was left out or done again, and the work goes on. Each message says
what happened, shows the offending value with its file and line, and names the remedy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MedSentEvalError(Exception):
    """Base of all errors that a user can act upon."""


class MedSentEvalWarning(UserWarning):
    """Base of all warnings: something was left out or done again, and the work goes on."""


class UnknownNameError(MedSentEvalError, AssertionError):
    """A name that is not registered; scripts written for SentEval catch it as AssertionError."""


class SettingsError(MedSentEvalError, ValueError):
    """A setting outside what it can be, or two settings that exclude each other."""


class DataError(MedSentEvalError, ValueError):
    """A file that is there but is not what its format promises."""


class DataMissingError(DataError):
    """The files of a data set were not found."""


class EncoderError(MedSentEvalError, ValueError):
    """An encoder that could not be loaded or returned something other than one finite row per text."""


class MissingExtraError(EncoderError, ImportError):
    """A package that an optional part needs is not installed."""

    def __init__(self, needed_for: str, package: str = "", extra: str = "") -> None:
        # The message alone is what it is made from again on its way home from a worker.
        remedy = f"install it with: pip install 'medsenteval[{extra}]'"
        super().__init__(
            f"{needed_for} needs the package {package!r}, which is not installed; {remedy}" if package else needed_for
        )


def import_extra(name: str, needed_for: str, extra: str, package: str = "") -> Any:
    """Import a package that not every installation has, or say how to install it; its name may be another there."""
    package = package or name
    try:
        return import_module(name)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name in (name, name.partition(".")[0]):
            raise MissingExtraError(needed_for, package, extra) from error
        raise MissingExtraError(
            f"{needed_for} needs the package {package!r}, which cannot be imported: {error}; "
            f"pip install 'medsenteval[{extra}]' brings what it needs"
        ) from error


class BudgetError(MedSentEvalError, RuntimeError):
    """The tokens that requests to a server may use are used up; no more is asked of it."""


class ProbeError(MedSentEvalError, ValueError):
    """A probe that cannot be fitted: one class only, no rows, rows that do not match labels."""


class ExecutorError(MedSentEvalError, RuntimeError):
    """Workers that cannot be reached or started, or that are not what the run needs."""


class WorkerDiedError(ExecutorError):
    """A piece of work whose worker died each time it was tried."""


def caused_by(error: BaseException, kinds: Any) -> bool:
    """Whether an error is of one of these kinds, or came about through one that is."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if isinstance(each, kinds):
            return True
        if id(each) not in seen:
            seen.add(id(each))
            waiting += [cause for cause in (each.__cause__, each.__context__) if cause is not None]
    return False

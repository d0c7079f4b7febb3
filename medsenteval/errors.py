"""Every error that the toolkit raises on purpose.

    MedSentEvalError
    ├── UnknownNameError        no task, encoder or option of that name (also an AssertionError, as SentEval raised)
    ├── SettingsError           a setting that cannot be honoured
    ├── DataError               a data set that cannot be read as it stands
    │   └── DataMissingError    its files are not there (a run skips the task and says how to get them)
    ├── EncoderError            weights that cannot be loaded, or an encoder that broke its contract
    │   └── MissingExtraError   a package that the encoder or probe needs is not installed
    ├── ProbeError              a classifier that cannot be fitted to these rows
    └── ExecutorError           workers that cannot be reached or started
        └── WorkerDiedError     work that ended the process it ran in, every time it was tried

Each message says what happened, shows the offending value with its file and line, and names the remedy.
"""

from __future__ import annotations

__all__ = [
    "DataError",
    "DataMissingError",
    "EncoderError",
    "ExecutorError",
    "MedSentEvalError",
    "MissingExtraError",
    "ProbeError",
    "SettingsError",
    "UnknownNameError",
    "WorkerDiedError",
]


class MedSentEvalError(Exception):
    """Base of all errors that a user can act upon."""


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

    def __init__(self, needed_for: str, package: str, extra: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'medsenteval[{extra}]'"
        )


class ProbeError(MedSentEvalError, ValueError):
    """A probe that cannot be fitted: one class only, no rows, rows that do not match labels."""


class ExecutorError(MedSentEvalError, RuntimeError):
    """Workers that cannot be reached or started, or that are not what the run needs."""


class WorkerDiedError(ExecutorError):
    """A piece of work whose worker died each time it was tried."""

"""Results on disk: a folder for each encoder, a file for each task and signature, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError, DataMissingError, MedSentEvalError, SettingsError
from medsenteval.results import SCHEMA, Result
from medsenteval.writing import write_atomically

__all__ = ["Failure", "ResultStore", "load_results"]

#: Results of each kind that an estimate looks at.
_LATEST: Final = 3


@dataclass(frozen=True)
class Failure:
    """A job that ended in an error, kept so that a rerun can tell it from one that was never tried."""

    task: str
    encoder: str
    signature: str
    error: str
    kind: str


class ResultStore:
    """The results below one folder, addressed by encoder, task and signature."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, encoder: str, task: str, signature: str) -> Path:
        name = re.sub(r"[^\w.-]+", "_", encoder).strip("._") or "encoder"
        return self.folder / name / f"{task}.{hashlib.sha256(signature.encode()).hexdigest()[:8]}.json"

    def find(self, encoder: str, task: str, signature: str) -> Result | Failure | None:
        """Return what is stored for a job: its result, its failure, or None."""
        path = self.path(encoder, task, signature)
        for candidate in (path, _failure_path(path)):
            if candidate.is_file():
                found = _read(candidate)
                if found.signature == signature:
                    return found
        return None

    def save(self, outcome: Result | Failure) -> Path:
        """Store a result or a failure; a result replaces the failure of the same job."""
        path = self.path(outcome.encoder, outcome.task, outcome.signature)
        if isinstance(outcome, Failure):
            _write(_failure_path(path), {"schema": SCHEMA, "failure": asdict(outcome)})
            return _failure_path(path)
        _write(path, outcome.to_json())
        _failure_path(path).unlink(missing_ok=True)
        return path

    def results(self) -> list[Result]:
        """Return every result below the folder, in order of path."""
        return [outcome for outcome in self._outcomes() if isinstance(outcome, Result)]

    def failures(self) -> list[Failure]:
        """Return every job below the folder that failed and has no result, in order of path."""
        return [outcome for outcome in self._outcomes(".failed.json") if isinstance(outcome, Failure)]

    def _outcomes(self, ending: str = ".json") -> list[Result | Failure]:
        return [_read(path) for path in sorted(self.folder.rglob(f"*{ending}")) if not path.name.startswith(".")]

    @contextmanager
    def locked(self, encoder: str, task: str, signature: str, wait: bool = True) -> Iterator[bool]:
        """Hold one job alone, so that two runs share the work instead of doing it twice.

        Yields whether the job is held, which without ``wait`` it is not if another run has it.
        """
        from filelock import FileLock, Timeout

        path = self.path(encoder, task, signature)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.stem}.lock"))
        try:
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def latest_like(self, encoder: str, task: str) -> list[Result]:
        """Return a few of the latest results of this encoder on any task, and of any encoder on this task."""
        own = self.path(encoder, task, "").parent
        found: dict[Path, float] = {}
        for pattern in (f"{own.name}/*.json", f"*/{task}.*.json"):
            results = [path for path in self.folder.glob(pattern) if not path.name.endswith(".failed.json")]
            latest = sorted(results, key=lambda path: path.stat().st_mtime, reverse=True)[:_LATEST]
            found.update({path: path.stat().st_mtime for path in latest})
        outcomes = [_read(path) for path in sorted(found, key=found.__getitem__)]
        return [outcome for outcome in outcomes if isinstance(outcome, Result)]


def _failure_path(path: Path) -> Path:
    return path.with_suffix(".failed.json")


def _read(path: Path) -> Result | Failure:
    try:
        stored = json.loads(path.read_text("utf-8"))
        if "failure" in stored:
            return Failure(**stored["failure"])
        return Result.from_json(stored)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: not a result of this toolkit: {error}; remove it") from error


def _write(path: Path, content: Any) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False))
    except OSError as error:
        reason = error.strerror or error
        raise MedSentEvalError(f"{path}: cannot be written: {reason}; name another folder with --output") from error


def load_results(places: Sequence[str], folder: Path) -> list[Result]:
    """Load results from files and folders; a place that is neither is the name of an encoder with results in ``folder``."""
    results: list[Result] = []
    named: list[str] = []
    for place in places:
        path = Path(place)
        if path.is_dir():
            found = ResultStore(path).results()
            if not found:
                raise DataMissingError(f"{path} holds no result; `medsenteval run -o {path}` makes some")
            results.extend(found)
        elif path.is_file():
            try:
                results.append(Result.from_json(json.loads(path.read_text("utf-8"))))
            except (ValueError, TypeError, KeyError) as error:
                raise MedSentEvalError(f"{path}: not a result of this toolkit: {error}") from error
        else:
            named.append(place)
    if named or not places:
        if not folder.is_dir():
            raise DataMissingError(f"no results folder {folder}; name one with --results, or run `medsenteval run` first")
        stored = ResultStore(folder).results()
        known = sorted({result.encoder for result in stored})
        for name in named:
            chosen = [result for result in stored if result.encoder.casefold() == name.casefold()]
            if not chosen:
                raise SettingsError(
                    f"{name!r} is neither a file or folder nor an encoder in {folder}; there: {', '.join(known)}"
                )
            results.extend(chosen)
        if not places:
            results = stored
    return list({(result.signature, result.encoder): result for result in results}.values())

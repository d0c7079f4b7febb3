"""Results on disk: a folder for each encoder, a file for each task and signature, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import SCHEMA, Metric, Result
from medsenteval.errors import DataError, DataMissingError, MedSentEvalError, MedSentEvalWarning, SettingsError
from medsenteval.registry import same_names, select_names
from medsenteval.running.result_bundle import SUFFIX, read_bundle
from medsenteval.running.result_schema import Failure, parse_outcome
from medsenteval.support.atomic_files import file_name_of, write_atomically

#: Results of each kind that an estimate looks at.
_LATEST: Final = 3


class ResultWarning(MedSentEvalWarning):
    """A stored file that is no result of this version, or a result that the record does not compare with: it is left out."""


class StoreError(MedSentEvalError, OSError):
    """The results folder cannot be written."""


class ResultStore:
    """The results below one folder, addressed by encoder, task and signature."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, encoder: str, task: str, signature: str, *, before: bool = False) -> Path:
        """Return where a job's result goes: no other job has that place, though folders may not tell letter case.

        ``before`` is where earlier versions kept it.
        """
        of = signature if before else f"{encoder}|{signature}"
        key = hashlib.sha256(of.encode()).hexdigest()[: 8 if before else 16]
        return self.folder / file_name_of(encoder) / f"{file_name_of(task)}.{key}.json"

    def find(self, encoder: str, task: str, signature: str) -> Result | Failure | None:
        """Return what is stored for a job: its result, its failure, or None."""
        paths = [self._path(encoder, task, signature, before=before) for before in (False, True)]
        there = [path for path in (*paths, *map(_failure_path, paths)) if path.is_file()]
        found = [outcome for outcome in map(_read_or_warn, there) if outcome is not None]
        return next((each for each in found if (each.encoder, each.signature) == (encoder, signature)), None)

    def save(self, outcome: Result | Failure) -> Path:
        """Store a result or a failure; a result replaces whatever else is stored for the same job."""
        names = (outcome.encoder, outcome.task, outcome.signature)
        path, earlier = (self._path(*names, before=before) for before in (False, True))
        if isinstance(outcome, Failure):
            path = _failure_path(path)
            _write(path, {"schema": SCHEMA, "failure": asdict(outcome)})
        else:
            _write(path, outcome.to_json())
            _failure_path(path).unlink(missing_ok=True)
            found = _read_or_warn(earlier) if earlier.is_file() else None
            if found is not None and (found.encoder, found.signature) == (outcome.encoder, outcome.signature):
                earlier.unlink(missing_ok=True)
        return path

    def forget_failure(self, encoder: str, task: str, signature: str) -> None:
        """Remove the failure of a job, if there is one."""
        _failure_path(self._path(encoder, task, signature)).unlink(missing_ok=True)

    def results(self) -> list[Result]:
        """Return every result below the folder, in order of path, and then those of the bundles there."""
        stored = [outcome for outcome in self._outcomes() if isinstance(outcome, Result)]
        bundles = [path for path in sorted(self.folder.rglob(f"*{SUFFIX}")) if path.is_file()]
        return [*stored, *(result for bundle in bundles for result in read_bundle(bundle))]

    def failures(self) -> list[Failure]:
        """Return every job below the folder that failed and has no result, in order of path."""
        return [outcome for outcome in self._outcomes(".failed.json") if isinstance(outcome, Failure)]

    def _outcomes(self, ending: str = ".json") -> list[Result | Failure]:
        # A pipe among a stranger's files would be read for ever.
        names = (path for path in sorted(self.folder.rglob(f"*{ending}")) if not path.name.startswith("."))
        outcomes = map(_read_or_warn, filter(Path.is_file, names))
        return [outcome for outcome in outcomes if outcome is not None]

    @contextmanager
    def locked(self, encoder: str, task: str, signature: str, wait: bool = True) -> Iterator[bool]:
        """Hold one job alone, so that two runs share the work instead of doing it twice.

        Yields whether the job is held, which without ``wait`` it is not if another run has it.
        """
        from filelock import FileLock, Timeout

        path = self._path(encoder, task, signature)
        lock = FileLock(path.with_name(f".{path.stem}.lock"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            yield False
            return
        except OSError as error:
            raise _unwritable(path.parent, error) from error
        try:
            yield True
        finally:
            lock.release()

    def latest_like(self, encoder: str, task: str) -> list[Result]:
        """Return a few of the latest results of this encoder on any task, and of any encoder on this task."""
        found: set[Path] = set()
        for pattern in (f"{file_name_of(encoder)}/*.json", f"*/{file_name_of(task)}.*.json"):
            files = filter(Path.is_file, self.folder.glob(pattern))
            results = [path for path in files if not path.name.endswith(".failed.json")]
            found.update(sorted(results, key=_written)[-_LATEST:])
        outcomes = map(_read_or_warn, sorted(found, key=_written))
        return [outcome for outcome in outcomes if isinstance(outcome, Result)]


def _written(path: Path) -> float:
    return path.stat().st_mtime


def _failure_path(path: Path) -> Path:
    return path.with_suffix(".failed.json")


def _read(path: Path) -> Result | Failure:
    try:
        outcome = parse_outcome(path.read_text("utf-8"))
        if isinstance(outcome, Failure) or outcome.made:
            return outcome
        return replace(outcome, made=datetime.fromtimestamp(_written(path), timezone.utc).isoformat(timespec="milliseconds"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a result of this toolkit: {error}; remove it") from error


def _read_or_warn(path: Path) -> Result | Failure | None:
    """Return what a file holds; one broken or newer file must not be the end of all others, so None comes with a warning."""
    try:
        return _read(path)
    except DataError as error:
        warnings.warn(str(error), ResultWarning, stacklevel=3)
        return None


def _write(path: Path, content: Any) -> None:
    try:
        text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
        parse_outcome(text)
    except (TypeError, ValueError) as error:  # of a task or an encoder of the user's own
        raise DataError(f"what the task returned cannot be stored: {error}") from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path}: cannot be written: {error.strerror or error}; name another folder with --output")


def load_results(places: Sequence[str], folder: Path, *, reference: bool = False) -> list[Result]:
    """Load results from files, bundles and folders; any other place is the name of an encoder with results in ``folder``.

    The place "reference" is the record. With ``reference`` its results on the same tasks, data and protocols are added.
    """
    from medsenteval.running.record import differences_to_the_record, reference_results

    results: list[Result] = []
    named: list[str] = []
    for place in places:
        path = Path(place)
        if path.is_dir():
            found = ResultStore(path).results()
            if not found:
                raise DataMissingError(f"{path} holds no result; `medsenteval run -o {path}` makes some")
            results.extend(found)
        elif path.is_file() and path.name.endswith(SUFFIX):
            results.extend(read_bundle(path))
        elif path.is_file():
            outcome = _read(path) if len(places) == 1 else _read_or_warn(path)
            results.extend([outcome] if isinstance(outcome, Result) else ())
        elif place == "reference":
            results.extend(reference_results())
        else:
            named.append(place)
    if named or not places:
        if not folder.is_dir():
            raise DataMissingError(f"no results folder {folder}; name one with --results, or run `medsenteval run` first")
        stored = ResultStore(folder).results()
        known = sorted({result.encoder for result in stored})
        for name in named:
            meant = same_names(name, known)
            chosen = [result for result in stored if result.encoder in meant]
            if not chosen:
                raise SettingsError(
                    f"{name!r} is neither a file or folder nor an encoder in {folder}; there: {', '.join(known)}"
                )
            results.extend(chosen)
        if not places:
            results = stored
    if not results:
        raise DataMissingError(f"no result was found in {', '.join(places) or folder}; `medsenteval run` makes some")
    if reference:
        compared, differences = reference_results(results), differences_to_the_record(results)
        covered = dict.fromkeys(result.task for result in reference_results())
        # Else what compares is the results given themselves: whoever has made the record again needs nothing more of it.
        if not compared and len(differences) == len(covered.keys() & {result.task for result in results}):
            why = "; ".join(differences[:3]) or f"it has none of these tasks, but, on real data: {', '.join(covered)}"
            raise DataMissingError(f"the record has no result on the same data and under the same protocol; {why}")
        if differences:
            warnings.warn(f"not comparable with the record: {'; '.join(differences)}", ResultWarning, stacklevel=2)
        results.extend(compared)
    # A copy of a result counts once; another score under the same signature is another result, which is not to vanish.
    distinct: dict[tuple[str, str, tuple[Metric, ...]], Result] = {}
    for result in results:
        distinct.setdefault((result.signature, result.encoder, result.metrics), result)
    return list(distinct.values())


def of_tasks(results: Sequence[Result], tasks: str | None) -> list[Result]:
    """Return the results of these tasks or groups of tasks, all of them without a selection; none is an error."""
    if tasks is None:
        return list(results)
    chosen = select_names(tasks, [result.task for result in results])
    found = [result for result in results if result.task in chosen]
    if not found:
        raise SettingsError(f"no result of the tasks {tasks!r}")
    return found

"""Bundles: results to pass on, in one file with the hashes of everything in it and without texts.

A bundle is a zip archive of an index, ``bundle.json``, and a file for each task with one result on each line, since what the
results of a task share is then compressed once. Its last 64 bytes are the SHA-256 of all bytes before them, so that no byte can
change unnoticed. ``medsenteval.comparison.bundle_verification`` recomputes the scores from the items.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Result
from medsenteval.errors import DataError, DataMissingError
from medsenteval.running.result_schema import parse_outcome
from medsenteval.support.atomic_files import file_name_of, write_atomically
from medsenteval.support.files import DAMAGED, read_bytes

SUFFIX: Final = ".results.zip"
_INDEX: Final = "bundle.json"
_FORMAT: Final = 2
_HASH_LENGTH: Final = 64
#: Columns of items that hold words or terms of the data set.
_TEXT_COLUMNS: Final = ("first", "second")
#: What a bundle may unpack to, all in memory; one of all tasks and a dozen encoders stays far below this.
_LARGEST: Final = 256 * 1024 * 1024


def without_texts(result: Result) -> Result:
    """Return a result with ids and answers only: what quotes the data set is left behind."""
    plain = {name: value for name, value in result.details.items() if isinstance(value, (str, int, float)) or name == "strata"}
    return replace(
        result,
        items={name: column for name, column in result.items.items() if name not in _TEXT_COLUMNS},
        details=plain,
        rejected=(),
        # A note on rejected rows goes on with the first of them.
        notes=tuple(note.split("; the first")[0] for note in result.notes),
        senteval={},
    )


def pack_results(results: Sequence[Result], path: Path) -> Path:
    """Write results into one bundle, without texts, in the order of task, encoder and signature."""
    if not results:
        raise DataMissingError("there is no result to pack; `medsenteval run` makes some")
    lines: dict[str, list[bytes]] = {}
    index = []
    jobs: set[tuple[str, str]] = set()
    for result in sorted(map(without_texts, results), key=lambda each: (each.task, each.encoder, each.signature)):
        if (result.encoder, result.signature) in jobs:
            raise DataError(
                f"{result.encoder}, {result.task}: two scores of the same job; find out which is right, pack that one"
            )
        jobs.add((result.encoder, result.signature))
        name = f"{file_name_of(result.task)}.jsonl"
        line = json.dumps(result.to_json(), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        lines.setdefault(name, []).append(line)
        index.append({"file": name, "line": len(lines[name]), "sha256": _sha256(line), **_summary(result)})
    content = {"bundle": _FORMAT, "results": index}
    members = {_INDEX: json.dumps(content, ensure_ascii=False, indent=1).encode()}
    members |= {name: b"\n".join(of_task) for name, of_task in lines.items()}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_LZMA)
        archive.comment = b"0" * _HASH_LENGTH
    packed = stream.getvalue()[:-_HASH_LENGTH]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, packed + _sha256(packed).encode())
    return path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _summary(result: Result) -> dict[str, Any]:
    """Return what the index says of a result: hashes of data and items, the encoder's identity, the scores."""
    data = [part.split("=", 1)[1] for part in result.signature.split("|") if part.startswith(("data=", "synthetic="))]
    items = json.dumps(dict(result.items), sort_keys=True, separators=(",", ":")).encode()
    return {
        "task": result.task,
        "encoder": result.encoder,
        "encoder_identity": result.encoder_identity,
        "data": data[0] if data else "",
        "items": _sha256(items),
        "scores": {metric.name: metric.value for metric in result.metrics},
    }


def read_bundle(path: Path) -> list[Result]:
    """Return the results of a bundle; a byte that is not as it was packed is an error that says where."""
    data = read_bytes(path)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        names = archive.namelist()
    except DAMAGED as error:
        raise DataError(f"{path}: not a bundle of results: {error}; get it again") from error
    if sum(member.file_size for member in archive.infolist()) > _LARGEST:
        raise DataError(
            f"{path}: unpacks to more than {_LARGEST:,} bytes by the archive's own tables, larger than any bundle of results"
        )
    members = {name: _member(path, archive, name) for name in names}
    if data[-_HASH_LENGTH:] != _sha256(data[:-_HASH_LENGTH]).encode():
        raise DataError(
            f"{path}: changed since it was packed, in the archive's own tables or in the hash at its end; get it again"
        )
    if _INDEX not in members:
        raise DataError(
            f"{path}: a zip archive without {_INDEX}, so not a bundle of results; `medsenteval results pack` makes one"
        )
    index = _index(path, members.pop(_INDEX))
    lines = {f"{name}:{number}": line for name in members for number, line in enumerate(members[name].split(b"\n"), start=1)}
    places = [f"{entry.get('file')}:{entry.get('line')}" for entry in index]
    if strangers := sorted(lines.keys() ^ set(places)):
        raise DataError(f"{path}: {strangers[0]}: in the archive or in {_INDEX}, but not in both")
    return [_result(path, place, entry, lines[place]) for place, entry in zip(places, index, strict=True)]


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except DAMAGED as error:
        raise DataError(f"{path}: {name}: changed since it was packed ({error}); get it again") from error


def _index(path: Path, content: bytes) -> list[dict[str, Any]]:
    try:
        stored = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: {_INDEX}: {error}") from error
    index = stored.get("results") if isinstance(stored, dict) and stored.get("bundle") == _FORMAT else None
    if not isinstance(index, list) or not all(isinstance(entry, dict) for entry in index):
        raise DataError(f"{path}: {_INDEX}: not an index that this version of medsenteval reads")
    return index


def _result(path: Path, place: str, entry: dict[str, Any], content: bytes) -> Result:
    if _sha256(content) != entry.get("sha256"):
        raise DataError(f"{path}: {place}: not the result that was packed: its SHA-256 differs from that in {_INDEX}")
    try:
        outcome = parse_outcome(content.decode("utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: {place}: {error}") from error
    if not isinstance(outcome, Result):
        raise DataError(f"{path}: {place}: a failure and no result")
    for key, value in _summary(outcome).items():
        if entry.get(key) != value:
            raise DataError(f"{path}: {place}: {key} differs from what {_INDEX} says")
    return outcome

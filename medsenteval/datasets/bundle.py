"""Bundles: prepared data sets in one zip file, to carry to a machine without internet.

A bundle holds the files, a list of them with their hashes (``bundle.json``), and each set's licence and citation in plain text.
Sets that are not open stay out unless they are asked for by name and their terms are accepted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from medsenteval.datasets.archives import unpack
from medsenteval.datasets.locate import SYNTHETIC_MARK
from medsenteval.datasets.manifest import Manifest, manifests
from medsenteval.datasets.prepare import install, staging
from medsenteval.datasets.recognise import file_digest
from medsenteval.datasets.status import SYNTHETIC, UNREADABLE, SetStatus, examine
from medsenteval.errors import DataError
from medsenteval.support.atomic_files import writing
from medsenteval.support.files import read_json

_LIST: Final = "bundle.json"
_TERMS: Final = "LICENCES.txt"
_SCHEMA: Final = 1
#: The oldest date that a zip file can hold: bundles of the same data are the same bytes.
_DATE: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Exported:
    """What went into a bundle, and what stayed out with the reason."""

    included: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    size: int


def export_bundle(target: Path, chosen: Sequence[Manifest], root: Path, restricted: bool) -> Exported:
    """Write the prepared data sets among ``chosen`` into a zip file, whole or not at all."""
    sets: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    left_out: list[tuple[str, str]] = []
    terms = ["These data sets are under their publishers' terms, which travel with them.\n"]
    for manifest in chosen:
        status = examine(manifest, root)
        if not status.usable:
            left_out.append((manifest.name, status.problem or status.state))
            continue
        about = manifest.tasks[0]
        if manifest.access != "open" and not restricted:
            left_out.append((manifest.name, f"{about.access}: {about.licence}; add it with --restricted if your terms allow"))
            continue
        assert status.folder is not None  # it has just been read
        files = {}
        # Invented data stays marked as such wherever it is carried.
        marks = [place / SYNTHETIC_MARK for place in (status.folder, root) if (place / SYNTHETIC_MARK).is_file()]
        for path in (*status.files, *marks[:1]):
            inside = SYNTHETIC_MARK if path in marks else path.relative_to(status.folder).as_posix()
            name = f"data/{manifest.folder}/{inside}"
            files[name] = {"sha256": file_digest(path), "size": path.stat().st_size}
            paths[name] = path
        sets[manifest.name] = {"folder": manifest.folder, "synthetic": status.state == SYNTHETIC, "files": files}
        terms.append(f"{manifest.name}\n  access: {about.access}\n  licence: {about.licence}\n  cite: {about.citation}\n")
    if not sets:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out)
        raise DataError(f"nothing to export from {root}: {reasons}")
    _write(target, {"schema": _SCHEMA, "sets": sets}, "\n".join(terms), paths)
    return Exported(tuple(sets), tuple(left_out), target.stat().st_size)


def _write(target: Path, listed: dict[str, Any], terms: str, paths: Mapping[str, Path]) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with writing(target) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in ((_LIST, json.dumps(listed, indent=1, sort_keys=True)), (_TERMS, terms)):
                archive.writestr(_member(name), text)
            for name, path in paths.items():
                with open(path, "rb") as source, archive.open(_member(name), "w", force_zip64=True) as member:
                    shutil.copyfileobj(source, member, 1 << 20)
    except OSError as error:
        raise DataError(f"{target}: cannot be written: {error.strerror}; name another file") from error


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    return info


def import_bundle(bundle: Path, root: Path, replace_old: bool = False) -> list[SetStatus]:
    """Unpack a bundle, check every hash, read every data set, and only then move them below ``root``."""
    known = manifests()
    with staging(root) as scratch:
        unpack(bundle, scratch / "bundle")
        folder = scratch / "bundle"
        if not (folder / _LIST).is_file():
            other = "for other archives: medsenteval data prepare"
            raise DataError(f"{bundle}: no bundle of this toolkit, it has no {_LIST}; {other}")
        names, digest_of = _listed(folder / _LIST, bundle)
        present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {_LIST, _TERMS}
        if odd := sorted(digest_of.keys() ^ present):
            raise DataError(f"{bundle}: its list and its files disagree: {odd[0]}; export it again")
        for name, digest in digest_of.items():
            if file_digest(folder / name) != digest:
                raise DataError(f"{bundle}: {name} is damaged (its hash is another than listed); copy the bundle again")
        statuses = []
        for name in names:
            if name not in known:
                raise DataError(f"{bundle}: holds the data set {name!r}, which this version does not know; update medsenteval")
            status = examine(known[name], folder / "data")
            if not status.usable:
                detail = status.problem.replace(f"{folder}{os.sep}", "") if status.state == UNREADABLE else status.state
                raise DataError(f"{bundle}: {name} cannot be imported: {detail}")
            statuses.append(status)
        data = folder / "data"
        return [
            replace(each, folder=install(each.manifest, data / each.manifest.folder, root, replace_old)) for each in statuses
        ]


def _listed(path: Path, bundle: Path) -> tuple[list[str], dict[str, str]]:
    """Read a bundle's data sets and the hash of each file; anything else than plain paths below data/ is refused."""
    content = read_json(path)
    found: dict[str, str] = {}
    try:
        if content["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}, not {_SCHEMA}")
        for about in content["sets"].values():
            found |= {file: str(facts["sha256"]) for file, facts in about["files"].items()}
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise DataError(f"{bundle}: its {_LIST} cannot be read: {error}; export it again") from error
    for file, digest in found.items():
        parts = PurePosixPath(file).parts
        if parts[:1] != ("data",) or ".." in parts or not re.fullmatch("[0-9a-f]{64}", digest):
            raise DataError(f"{bundle}: refused: its {_LIST} names {file!r}")
    return list(content["sets"]), found

"""Bundles: prepared data sets in one zip file, to carry to a machine without internet.

A bundle holds the files, a list of them with their hashes (``bundle.json``), and each set's licence and citation in plain text.
Sets that are not open stay out unless they are asked for by name and their terms are accepted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

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


def export_bundle(target: Path, chosen: Sequence[Manifest], root: Path, restricted: bool) -> tuple[list[str], dict[str, str]]:
    """Write the prepared data sets among ``chosen`` into a zip file, whole or not at all.

    Return the names of those that are in it, and why the others stayed out.
    """
    sets: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    terms = ["These data sets are under their publishers' terms, which travel with them.\n"]
    for manifest in chosen:
        status = examine(manifest, root)
        if not status.usable:
            left_out[manifest.name] = status.problem or status.state
            continue
        about = manifest.tasks[0]
        if manifest.access != "open" and not restricted:
            left_out[manifest.name] = f"{about.access}: {about.licence}; add it with --restricted if your terms allow"
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
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise DataError(f"nothing to export from {root}: {reasons}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with writing(target) as stream, ZipFile(stream, "w", ZIP_DEFLATED, strict_timestamps=False) as archive:
        archive.writestr(_LIST, json.dumps({"schema": _SCHEMA, "sets": sets}, indent=1, sort_keys=True))
        archive.writestr(_TERMS, "\n".join(terms))
        for name, path in paths.items():
            archive.write(path, name)
    return list(sets), left_out


def import_bundle(bundle: Path, root: Path, replace_old: bool = False) -> list[SetStatus]:
    """Unpack a bundle, check every hash, read every data set, and only then move them below ``root``."""
    known = manifests()
    with staging(root) as scratch:
        unpack(bundle, scratch / "bundle")
        folder = scratch / "bundle"
        if not (folder / _LIST).is_file():
            other = "for other archives: medsenteval data prepare"
            raise DataError(f"{bundle}: no bundle of this toolkit, it has no {_LIST}; {other}")
        content = read_json(folder / _LIST)
        digest_of: dict[str, str] = {}
        try:
            if content["schema"] != _SCHEMA:
                raise ValueError(f"its schema is {content['schema']!r}, not {_SCHEMA}")
            for about in content["sets"].values():
                digest_of |= {file: str(facts["sha256"]) for file, facts in about["files"].items()}
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise DataError(f"{bundle}: its {_LIST} cannot be read: {error}; export it again") from error
        present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {_LIST, _TERMS}
        if odd := sorted(digest_of.keys() ^ present):
            raise DataError(f"{bundle}: its list and its files disagree: {odd[0]}; export it again")
        for name, digest in digest_of.items():
            if file_digest(folder / name) != digest:
                raise DataError(f"{bundle}: {name} is damaged (its hash is another than listed); copy the bundle again")
        statuses = []
        for name in content["sets"]:
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

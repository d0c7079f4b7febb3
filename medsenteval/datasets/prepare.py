"""From whatever the user has to a verified folder, or to an exact explanation; nothing partial is ever left behind."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medsenteval.datasets.archives import Limits, archive_kind, unpack
from medsenteval.datasets.convert import CONVERSIONS
from medsenteval.datasets.locate import SYNTHETIC_MARK
from medsenteval.datasets.manifest import Manifest
from medsenteval.datasets.recognise import Candidate, Match, candidates_below, recognise
from medsenteval.datasets.status import INCOMPLETE, UNREADABLE, SetStatus, examine
from medsenteval.errors import DataError
from medsenteval.support.atomic_files import scratch_folder

#: Where in the scratch folder archives are unpacked, and single files put beside what was in them.
_OPENED: Final = "opened"


@dataclass(frozen=True, eq=False)
class Prepared:
    """What became of a preparation: the verified data set, and which file each of its files was made from."""

    status: SetStatus
    origins: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """Make a scratch folder beside the target, so that finished data can be moved in by renaming; it is always removed."""
    root.mkdir(parents=True, exist_ok=True)
    with scratch_folder("preparing", root) as scratch:
        yield scratch


def prepare(
    manifest: Manifest,
    sources: Sequence[Path],
    root: Path,
    *,
    replace_old: bool = False,
    accept_rejected: bool = False,
    allow_incomplete: bool = False,
) -> Prepared:
    """Find the data set's files in ``sources``, convert them, verify the result and move it below ``root``.

    Anything short of a readable data set raises a DataError that says what was found and what is missing, and leaves
    ``root`` as it was. Rejected rows must be accepted, a set that is not ready (far from its published size, or with many
    rows rejected) allowed, and files that differ from those already there replaced, on demand.
    """
    for source in sources:
        if not source.exists():
            raise DataError(f"{source}: no such file or folder")
    with staging(root) as scratch:
        staged = scratch / "data"
        match = _find(manifest, sources, scratch)
        if match.complete:
            origins, notes = _stage(match, staged / manifest.folder)
        else:
            origins, notes = _stage_copy(manifest, match, sources, scratch, staged / manifest.folder), []
        for mark in (place / SYNTHETIC_MARK for source in sources for place in (source, source.parent)):
            if mark.is_file():  # invented data stays marked as such
                shutil.copyfile(mark, staged / manifest.folder / SYNTHETIC_MARK)
        status = examine(manifest, staged)
        refused = status.problem if status.state == UNREADABLE else ""
        if status.state == INCOMPLETE and not allow_incomplete:
            remedy = "check that these are its files, all of them, or take it as it is with --allow-incomplete"
            refused = f"{status.problem}; {remedy}"
        elif status.n_rejected and not (accept_rejected or allow_incomplete):
            rejected = next(each for each in status.differences if "rejected" in each)
            refused = f"{rejected}; check the file, or leave these rows out with --accept-rejected"
        if refused:
            raise DataError(f"{manifest.name}: not prepared: {_without(refused, staged)}")
        target = install(manifest, staged / manifest.folder, root, replace_old)
        status = replace(status, folder=target)
    return Prepared(status, tuple(origins), tuple(notes))


def _without(message: str, scratch: Path) -> str:
    """Name files as they would be called in the data folder, not by their scratch folder, which is gone."""
    return message.replace(f"{scratch}{os.sep}", "").replace(str(scratch), "the data folder")


def _find(manifest: Manifest, sources: Sequence[Path], scratch: Path) -> Match:
    """Recognise files among those given; archives within folders are opened only if the plain files do not suffice."""
    plain: list[Candidate] = []
    packed: list[Path] = []
    for candidate in (candidate for source in sources for candidate in candidates_below(source)):
        if archive_kind(candidate.path):
            packed.append(candidate.path)
        else:
            plain.append(candidate)
    match = recognise(manifest, plain)
    if match.complete:
        return match
    refused = ""
    limits = Limits()
    for number, archive in enumerate(packed):
        folder = scratch / _OPENED / str(number) / archive.name
        try:
            unpack(archive, folder, limits)
        except DataError as error:
            if archive in sources:
                raise
            # One of many files in a folder: it matters only if what it holds turns out to be missing.
            refused = refused or f" ({error})"
            continue
        plain.extend(candidates_below(folder))
    return replace(recognise(manifest, plain), refused=refused)


def _stage_copy(
    manifest: Manifest, match: Match, sources: Sequence[Path], scratch: Path, folder: Path
) -> list[tuple[str, str]]:
    """Let the readers look at what none of the known files was found in: they know copies by what is in them."""
    opened = scratch / _OPENED
    for source in sources:
        if source.is_file() and not archive_kind(source):
            opened.mkdir(exist_ok=True)
            shutil.copyfile(source, opened / source.name)
    reasons: list[str] = []
    for place in (*(source for source in sources if source.is_dir()), opened):
        try:
            found = {
                name
                for task in manifest.tasks
                for name in task.read(place, {option: values[0] for option, values in task.options.items()}).files
            }
        except DataError as error:
            reasons += [str(error)] if place.is_dir() else []
            continue
        if found:
            for name in sorted(found):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(place / name, folder / name)
            return [(name, name) for name in sorted(found)]
    given = ", ".join(map(str, sources))
    why = f"; read as a copy: {'; '.join(_without(reason, scratch) for reason in reasons)}" if reasons else ""
    if not match.found:
        wanted = "; or ".join(f"{', '.join(file.path for file in files)} ({name})" for name, files in manifest.layouts.items())
        raise DataError(f"{manifest.name}: nothing in {given} is or looks like one of its files: {wanted}{match.refused}{why}")
    listed = ", ".join(f"{candidate.name} is {file.path}" for file, candidate in match.found.items())
    missing = ", ".join(file.path for file in match.missing)
    raise DataError(
        f"{manifest.name}: incomplete: {listed}; but nothing in {given} is or looks like {missing}{match.refused}. "
        f"Give what is missing with another --from{why}"
    )


def _stage(match: Match, folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    origins: list[tuple[str, str]] = []
    notes: list[str] = []
    for file, candidate in match.found.items():
        if file.convert:
            files, said = CONVERSIONS[file.convert](file.path, candidate.path)
            notes += said
            for path, text in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, "utf-8", newline="")
                origins.append((path, f"{candidate.name}, converted"))
            continue
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(candidate.path, target)
        official = candidate.is_surely(file)
        if file.caution is not None and not re.search(file.caution[0].encode("utf-8"), target.read_bytes(), re.MULTILINE):
            notes.append(f"{candidate.name} {file.caution[1]}")
        origins.append((file.path, candidate.name + (", byte for byte the known file" if official else "")))
    return origins, notes


def install(manifest: Manifest, staged: Path, root: Path, replace_old: bool) -> Path:
    """Move a staged folder's files to their place below ``root``; files there that differ stay, unless they may be replaced.

    Old files are set aside and put back if anything fails half-way.
    """
    target = root / manifest.folder
    new = [path for path in sorted(staged.rglob("*")) if path.is_file()]
    places = {path: target / path.relative_to(staged) for path in new}
    different = [
        place
        for path, place in places.items()
        if place.exists() and not (place.is_file() and path.read_bytes() == place.read_bytes())
    ]
    if different and not replace_old:
        raise DataError(
            f"{manifest.name}: {different[0]} is there already and differs; replace it with --replace, or name another "
            "folder with --data"
        )
    aside = staged.parent / f".replaced-{staged.name}"
    moved: list[tuple[Path, Path | None]] = []
    try:
        for path, place in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            old = None
            if place.exists():
                old = aside / place.relative_to(target)
                old.parent.mkdir(parents=True, exist_ok=True)
                os.replace(place, old)
            moved.append((place, old))
            os.replace(path, place)
    except OSError as error:
        for place, old in reversed(moved):
            place.unlink(missing_ok=True)
            if old is not None:
                os.replace(old, place)
        raise DataError(f"{target}: cannot be written: {error.strerror}; nothing was changed") from error
    return target

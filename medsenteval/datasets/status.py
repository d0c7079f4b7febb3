"""Which data sets of a data folder are ready, differ from the publication, are incomplete, cannot be read or are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from medsenteval.datasets.archives import archive_kind
from medsenteval.datasets.completeness import differences, shortages
from medsenteval.datasets.locate import load_dataset, locate
from medsenteval.datasets.manifest import Manifest, manifests
from medsenteval.datasets.recognise import candidates_below
from medsenteval.errors import DataError, DataMissingError
from medsenteval.settings import Settings

READY: Final = "ready"
DIFFERS: Final = "ready with differences"
SYNTHETIC: Final = "synthetic sample"
INCOMPLETE: Final = "incomplete"
#: Everything is read, whether it may be scored without asking or not; the state says which.
AS_IT_IS: Final = Settings(allow_incomplete=True)
UNREADABLE: Final = "found but unreadable"
MISSING: Final = "missing"


@dataclass(frozen=True, eq=False)
class SetStatus:
    """What was found of one data set below a data folder.

    ``counts`` are rows by split; ``differences`` is all that is not as published, rejected rows included; ``problem`` says why
    it cannot be read, or may not be scored without --allow-incomplete; ``files`` are those that its tasks opened.
    """

    manifest: Manifest
    state: str
    folder: Path | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    n_rejected: int = 0
    files: tuple[Path, ...] = ()

    @property
    def usable(self) -> bool:
        return self.state in (READY, DIFFERS, SYNTHETIC, INCOMPLETE)


def where_is(manifest: Manifest, root: Path) -> Path | None:
    """Return the data set's folder below ``root``, or None."""
    try:
        return locate(manifest.tasks[0], root)
    except DataMissingError:
        return None


def examine(manifest: Manifest, root: Path) -> SetStatus:
    """Read a data set whole, through its tasks, and compare it with what is published."""
    folder = where_is(manifest, root)
    if folder is None:
        return SetStatus(manifest, MISSING)
    try:
        datasets = {task: load_dataset(task, root, AS_IT_IS) for task in manifest.tasks}
    except DataMissingError as error:
        problem = str(error).partition(". To get it:")[0]
        # Other sets may live in the same folder: then only what looks like a file of this one makes it found.
        shared = any(each is not manifest and where_is(each, root) == folder for each in manifests().values())
        candidates = list(candidates_below(folder))
        named = any(each.name_rank(file) is not None and each.shows(file) for file in manifest.files for each in candidates)
        state = UNREADABLE if named or (candidates and not shared) else MISSING
        packed = [each.name for each in candidates if archive_kind(each.path)] if state == UNREADABLE and not shared else []
        if packed:
            problem += f". It is packed: medsenteval data prepare {manifest.name} --from {root / packed[0]}"
        return SetStatus(manifest, state, folder, problem=problem if candidates else "")
    except DataError as error:
        return SetStatus(manifest, UNREADABLE, folder, problem=str(error))
    counts: dict[str, int] = {}
    found: list[str] = []
    notes: list[str] = []
    short: list[str] = []
    for task, dataset in datasets.items():
        counts |= {name: len(split) for name, split in dataset.splits.items()}
        found += [] if dataset.synthetic else differences(task, dataset)
        short += shortages(task, dataset) if dataset.incomplete else []
        if dataset.rejected:
            found.append(f"{len(dataset.rejected):,} row(s) rejected, the first: {dataset.rejected[0]}")
        notes += [note for note in dataset.notes if note not in found and "row(s) rejected" not in note]
    synthetic = any(dataset.synthetic for dataset in datasets.values())
    return SetStatus(
        manifest,
        SYNTHETIC if synthetic else INCOMPLETE if short else DIFFERS if found else READY,
        folder,
        counts,
        tuple(dict.fromkeys(found)),
        tuple(dict.fromkeys(notes)),
        problem="; ".join(dict.fromkeys(short)),
        n_rejected=sum(len(dataset.rejected) for dataset in datasets.values()),
        files=tuple(sorted({locate(task, root) / name for task, dataset in datasets.items() for name in dataset.files})),
    )


def what_to_do(manifest: Manifest) -> str:
    """Say in one line how the data set is had."""
    prepare = f"medsenteval data prepare {manifest.name} --from FILE"
    if manifest.access == "open" and manifest.downloads:
        return f"open: medsenteval data fetch {manifest.name}"
    return f"{manifest.access}: {manifest.obtain}; or hand over what you got: {prepare}"

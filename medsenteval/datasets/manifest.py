"""Manifests: the files that each data set consists of, and where they come from.

What a Task says of its data set (citation, licence, access, how to obtain it, published counts, folder) is taken from the Task
and stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from medsenteval.contracts import Task
from medsenteval.errors import UnknownNameError
from medsenteval.support.toml_files import packaged_toml

_GROUPS: Final = ("sentence", "word", "ner", "terms", "general")


@dataclass(frozen=True)
class Download:
    """A file to fetch; the first address is the official one, the others are mirrors in order of trust."""

    name: str
    urls: tuple[str, ...]
    size: int | None = None
    sha256: str = ""


@dataclass(frozen=True)
class DataFile:
    """A file that a reader opens, and how to know it.

    ``path`` is where it belongs below the data set's folder. ``content`` is a pattern that its first bytes must show, and
    ``telling`` says that nothing else shows it, so that the name does not matter, and ``named`` that so much else does that
    nothing but a fitting name will do. ``names`` are further names (with ``*``)
    under which it is found; ``rows`` counts the matches of ``row`` in it (its lines that are not blank, if no pattern is
    given). Several ``layout``s are alternatives, the first complete one being taken.
    ``caution`` pairs a pattern with what to say when the file does not show it anywhere.
    """

    path: str
    content: str
    names: tuple[str, ...] = ()
    row: str = r"[^\r\n]*[^\s][^\r\n]*"  # lines may end in CR alone
    rows: int | None = None
    size: int | None = None
    sha256: tuple[str, ...] = ()
    layout: str = "official"
    convert: str = ""
    caution: tuple[str, str] | None = None
    optional: bool = False
    telling: bool = False
    named: bool = False


@dataclass(frozen=True)
class Manifest:
    """All that is known of one data set beside what the tasks say that read it, one at least.

    ``shrinks`` says why fewer rows than published are to be expected (tweets that were deleted); empty for most.
    """

    name: str
    group: str
    page: str
    files: tuple[DataFile, ...]
    downloads: tuple[Download, ...]
    task_names: tuple[str, ...]
    note: str = ""
    shrinks: str = ""

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that read this data set; they agree on its terms."""
        from medsenteval import registry

        return tuple(map(registry.task, self.task_names))

    @property
    def access(self) -> str:
        return self.tasks[0].access

    @property
    def obtain(self) -> str:
        return self.tasks[0].obtain

    @property
    def folder(self) -> str:
        """Where the data set belongs below the data folder."""
        return self.tasks[0].folders[0]

    @property
    def layouts(self) -> dict[str, tuple[DataFile, ...]]:
        """The alternative sets of files, in order of preference."""
        names = dict.fromkeys(file.layout for file in self.files)
        return {name: tuple(file for file in self.files if file.layout == name) for name in names}


@cache
def manifests() -> Mapping[str, Manifest]:
    return {
        name: _manifest(name, group, **table)
        for group in _GROUPS
        for name, table in packaged_toml("medsenteval.datasets", f"manifests/{group}.toml").items()
    }


def _manifest(name: str, group: str, files: Any, downloads: Any = (), tasks: tuple[str, ...] = (), **rest: str) -> Manifest:
    found, fetched = tuple(DataFile(**each) for each in files), tuple(Download(**each) for each in downloads)
    return Manifest(name, group, files=found, downloads=fetched, task_names=tasks or (name,), **rest)


def manifest(name: str) -> Manifest:
    """Return the manifest of a data set by its own name, a task's name or an alias, in any case."""
    from medsenteval import registry

    known = manifests()
    spellings = {registry.name_key(each): each for each in known}
    spellings |= {registry.name_key(task): each.name for each in known.values() for task in each.task_names}
    with suppress(UnknownNameError, KeyError):  # an alias of a task that reads a data set
        spellings.setdefault(registry.name_key(name), spellings[registry.name_key(registry.canonical_task_name(name))])
    return known[registry.resolve_name("data set", name, spellings, f"`medsenteval data status` lists all {len(known)}")]


def select(names: tuple[str, ...]) -> list[Manifest]:
    """Resolve names of data sets and of groups of them (sentence, word, ner, terms, general, all), each once."""
    chosen: dict[str, Manifest] = {}
    for name in names:
        group = name.strip().casefold()
        if group == "all" or group in _GROUPS:
            chosen |= {each.name: each for each in manifests().values() if group in ("all", each.group)}
        else:
            each = manifest(name)
            chosen[each.name] = each
    return list(chosen.values())

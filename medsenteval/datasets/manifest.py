"""Manifests: what each data set consists of, where it comes from and under what terms.

What a registered Task says of its data set (citation, licence, access, how to obtain it, published counts, folder) is taken
from the Task and stands nowhere else; a manifest states these only for data sets that no Task reads yet.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files as package_files
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from medsenteval.contracts import Task
from medsenteval.errors import DataError, UnknownNameError

__all__ = ["ACCESS", "CONVERSIONS", "DataFile", "Download", "Manifest", "manifest", "manifests", "parse_manifests", "select"]

#: How a data set is had.
ACCESS: Final = ("open", "registration", "credentialed", "on request", "lost")
#: How a file that people have becomes the one that is read; "" copies it.
CONVERSIONS: Final = ("", "tweets", "snli")

_GROUPS: Final = ("sentence", "word", "ner", "terms", "general")
_SET_KEYS: Final = {
    "page",
    "note",
    "tasks",
    "files",
    "downloads",
    "folder",
    "citation",
    "licence",
    "access",
    "obtain",
    "counts",
    "shrinks",
}
_TEXT_KEYS: Final = ("folder", "citation", "licence", "access", "obtain")
_FILE_KEYS: Final = {
    "path",
    "content",
    "names",
    "row",
    "rows",
    "size",
    "sha256",
    "layout",
    "convert",
    "caution",
    "optional",
    "telling",
    "named",
}
_DOWNLOAD_KEYS: Final = {"name", "urls", "size", "sha256"}


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
    row: str = ""
    rows: int | None = None
    size: int | None = None
    sha256: tuple[str, ...] = ()
    layout: str = "official"
    convert: str = ""
    caution: tuple[str, str] | None = None
    optional: bool = False
    telling: bool = False
    named: bool = False

    @cached_property
    def content_pattern(self) -> re.Pattern[bytes]:
        return re.compile(self.content.encode("utf-8"), re.MULTILINE)

    @cached_property
    def row_pattern(self) -> re.Pattern[bytes]:
        # Lines may end in CR alone.
        return re.compile(self.row.encode("utf-8") if self.row else rb"[^\r\n]*[^\s][^\r\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Manifest:
    """All that is known of one data set; ``stated`` is what only the manifest says (see the module's first lines).

    ``shrinks`` says why fewer rows than published are to be expected (tweets that were deleted); empty for most.
    """

    name: str
    group: str
    page: str
    files: tuple[DataFile, ...]
    downloads: tuple[Download, ...] = ()
    task_names: tuple[str, ...] = ()
    note: str = ""
    shrinks: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)
    stated_counts: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The registered tasks that read this data set; none where the toolkit has no reader for it."""
        from medsenteval import registry

        known = set(registry.task_names())
        return tuple(registry.task(name) for name in self.task_names if name in known)

    def _said(self, key: str) -> str:
        return str(getattr(self.tasks[0], key)) if self.tasks else self.stated[key]

    @property
    def citation(self) -> str:
        return self._said("citation")

    @property
    def licence(self) -> str:
        return self._said("licence")

    @property
    def access(self) -> str:
        return self._said("access")

    @property
    def obtain(self) -> str:
        return self._said("obtain")

    @property
    def folder(self) -> str:
        """Where the data set belongs below the data folder."""
        return self.tasks[0].folders[0] if self.tasks else self.stated["folder"]

    @property
    def counts(self) -> Mapping[str, int]:
        return self.tasks[0].published_counts if self.tasks else self.stated_counts

    @property
    def layouts(self) -> dict[str, tuple[DataFile, ...]]:
        """The alternative sets of files, in order of preference."""
        names = dict.fromkeys(file.layout for file in self.files)
        return {name: tuple(file for file in self.files if file.layout == name) for name in names}

    @property
    def open(self) -> bool:
        """Whether anyone may fetch it without asking."""
        return self.access == "open"


@cache
def manifests() -> Mapping[str, Manifest]:
    """Return every manifest by name, groups in order."""
    found: dict[str, Manifest] = {}
    for group in _GROUPS:
        source = package_files("medsenteval.datasets") / "manifests" / f"{group}.toml"
        for name, each in parse_manifests(source.read_text("utf-8"), group).items():
            if name in found:
                raise DataError(f"{group}.toml: {name} has a manifest in {found[name].group}.toml already")
            found[name] = each
    return found


def manifest(name: str) -> Manifest:
    """Return the manifest of a data set by its own name, a task's name or an alias, in any case."""
    from medsenteval import registry

    known = manifests()
    spellings = {registry.name_key(each): each for each in known}
    spellings |= {registry.name_key(task): each.name for each in known.values() for task in each.task_names}
    with suppress(UnknownNameError, KeyError):  # an alias of a task that reads a data set
        spellings.setdefault(registry.name_key(name), spellings[registry.name_key(registry.canonical_task_name(name))])
    return known[registry.resolve_name("data set", name, spellings)]


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


def parse_manifests(text: str, group: str) -> dict[str, Manifest]:
    """Read manifests from TOML and check them whole; a wrong one raises a DataError that names it and the key."""
    toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        tables = toml.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{group}.toml: {error}") from error
    return {name: _Table(f"{group}.toml [{name}]", table).manifest(name, group) for name, table in tables.items()}


class _Table:
    """One table of a manifest file, read key by key."""

    def __init__(self, place: str, table: Any) -> None:
        if not isinstance(table, dict):
            raise DataError(f"{place}: expected a table")
        self.place, self.table = place, table

    def fail(self, message: str) -> DataError:
        return DataError(f"{self.place}: {message}")

    def only(self, known: set[str]) -> None:
        unknown = sorted(set(self.table) - known)
        if unknown:
            raise self.fail(f"unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.table.get(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.fail(f"{key} must be a text that is not empty")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            raise self.fail(f"{key} must be a list of texts")
        return tuple(value)

    def number(self, key: str) -> int | None:
        value = self.table.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise self.fail(f"{key} must be a whole number, not {value!r}")
        return value

    def hashes(self) -> tuple[str, ...]:
        found = self.texts("sha256")
        for each in found:
            if not re.fullmatch("[0-9a-f]{64}", each):
                raise self.fail(f"sha256 {each!r} is not 64 hexadecimal digits in lower case")
        return found

    def relative(self, key: str) -> str:
        value = self.text(key)
        path = PurePosixPath(value)
        if path.is_absolute() or ".." in path.parts or "\\" in value or str(path) != value:
            raise self.fail(f"{key} {value!r} must be a plain relative path")
        return value

    def tables(self, key: str) -> list[_Table]:
        value = self.table.get(key, [])
        if not isinstance(value, list):
            raise self.fail(f"{key} must be an array of tables, [[NAME.{key}]]")
        return [_Table(f"{self.place} {key} {number}", each) for number, each in enumerate(value, start=1)]

    def manifest(self, name: str, group: str) -> Manifest:
        self.only(_SET_KEYS)
        counts = self.table.get("counts", {})
        if not isinstance(counts, dict) or not all(isinstance(count, int) and count >= 0 for count in counts.values()):
            raise self.fail("counts must be a table of whole numbers")
        stated = {key: self.text(key) for key in _TEXT_KEYS if key in self.table}
        if "folder" in stated:
            self.relative("folder")
        if "access" in stated and stated["access"] not in ACCESS:
            raise self.fail(f"access is {stated['access']!r}; it can be {', '.join(ACCESS)}")
        page = self.text("page")
        self.address(page)
        found = Manifest(
            name=name,
            group=group,
            page=page,
            files=tuple(table.file() for table in self.tables("files")),
            downloads=tuple(table.download() for table in self.tables("downloads")),
            task_names=self.texts("tasks") or (name,),
            note=self.text("note", ""),
            shrinks=self.text("shrinks", ""),
            stated=stated,
            stated_counts=counts,
        )
        if not found.files:
            raise self.fail("names no files")
        if not found.tasks and (missing := [key for key in _TEXT_KEYS if key not in stated]):
            raise self.fail(f"no task reads it, so the manifest must say its {', '.join(missing)}")
        return found

    def file(self) -> DataFile:
        self.only(_FILE_KEYS)
        caution = self.texts("caution")
        convert = self.text("convert", "")
        if convert not in CONVERSIONS:
            raise self.fail(f"convert is {convert!r}; it can be {', '.join(filter(None, CONVERSIONS))}")
        if len(caution) not in (0, 2):
            raise self.fail("caution must be a pattern and what to say without it")
        for key, pattern in (
            ("content", self.text("content")),
            ("row", self.text("row", "")),
            ("caution", "".join(caution[:1])),
        ):
            try:
                re.compile(pattern.encode("utf-8"), re.MULTILINE)
            except re.error as error:  # noqa: PERF203
                raise self.fail(f"{key} is no pattern: {error}") from error
        return DataFile(
            path=self.relative("path"),
            content=self.text("content"),
            names=self.texts("names"),
            row=self.text("row", ""),
            rows=self.number("rows"),
            size=self.number("size"),
            sha256=self.hashes(),
            layout=self.text("layout", "official"),
            convert=convert,
            caution=(caution[0], caution[1]) if caution else None,
            optional=self.table.get("optional") is True,
            telling=self.table.get("telling") is True,
            named=self.table.get("named") is True,
        )

    def download(self) -> Download:
        self.only(_DOWNLOAD_KEYS)
        urls = self.texts("urls")
        if not urls:
            raise self.fail("urls must name at least one address")
        for url in urls:
            self.address(url)
        name = self.relative("name")
        if "/" in name:
            raise self.fail(f"name {name!r} must be the name of a file")
        return Download(name=name, urls=urls, size=self.number("size"), sha256="".join(self.hashes()[:1]))

    def address(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            well_formed = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:  # brackets that hold no address
            well_formed = False
        if not well_formed:
            raise self.fail(f"{url!r} is not an http or https address")

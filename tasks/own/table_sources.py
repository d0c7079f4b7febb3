"""Where a user's own rows are: a file, a folder of splits, a data set of the model hub, or memory."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from medsenteval.errors import DataError, DataMissingError, import_extra
from medsenteval.support.tables import ENDINGS, Table, ending_of, read_table, table_of_columns
from medsenteval.tasks.reading.copies import name_splits, split_of


def file_parts(path: Path, sheet: str = "") -> list[tuple[str, Table]]:
    """Return the table of a file, or those of a folder's files with the split that each is."""
    if path.is_file():
        return [("", read_table(path, sheet))]
    if not path.is_dir():
        raise DataMissingError(f"{path}: there is no such file or folder; paths begin in the current folder")
    files = sorted(file for file in path.iterdir() if file.is_file() and ending_of(file) in ENDINGS)
    return [(split, read_table(file, sheet)) for split, file in name_splits(path, files)]


def table_in_memory(source: Any) -> Table:
    """Return a table of a DataFrame, a list of dicts, a dict of columns, a data set with column_names, or (texts, labels)."""
    name = "table"
    if isinstance(source, Table):
        return source
    if isinstance(source, tuple):
        if len(source) != 2 or any(isinstance(part, str) or not hasattr(part, "__len__") for part in source):
            raise DataError("a tuple of data is (texts, labels), two columns of one length; give a list of dicts for others")
        return table_of_columns(name, {"text": list(source[0]), "label": list(source[1])})
    if isinstance(source, Mapping):
        return table_of_columns(name, {str(column): list(cells) for column, cells in source.items()})
    if isinstance(source, list):
        if not source or not all(isinstance(row, Mapping) for row in source):
            raise DataError("a list of data holds a dict for each row, with the names of columns as keys")
        columns = dict.fromkeys(str(key) for row in source for key in row)
        return table_of_columns(name, {column: [row.get(column) for row in source] for column in columns})
    columns_of = getattr(source, "column_names", None) or getattr(source, "columns", None)
    if columns_of is None:
        raise DataError(f"a {type(source).__name__} is no table; give a DataFrame, a list of dicts or (texts, labels)")
    names = [str(column) for column in columns_of]
    if len(set(names)) != len(names):
        return Table(name, tuple(names), lambda wanted: iter(()))  # refuses itself, with the name that stands twice
    return table_of_columns(name, {str(column): list(source[column]) for column in columns_of})


def hub_parts(name: str, revision: str = "") -> tuple[list[tuple[str, Table]], str]:
    """Fetch ``OWNER/NAME[:config][:split]``, from the hub's cache if there is no network; return it with its commit."""
    hub = import_extra("huggingface_hub", "reading data sets of the model hub", "hub")
    repository, *chosen = name.split(":")
    if "/" not in repository or len(chosen) > 2:
        raise DataError(f"hf:{name}: expected hf:OWNER/NAME, hf:OWNER/NAME:CONFIG or hf:OWNER/NAME:CONFIG:SPLIT")
    split = chosen.pop() if len(chosen) == 2 or (chosen and split_of(chosen[0])) else ""

    def fetched(at: str, patterns: list[str]) -> Path:
        try:
            return Path(hub.snapshot_download(repository, repo_type="dataset", revision=at or None, allow_patterns=patterns))
        except Exception as error:  # whatever the library, its network or its cache raises
            said = str(error).strip().partition("\n")[0]
            raise DataMissingError(
                f"hf:{repository}: neither in the cache nor to be had: {type(error).__name__}: {said}. Check the name and the "
                "network; for a gated data set log in with `hf auth login`"
            ) from error

    folder = fetched(revision, ["README.md"])
    commit, card = folder.name, folder / "README.md"
    described = hub.metadata_load(card) if card.is_file() else None
    configs = (described or {}).get("configs") or []
    files_of = {str(each.get("config_name", "default")): each.get("data_files") for each in configs if isinstance(each, dict)}
    if files_of:
        config = chosen[0] if chosen else next(iter(files_of))
        if config not in files_of or (not chosen and len(files_of) > 1):
            raise DataError(f"hf:{name}: name one of its configurations, as hf:{repository}:CONFIG: {', '.join(files_of)}")
        patterns = _patterns(files_of[config])
    else:
        tables = [f"*.{ending}{packed}" for ending in ENDINGS for packed in ("", ".gz")]
        patterns = {"": [f"{chosen[0]}/*"] if chosen else tables}
    folder = fetched(commit, [pattern for each in patterns.values() for pattern in each])
    there = [path for path in sorted(folder.rglob("*")) if path.is_file() and ending_of(path) in ENDINGS]
    found = []
    for part, wanted in patterns.items():
        matching = [path for path in there if any(fnmatchcase(path.relative_to(folder).as_posix(), each) for each in wanted)]
        found += [(part, path) for path in matching] if part else name_splits(folder, matching, f"hf:{name}")
    wanted_part = split_of(split) or split
    kept = [(part, path) for part, path in found if not split or (split_of(part) or part) == wanted_part]
    if not kept or (not split and not all(split_of(part) for part, _ in found)):
        parts = ", ".join(dict.fromkeys(part for part, _ in found)) or "none that can be read"
        raise DataError(
            f"hf:{name}: its splits are {parts}; name one of them as hf:{repository}:CONFIG:SPLIT. Where only a script loads a "
            "data set, its tables are at revision=refs/convert/parquet"
        )
    return [("" if split else split_of(part) or "", read_table(path)) for part, path in kept], commit


def _patterns(data_files: Any) -> dict[str, list[str]]:
    """Return the patterns of each split's files as a data set's card names them; "" for files that say it by their names."""
    found: dict[str, list[str]] = {}
    for entry in data_files if isinstance(data_files, list) else [data_files]:
        split, paths = (str(entry.get("split", "")), entry.get("path")) if isinstance(entry, dict) else ("", entry)
        found.setdefault(split, []).extend(str(path) for path in (paths if isinstance(paths, list) else [paths]) if path)
    return found

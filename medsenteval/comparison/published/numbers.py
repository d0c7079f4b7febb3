"""Every published number as one kind of value: where it stands, how it was made, what differs, and whether it can be right."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Final

from medsenteval import registry
from medsenteval.errors import UnknownNameError
from medsenteval.support.toml_files import parse_toml


@dataclass(frozen=True)
class PublishedNumber:
    """One number of a paper's table, in the units of this toolkit (accuracy and F1 in percent, correlations as fractions).

    ``task`` is this toolkit's name where it has the task, else the printed one. ``protocol`` is this toolkit's name of the
    protocol as far as the source states it, ``how`` what the source says, ``differs`` what is known to differ from a run of
    this toolkit. ``suspect`` says why the number cannot or need not be right; it is empty for all others.
    """

    table: str
    encoder: str
    task: str
    metric: str
    value: float
    printed: str
    unit: str
    protocol: str
    how: str
    source: str
    probe: str = ""
    setting: str = ""
    differs: str = ""
    suspect: str = ""


#: File -> what it holds; all have the same columns, and leave out those that they do not need.
TABLES: Final = {
    "medsenteval_table3": "Tawfik and Spruit 2020, Table 3: 18 encoders on the ten sentence tasks",
    "medsenteval_table4": "Tawfik and Spruit 2020, Table 4: what six encoders made of three examples",
    "senteval_general": "general-domain SentEval numbers, each with its source and protocol",
    "biosim_tables": "Chiu et al. 2018 (Bio-SimVerb, Bio-SimLex), Tables 5 to 11",
    "bmass_tables": "Newman-Griffis et al. 2017 (BMASS), Tables 2 to 5",
    "medisim_tables": "Schulz and Juric 2020 (medical term similarity), both versions",
}
#: What rows say of themselves; the rest is said of their table.
_TOLD: Final = ("table", "encoder", "task", "metric", "unit", "protocol", "setting")


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of published numbers, each with its value as printed."""
    with files("medsenteval.comparison.published").joinpath(f"{name}.csv").open("r", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@cache
def published_numbers() -> tuple[PublishedNumber, ...]:
    about = parse_toml(files("medsenteval.comparison.published").joinpath("about.toml").read_text("utf-8"))
    return tuple(_annotate(row, about) for file in TABLES for row in read_table(file))


def select_numbers(*, table: str = "", task: str = "", encoder: str = "", suspect: bool = False) -> list[PublishedNumber]:
    """Return the numbers of a table or whole paper ("medisim"), of a task, or of encoders by part of their name."""
    start = f"{table.casefold()}-" if table else ""
    found = [number for number in published_numbers() if f"{number.table}-".startswith(start)]
    if not found:
        known = sorted({number.table for number in published_numbers()})
        raise UnknownNameError(f"no published table is called {table!r}; known: {', '.join(known)}")
    if task:
        names = {task.casefold()}
        try:
            names.add(registry.canonical_task_name(task).casefold())
        except UnknownNameError:
            if not any(number.task.casefold() in names for number in published_numbers()):
                raise
        found = [number for number in found if number.task.casefold() in names]
    found = [number for number in found if encoder.casefold() in number.encoder.casefold()]
    return [number for number in found if number.suspect or not suspect]


def _annotate(row: dict[str, str], about: Mapping[str, Any]) -> PublishedNumber:
    table = row["table"]
    # A paper with many tables is described once; the rest of the table's name completes its source.
    key = table if table in about else max((name for name in about if table.startswith(f"{name}-")), key=len)
    described = about[key]
    source = described["source"] + ("" if key == table else f" {table[len(key) + 1 :].upper()}")
    suspect = next((entry["reason"] for entry in described.get("suspect", ()) if _matches(entry, row)), "")
    differs = described.get("differs", {})
    return PublishedNumber(
        **{name: row[name] for name in _TOLD if name in row},
        value=float(row["value"]) / float(row.get("scale", 1)),
        printed=row["value"],
        how=described["how"],
        source=source,
        probe=described.get("probe", "") if row["protocol"] not in ("cosine", "relatedness", "") else "",
        differs=differs.get(row["task"], differs.get(row.get("setting", ""), "")),
        suspect=suspect,
    )


def _matches(entry: Mapping[str, str | list[str]], row: Mapping[str, str]) -> bool:
    """Whether a row is one that an entry means: of each field it names a pattern, or several of which one must fit."""
    wanted = {name: [text] if isinstance(text, str) else text for name, text in entry.items() if name != "reason"}
    return all(any(fnmatchcase(row.get(name, ""), text) for text in texts) for name, texts in wanted.items())

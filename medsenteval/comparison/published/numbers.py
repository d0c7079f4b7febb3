"""Every published number as one kind of value: where it stands, how it was made, what differs, and whether it can be right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Final

from medsenteval import registry
from medsenteval.catalogue import TASK_GROUPS
from medsenteval.comparison.published import read_table
from medsenteval.errors import UnknownNameError
from medsenteval.support.grouping import grouped
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
    domain: str = ""
    dimension: str = ""
    note: str = ""
    differs: str = ""
    suspect: str = ""


#: What rows say of themselves; the rest is said of their table.
_TOLD: Final = ("table", "encoder", "task", "metric", "unit", "protocol", "setting", "domain", "dimension", "note")
#: Names of SentEval's tasks as papers print them.
_GENERAL_NAMES: Final = {
    printed: name for group in ("general", "probing") for name, (_, others) in TASK_GROUPS[group].items() for printed in others
}
#: The beginning of a source in senteval_general.csv -> name of the table.
_GENERAL_TABLES: Final = {
    "Reimers & Gurevych 2019 (SBERT) arXiv:1908.10084 Table 1": "sbert-1",
    "Reimers & Gurevych 2019 (SBERT) arXiv:1908.10084 Table 5": "sbert-5",
    "Wieting & Kiela 2019 (No Training Required) ICLR Table 1": "wieting-1",
    "Wieting & Kiela 2019 (No Training Required) ICLR Table 3": "wieting-3",
    "facebookresearch/InferSent README.md": "infersent-readme",
    "facebookresearch/InferSent issue #30": "infersent-issue-30",
    "facebookresearch/InferSent issue #124": "infersent-issue-124",
    "princeton-nlp/SimCSE issue #87": "simcse-issue-87",
    "facebookresearch/SentEval PR #62": "senteval-pr-62",
}
_PROTOCOL_OF_FAMILY: Final = {
    **dict.fromkeys(("kfold+test", "pair-kfold+test"), "kfold"),
    **dict.fromkeys(("split", "pair-split", "probing"), "split"),
    **{"binary-nested-cv": "nested", "relatedness": "relatedness", "sts": "cosine"},
}
#: Endings of metrics as SentEval's dictionaries and ours have them.
_ENDINGS: Final = {"_wmean": "_weighted", "_mean": "", "_all": "_pooled"}
_MEDSENTEVAL_PROTOCOLS: Final = {
    **dict.fromkeys(("MedNLI", "PubMed20K", "PICO"), "split"),
    **dict.fromkeys(("RQE", "BioASQ"), "kfold-10"),
    **dict.fromkeys(("VaccineSA", "CitationSA", "BioC"), "nested-10"),
    **dict.fromkeys(("ClinicalSTS", "BIOSSES"), "cosine"),
}


@cache
def published_numbers() -> tuple[PublishedNumber, ...]:
    """Return every number of every published table."""
    about = parse_toml(files("medsenteval.comparison.published").joinpath("about.toml").read_text("utf-8"))
    readers = (_medsenteval, _diagnostics, _senteval, _biosim, _bmass, _medisim)
    return tuple(_annotate(row, about) for read in readers for row in read())


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
    """Add source, way of making, differences and suspicion to a row of table, encoder, task, metric, value and more."""
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


def _medsenteval() -> Iterator[dict[str, str]]:
    for row in read_table("medsenteval_table3"):
        yield row | {
            "table": "medsenteval-3",
            "dimension": row["dim"],
            "unit": "percent" if row["metric"] in ("acc", "f1") else "fraction",
            "protocol": _MEDSENTEVAL_PROTOCOLS[row["task"]],
        }


def _diagnostics() -> Iterator[dict[str, str]]:
    for row in read_table("medsenteval_table4"):
        yield row | {"table": "medsenteval-4", "domain": "biomedical", "unit": "fraction", "protocol": ""}


def _senteval() -> Iterator[dict[str, str]]:
    for row in read_table("senteval_general"):
        table = next(name for start, name in _GENERAL_TABLES.items() if row["source"].startswith(start))
        task, metric, protocol = row["task"], row["metric"], _PROTOCOL_OF_FAMILY[row["family"]]
        for printed, ours in _ENDINGS.items():
            metric = metric.removesuffix(printed) + ours if metric.endswith(printed) else metric
        if "cosine" in row["protocol"]:
            protocol = "cosine"
            task = f"{_GENERAL_NAMES[task]}Cosine" if task in ("STSB", "SICK-R") else task
        elif "10-fold" in row["protocol"] and protocol in ("nested", "kfold"):
            protocol += "-10"
        if task.startswith("STS1") and table == "sbert-1":
            metric = "spearman_pooled"
        yield row | {
            "table": table,
            "domain": "general",
            "dimension": row["dim"],
            "task": _GENERAL_NAMES.get(task, task),
            "metric": metric,
            "scale": "100" if row["unit"] == "x100" else "1",
            "unit": "percent" if row["unit"] == "percent" else "fraction",
            "protocol": "" if task == "AVG" else protocol,
        }


def _biosim() -> Iterator[dict[str, str]]:
    metrics = {"spearman_rho": ("spearman", "cosine"), "F": ("f1", "ner")}
    for row in read_table("biosim_tables"):
        metric, protocol = metrics.get(row["metric"], (row["metric"], ""))
        yield row | {
            "table": f"biosim-{row['table']}",
            "encoder": f"window {row['row']}" if row["row_kind"] == "window" else row["row"],
            "domain": "biomedical",
            "task": row["column"],
            "metric": metric,
            "unit": "percent" if metric == "f1" else "fraction",
            "protocol": protocol,
            "note": row["note"].replace("_", " "),
        }


def _bmass() -> Iterator[dict[str, str]]:
    for row in read_table("bmass_tables"):
        yield row | {
            "table": f"bmass-{row['table']}",
            "encoder": row["embedding_or_category"],
            "domain": "biomedical",
            "task": f"{row['relation_id']} {row['relation']}".strip(),
            "unit": "fraction",
            "protocol": "analogy",
        }


#: Similarity in Table 4 -> name of the protocol; the cosine of mean vectors is that of texts.
_MEASURE_PROTOCOLS: Final = {"avg_cos": "cosine", "avg_r": "avg_r", "tau": "avg_tau"}
_COUNTS: Final = dict.fromkeys(
    ("n_pairs", "vocabulary_size", "dimension", "window", "measures_outperformed", "measures_that_outperform"), "count"
)
#: Tables that name measures by cell and leave cells empty, with the cells of a row.
_TABLES_OF_MEASURES: Final = {
    **dict.fromkeys(("B.2", "B.3", "B.4", "B.5"), 11),
    **dict.fromkeys(("C.4", "C.5", "C.6", "C.7", "C.8"), 10),
}


def _medisim() -> Iterator[dict[str, str]]:
    rows = read_table("medisim_tables")
    filled = grouped(((row["table"], row["embedding"]), (row["dataset"], row["split"])) for row in rows)
    for row in rows:
        paper = "medisim" if row["version"] == "arxiv" else "medisim-aaai"
        notes = [
            f"significantly {word} than {row[f'n_sig_{word}']} others" for word in ("better", "worse") if row[f"n_sig_{word}"]
        ]
        if len(set(filled[row["table"], row["embedding"]])) < _TABLES_OF_MEASURES.get(row["table"], 0):
            notes.append("column as in a copy of the paper in which empty cells may have moved")
        if row["subset_size"]:
            notes.append(f"pairs used {row['subset_size']}")
        percent = row["metric"].startswith(("accuracy", "relative_overlap", "pct"))
        yield row | {
            "table": f"{paper}-{row['table'].lower()}",
            "encoder": row["embedding"],
            "task": row["dataset"],
            "unit": "percent" if percent else _COUNTS.get(row["metric"], "fraction"),
            "protocol": _MEASURE_PROTOCOLS.get(row["similarity"], "") if row["metric"] == "spearman" else "",
            "setting": ", ".join(filter(None, (row["split"], row["neg_sampling"], row["similarity"]))),
            "note": "; ".join(notes),
        }


def tables_of(numbers: Iterable[PublishedNumber]) -> dict[str, str]:
    """Return the tables that numbers come from, each with its source, in the order of the numbers."""
    return {number.table: number.source for number in numbers}

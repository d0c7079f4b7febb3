"""Readers of users' own tables, each with a small valid file."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from medsenteval import own_task
from tests.fuzz.reader import Files, Reader, as_json, as_text

__all__ = ["TABLE_READERS"]

_ROWS: Final = [{"text": f"note {i}, seen", "label": i % 2, "patient": f"P{i // 2}"} for i in range(8)]
_CSV: Final = as_text("text,label,patient", *(f'"note {i}, seen",{i % 2},P{i // 2}' for i in range(8)))
_PAIRS: Final = as_text("sentence1\tsentence2\tscore\tid", *(f"left {i}\tright {i}\t{i / 2}\t{i}" for i in range(8)))
_TOKENS: Final = as_text("Lung B-Organ", "cancer O", "", "the O", "kidney B-Organ")


def _own(name: str, **options: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        task = own_task(folder / name, **options)
        return task.read(folder, {})

    return read


@cache
def _workbook() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in [list(_ROWS[0]), *(list(each.values()) for each in _ROWS)]:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


@cache
def _parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(_ROWS), stream)
    return stream.getvalue()


def _packed(files: Files) -> Files:
    return {f"{name}.gz": gzip.compress(content, 1) for name, content in files.items()}


TABLE_READERS: Final[tuple[Reader, ...]] = (
    Reader("own CSV", {"a.csv": _CSV}, _own("a.csv"), weight=3.0),
    Reader("own CSV gz", {"a.csv": _CSV}, _own("a.csv.gz"), _packed),
    Reader("own CSV UTF-16", {"a.csv": _CSV.decode().encode("utf-16")}, _own("a.csv")),
    Reader("own TSV of pairs", {"a.tsv": _PAIRS}, _own("a.tsv"), weight=2.0),
    Reader("own words", {"a.csv": as_text("term1,term2,score", *(f"a{i},b{i},{i}" for i in range(6)))}, _own("a.csv")),
    Reader(
        "own JSON lines",
        {"a.jsonl": as_json(_ROWS).replace(b"\n", b"").replace(b"},", b"}\n").strip(b"[]")},
        _own("a.jsonl"),
        weight=2.0,
    ),
    Reader("own JSON", {"a.json": as_json({"data": _ROWS})}, _own("a.json")),
    Reader("own Parquet", {"a.parquet": _parquet()}, _own("a.parquet"), weight=0.5),
    Reader("own workbook", {"a.xlsx": _workbook()}, _own("a.xlsx"), weight=0.1),
    Reader("own folder", {"f/train.csv": _CSV, "f/test.csv": _CSV}, _own("f")),
    Reader("own tokens", {"f/train.conll": _TOKENS, "f/test.conll": _TOKENS}, _own("f")),
)

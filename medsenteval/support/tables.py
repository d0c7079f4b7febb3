"""Tables in any file that holds one: columns by name and rows by number.

CSV, TSV, JSON lines, JSON, Parquet, Excel and one token a line (CoNLL), each also compressed with gzip; and tables in memory. A
row is handed on whole, or as the reason why it cannot be read. Cells are texts, numbers, truth values, lists, or None where
nothing stands; an empty text is nothing. UTF-8 is assumed, UTF-16 and UTF-32 are known by their marks, and Latin-1 is noted.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final
from zipfile import ZipFile

from medsenteval.errors import DataError, DataMissingError, MedSentEvalError, import_extra
from medsenteval.support.files import LARGEST_FILE, LINE_END, decode_text

#: A row's number (line of a text file, item of a list, row of a sheet) and its cells, or why it cannot be read.
Row = tuple[int, "tuple[Any, ...] | str"]
#: In place of a reason: a blank line, which parts sentences and means nothing elsewhere.
BLANK: Final = ""
_LONGEST_CELL: Final = 10_000_000
_LARGEST_UNPACKED: Final = 1 << 30
_DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, eq=False)
class Table:
    """``pick`` yields the rows with the cells of the columns that it is given; every call begins anew.

    ``name`` is the file's, without folders. ``classes`` has the names of labels that a column holds by number.
    """

    name: str
    columns: tuple[str, ...]
    pick: Callable[[Sequence[str]], Iterator[Row]]
    notes: tuple[str, ...] = ()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place, name in enumerate(self.columns, start=1):
            if (first := self.columns.index(name) + 1) != place:
                raise DataError(
                    f"{self.name}: the columns {first} and {place} are both called {name!r}; give one of them another name"
                )


def ending_of(path: Path) -> str:
    """Return what the name of a file ends in, in lower case and without .gz: "csv", "parquet", ..."""
    name = path.name.casefold().removesuffix(".gz")
    return name.rpartition(".")[2] if "." in name else ""


def read_table(path: Path, sheet: str = "") -> Table:
    """Open the table in a file; its ending says what it is. ``sheet`` names one of several sheets of a workbook."""
    if not path.is_file():
        raise DataMissingError(f"{path}: there is no such file")
    reader = ENDINGS.get(ending_of(path))
    if reader is None:
        raise DataError(f"{path}: no table ends so; it can be {', '.join(f'.{each}' for each in ENDINGS)}, each also with .gz")
    with _refusing(path):
        return reader(path, sheet) if reader is _workbook else reader(path)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Refuse a damaged file by name; libraries, and Python's own unpackers, raise anything at all over one."""
    try:
        yield
    except MedSentEvalError:
        raise
    except Exception as error:
        raise DataError(f"{path}: cannot be read ({type(error).__name__}: {error}); is the file what its name says?") from error


def table_of_columns(name: str, columns: Mapping[str, Sequence[Any]]) -> Table:
    """Return a table of columns in memory; rows are numbered from 1."""
    lengths = {column: len(cells) for column, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{name}: columns of different lengths: {', '.join(f'{key} {n:,}' for key, n in lengths.items())}")
    return _table(name, tuple(columns), lambda: enumerate(zip(*columns.values(), strict=True), start=1))


def _table(name: str, columns: tuple[str, ...], rows: Callable[[], Iterable[Row]], *notes: str) -> Table:
    """Return a table of rows with cells for all columns, or with more, which no column names."""

    def pick(names: Sequence[str]) -> Iterator[Row]:
        places = [columns.index(each) for each in names]
        for number, cells in rows():
            yield number, cells if isinstance(cells, str) else tuple(_cell(cells[place]) for place in places)

    return Table(name, columns, pick, notes)


def _cell(value: Any) -> Any:
    """Return a cell as one of a few types; what libraries write for nothing, and an empty text, becomes None."""
    if isinstance(value, str):
        return value if value and not value.isspace() else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist"):  # a scalar or an array of NumPy's
        return _cell(value.tolist())
    if isinstance(value, (list, tuple, dict)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _opened(path: Path) -> BinaryIO:
    """Open a file that is read here and there; one that is compressed with gzip is unpacked first."""
    stream = path.open("rb")
    packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    if not packed:
        return stream
    with stream, gzip.GzipFile(fileobj=stream) as unpacked:
        content = unpacked.read(_LARGEST_UNPACKED + 1)
    if len(content) > _LARGEST_UNPACKED:
        raise DataError(f"{path}: unpacks to more than {_LARGEST_UNPACKED:,} bytes; unpack it yourself")
    return io.BytesIO(content)


def _text(path: Path) -> list[str]:
    """Return a file's text, and a note behind it if it had to be read as Latin-1."""
    if path.stat().st_size > LARGEST_FILE:
        raise DataError(f"{path}: more than {LARGEST_FILE:,} bytes; split it into parts")
    with _opened(path) as stream:
        raw = stream.read()
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "")
    if not encoding:
        text, latin1 = decode_text(raw, path)
        return [text, *([f"{path.name} is not UTF-8 and was read as Latin-1"] if latin1 else [])]
    try:
        return [raw.decode(encoding)]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: begins as {encoding} and is not; save it as UTF-8") from error


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends; str.splitlines would also break at separators that occur inside texts."""
    begin = 0
    for end in LINE_END.finditer(text):
        yield text[begin : end.end()]
        begin = end.end()
    if begin < len(text):
        yield text[begin:]


def _header(path: Path, line: int, cells: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of columns; one without a name is called by its place."""
    names = tuple("" if cell is None else str(cell).strip() for cell in cells)
    if not any(names):
        raise DataError(f"{path}:{line}: no header row; the first row must name the columns")
    return tuple(name or f"column {place}" for place, name in enumerate(names, start=1))


def _delimited(path: Path, delimiter: str = "") -> Table:
    """Open a CSV file, whose first line tells its delimiter, or a TSV file."""
    text, *notes = _text(path)
    first = next(_lines(text), "")
    records = _tab_records if delimiter else comma_records
    delimiter = delimiter or max(_DELIMITERS, key=lambda each: len(_fields(first, each)))
    columns = _header(path, 1, next(records(path, text, delimiter), (1, []))[1])
    if delimiter not in ",\t":
        notes.append(f"{path.name} has its columns separated by {_DELIMITERS[delimiter]}")
    odd = f"cell(s) where the header names {len(columns)}; is a delimiter in a text that is not quoted?"

    def rows() -> Iterator[Row]:
        for number, cells in islice(records(path, text, delimiter), 1, None):
            yield number, BLANK if not any(cells) else tuple(cells) if len(cells) == len(columns) else f"{len(cells)} {odd}"

    return _table(path.name, columns, rows, *notes)


def _fields(line: str, delimiter: str) -> list[str]:
    """Return one line's fields; quotes that do not quote a whole field are letters."""
    line = line.rstrip("\r\n")
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return line.split(delimiter)


def _tab_records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield a record for each line: in TSV files a lone quote is a letter, and must not swallow the lines after it."""
    for number, line in enumerate(_lines(text), start=1):
        yield number, _fields(line, delimiter)


def comma_records(path: Path, text: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield records with the line on which each begins; quoted fields may hold line ends."""
    # A limit of the whole process: what other readers of CSV refuse must not depend on whether this one has been at work.
    limit = csv.field_size_limit(_LONGEST_CELL)
    begun = 1
    try:
        reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
        for record in reader:
            yield begun, record
            begun = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}:{begun}: the quotes of the row that begins here do not match: {error}; double a quote inside quotes"
        ) from error
    finally:
        csv.field_size_limit(limit)


def _conll(path: Path) -> Table:
    """Open a file of a token and its tag a line, with other columns between them; blank lines part sentences."""
    text, *notes = _text(path)

    def rows() -> Iterator[Row]:
        for number, line in enumerate(_lines(text), start=1):
            fields = line.split("\t") if "\t" in line.strip() else line.split()
            if not line.strip() or fields[0].strip() == "-DOCSTART-":
                yield number, BLANK
            elif len(fields) < 2:
                yield number, "one column where a token and its tag are expected"
            else:
                yield number, (fields[0].strip(), fields[-1].strip())

    return _table(path.name, ("token", "tag"), rows, *notes)


def _json_lines(path: Path) -> Table:
    text, *notes = _text(path)
    return _objects(
        path, lambda: ((number, _parsed(line)) for number, line in enumerate(_lines(text), start=1) if line.strip()), *notes
    )


def _json(path: Path) -> Table:
    """Open a list of objects, or an object that holds one such list."""
    text, *notes = _text(path)
    content = _parsed(text)
    if isinstance(content, _Reason):
        raise DataError(f"{path}: {content}; for an object a line name it .jsonl")
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        content = lists[0] if len(lists) == 1 else content
    if not isinstance(content, list):
        raise DataError(f"{path}: a JSON {type(content).__name__} where a list of objects is expected")
    return _objects(path, lambda: enumerate(content, start=1), *notes)


class _Reason(str):
    """Why something is no JSON, where a value was expected."""


def _parsed(text: str) -> Any:
    """Parse JSON, or return the reason why it cannot be."""
    try:
        return json.loads(text, object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        return _Reason(f"not JSON: {error if isinstance(error, json.JSONDecodeError) else type(error).__name__}")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise json.JSONDecodeError("a key stands twice", "", 0)
    return found


def _objects(path: Path, items: Callable[[], Iterable[tuple[int, Any]]], *notes: str) -> Table:
    """Return the table of objects: a column for each key that one of them has."""
    columns = tuple(dict.fromkeys(key for _, item in items() if isinstance(item, dict) for key in item))
    if not columns:
        raise DataError(f"{path}: not one JSON object with keys; each row is an object, its keys are the columns")

    def rows() -> Iterator[Row]:
        for number, item in items():
            if isinstance(item, dict):
                yield number, tuple(map(item.get, columns))
            else:
                yield number, item if isinstance(item, _Reason) else "no JSON object"

    return _table(path.name, columns, rows, *notes)


def _parquet(path: Path) -> Table:
    parquet = import_extra("pyarrow.parquet", "reading Parquet files", "tables", "pyarrow")

    def pick(names: Sequence[str]) -> Iterator[Row]:
        with _refusing(path):
            batches = parquet.ParquetFile(_opened(path)).iter_batches(columns=list(names))
            rows = (row for batch in batches for row in zip(*(batch.column(name).to_pylist() for name in names), strict=True))
            for number, cells in enumerate(rows, start=1):
                yield number, tuple(map(_cell, cells))

    schema = parquet.ParquetFile(_opened(path)).schema_arrow
    return Table(path.name, tuple(schema.names), pick, classes=_class_names(schema.metadata or {}))


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    """Return the names of classes that the library ``datasets`` writes beside columns of their numbers."""
    described = _parsed(metadata.get(b"huggingface", b"{}").decode("utf-8", "replace"))
    info = described.get("info") if isinstance(described, dict) else None
    features = info.get("features") if isinstance(info, dict) else None
    found = {}
    for column, feature in features.items() if isinstance(features, dict) else ():
        inner = feature.get("feature", feature) if isinstance(feature, dict) else None
        names = inner.get("names") if isinstance(inner, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            found[column] = tuple(names)
    return found


def _workbook(path: Path, sheet: str = "") -> Table:
    openpyxl = import_extra("openpyxl", "reading Excel files", "tables")

    def rows() -> Iterator[tuple[int, tuple[Any, ...]]]:
        with _refusing(path):
            stream = _opened(path)
            if sum(part.file_size for part in ZipFile(stream).infolist()) > _LARGEST_UNPACKED:
                raise DataError(f"{path}: unpacks to more than {_LARGEST_UNPACKED:,} bytes; save it as CSV")
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            names = [each.title for each in book.worksheets]
            if (sheet and sheet not in names) or (not sheet and len(names) != 1):
                raise DataError(f"{path}: name one of its sheets with sheet=: {', '.join(names)}")
            chosen = book[sheet or names[0]]
            chosen.reset_dimensions()
            for number, cells in enumerate(chosen.iter_rows(values_only=True), start=1):
                if any(cell is not None for cell in cells):
                    yield number, cells

    line, first = next(rows(), (1, ()))
    while first and first[-1] is None:
        first = first[:-1]
    columns = _header(path, line, first)
    padding = (None,) * len(columns)
    return _table(path.name, columns, lambda: ((number, cells + padding) for number, cells in rows() if number != line))


#: What a file's name ends in -> how it is opened.
ENDINGS: Final[Mapping[str, Callable[..., Table]]] = {
    "csv": _delimited,
    "tsv": partial(_delimited, delimiter="\t"),
    "jsonl": _json_lines,
    "ndjson": _json_lines,
    "json": _json,
    "parquet": _parquet,
    "xlsx": _workbook,
    "conll": _conll,
    "iob": _conll,
}

"""Formats in which people have a data set, turned into those that its reader opens; every row counted, none lost silently."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError
from medsenteval.support.files import clean_text, parse_json, read_json, read_lines, read_text
from medsenteval.support.tables import comma_records

_ID_KEYS: Final = ("id_str", "id", "tweet_id", "tweetid", "status_id")
_TEXT_KEYS: Final = ("full_text", "text", "tweet", "content", "tweet_text")
#: Wrappers in which platforms and tools put a tweet.
_WRAPPERS: Final = ("data", "tweet", "status")
#: The files that a conversion made, by path below the data set's folder, and what is to be said of it.
Converted = tuple[dict[str, str], list[str]]


def _tweets(path: str, source: Path) -> Converted:
    """Write ``id TAB text`` lines from JSON, JSON lines, CSV or TSV; ids are kept as text, because floats would round them."""
    texts: dict[str, str] = {}
    unusable = different = 0
    for tweet, text in map(_tweet, _objects(source)):
        if not tweet or not text:
            unusable += 1
        elif texts.setdefault(tweet, text) != text:
            different += 1
    if not texts:
        raise DataError(
            f"{source}: no tweet with an id ({', '.join(_ID_KEYS)}) and a text ({', '.join(_TEXT_KEYS)}) in it; a table of "
            "more columns than these two needs a header, and a text with a comma needs quotes"
        )
    notes = [f"{len(texts):,} tweets with text read from {source.name}"]
    if unusable:
        notes.append(f"{unusable:,} row(s) of {source.name} have no id or no text, or more cells than columns")
    if different:
        notes.append(f"{different:,} row(s) of {source.name} give a tweet a second, different text; the first stands")
    return {path: "".join(f"{tweet}\t{text}\n" for tweet, text in texts.items())}, notes


def _objects(source: Path) -> Iterator[Any]:
    """Yield an object for each tweet, also of a table, whose first column is the id and second the text without a header."""
    text, _ = read_text(source)
    if text.lstrip().startswith("["):
        yield from read_json(source)
        return
    lines = read_lines(source)[0]
    if text.lstrip().startswith("{"):
        yield from (parse_json(line, source, number) for number, line in enumerate(lines, start=1) if line.strip())
        return
    rows: Iterator[list[str]] = (cells for _, cells in comma_records(source, text))
    if tabs := "\t" in "".join(lines[:1]):
        rows = (line.split("\t") for line in lines)
    first = next(rows, [])
    names = [re.sub(r"\W", "", name).casefold() for name in first]
    if not set(names) & set(_ID_KEYS):
        names, rows = ["id", "text"], chain([first], rows)
    elif not set(names) & set(_TEXT_KEYS):
        raise DataError(f"{source}:1: the header names no text column; expected one of {', '.join(_TEXT_KEYS)}")
    for row in rows:
        if tabs and len(row) > len(names):  # nothing is quoted: tabs beyond the last column belong to its text
            row[len(names) - 1 :] = ["\t".join(row[len(names) - 1 :])]
        if len(row) > len(names):
            yield {}  # a comma in a text that is not quoted: the text would end there
        elif any(field.strip() for field in row):
            # Of two columns of one name the first counts.
            yield dict([*zip(names, row, strict=False)][::-1])


def _tweet(parsed: Any) -> tuple[str, str]:
    """Find id and text in a tweet's object, also where a platform or tool wrapped it; empty where there is none."""
    layers = [parsed, *map(parsed.get, _WRAPPERS)] if isinstance(parsed, dict) else []
    for layer in (layer for layer in layers if isinstance(layer, dict)):
        tweet = next((layer[key] for key in _ID_KEYS if layer.get(key) is not None), None)
        text = next((layer[key] for key in _TEXT_KEYS if isinstance(layer.get(key), str)), None)
        number = re.fullmatch(r"\s*[\"']?(\d{1,30})[\"']?\s*", str(tweet), re.ASCII)
        if isinstance(tweet, (str, int)) and number and text is not None:
            return number[1], clean_text(text)
    return "", ""


def _snli(path: str, source: Path) -> Converted:
    """Write SentEval's parallel files from SNLI's official one; pairs without a gold label are left out, as SentEval does."""
    lines, _ = read_lines(source)
    header = lines[0].split("\t") if lines else []
    try:
        columns = [header.index(name) for name in ("gold_label", "sentence1", "sentence2")]
    except ValueError as error:
        raise DataError(
            f"{source}:1: the header has no gold_label, sentence1, sentence2; is it an official SNLI file?"
        ) from error
    rows, unlabelled = [], 0
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) <= max(columns):
            raise DataError(f"{source}:{number}: {len(fields)} tab-separated fields where the header has {len(header)}")
        label, first, second = (clean_text(fields[column]) for column in columns)
        if label == "-":
            unlabelled += 1
        else:
            rows.append((label, first, second))
    split = path.removesuffix(".txt").rpartition("_")[2]
    written = ("".join(f"{row[column]}\n" for row in rows) for column in range(3))
    files = dict(zip((f"labels.{split}", f"s1.{split}", f"s2.{split}"), written, strict=True))
    return files, [f"{unlabelled:,} pair(s) of {source.name} have no gold label and are left out"] if unlabelled else []


#: Name of a conversion -> what turns a file that people have into what the reader expects at a path.
CONVERSIONS: Final[dict[str, Callable[[str, Path], Converted]]] = {"tweets": _tweets, "snli": _snli}

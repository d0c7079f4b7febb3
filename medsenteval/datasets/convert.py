"""Formats in which people have a data set, turned into those that its reader opens; every row counted, none lost silently."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from medsenteval.errors import DataError
from medsenteval.support.files import LINE_END, clean_text, parse_json, read_json, read_lines, read_text

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
    for tweet, text in _tweet_rows(source):
        if tweet is None or text is None:
            unusable += 1
        elif texts.setdefault(tweet, text) != text:
            different += 1
    if not texts:
        raise DataError(f"{source}: no tweet with an id ({', '.join(_ID_KEYS)}) and a text ({', '.join(_TEXT_KEYS)}) in it")
    notes = [f"{len(texts):,} tweets with text read from {source.name}"]
    if unusable:
        notes.append(f"{unusable:,} row(s) of {source.name} have no id or no text")
    if different:
        notes.append(f"{different:,} row(s) of {source.name} give a tweet a second, different text; the first stands")
    return {path: "".join(f"{tweet}\t{text}\n" for tweet, text in texts.items())}, notes


def _tweet_rows(source: Path) -> Iterator[tuple[str | None, str | None]]:
    text, _ = read_text(source)
    beginning = text.lstrip()[:1]
    if beginning == "[":
        parsed = read_json(source)
        if not isinstance(parsed, list):
            raise DataError(f"{source}: expected a JSON list of tweets")
        yield from map(_from_object, parsed)
    elif beginning == "{":
        for number, line in enumerate(read_lines(source)[0], start=1):
            if line.strip():
                yield _from_object(parse_json(line, source, number))
    else:
        yield from _from_table(source, text)


def _from_object(parsed: Any) -> tuple[str | None, str | None]:
    """Find id and text in a tweet's object, also where a platform or tool wrapped it."""
    if not isinstance(parsed, dict):
        return None, None
    for layer in (parsed, *(parsed[key] for key in _WRAPPERS if isinstance(parsed.get(key), dict))):
        tweet = next((_identifier(layer[key]) for key in _ID_KEYS if layer.get(key) is not None), None)
        text = next((layer[key] for key in _TEXT_KEYS if isinstance(layer.get(key), str)), None)
        if tweet is not None and text is not None:
            return tweet, clean_text(text)
    return None, None


def _identifier(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    found = re.fullmatch(r"\s*[\"']?(\d{1,30})[\"']?\s*", str(value), re.ASCII)
    return found[1] if found else None


def _from_table(source: Path, text: str) -> Iterator[tuple[str | None, str | None]]:
    """Read a table with or without a header; without one its first column is the id and the second the text."""
    tabs = "\t" in LINE_END.split(text, maxsplit=1)[0]
    rows = (line.split("\t") for line in read_lines(source)[0]) if tabs else _comma_rows(source, text)
    id_column, text_column, width = 0, 1, 2
    for position, row in enumerate(rows):
        if position == 0:
            names = [re.sub(r"\W", "", name).casefold() for name in row]
            if any(key in names for key in _ID_KEYS):
                if not any(key in names for key in _TEXT_KEYS):
                    raise DataError(f"{source}:1: the header names no text column; expected one of {', '.join(_TEXT_KEYS)}")
                id_column, text_column = (
                    next(names.index(key) for key in keys if key in names) for keys in (_ID_KEYS, _TEXT_KEYS)
                )
                width = len(names)
                continue
        if tabs and len(row) > width:  # nothing is quoted: tabs beyond the last column belong to its text
            row[width - 1 :] = ["\t".join(row[width - 1 :])]
        if len(row) > max(id_column, text_column):
            yield _identifier(row[id_column]), clean_text(row[text_column]) or None
        elif any(field.strip() for field in row):
            yield None, None


def _comma_rows(source: Path, text: str) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        yield from rows
    except csv.Error as error:
        raise DataError(f"{source}:{rows.line_num}: not comma-separated: {error}") from error


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
    files = {
        f"{stem}.{split}": "".join(f"{row[column]}\n" for row in rows) for column, stem in enumerate(("labels", "s1", "s2"))
    }
    return files, [f"{unlabelled:,} pair(s) of {source.name} have no gold label and are left out"] if unlabelled else []


#: Name of a conversion -> what turns a file that people have into what the reader expects at a path.
CONVERSIONS: Final[dict[str, Callable[[str, Path], Converted]]] = {"tweets": _tweets, "snli": _snli}

"""A task's texts in a corpus that an encoder was trained on: word for word, or nearly."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from medsenteval.datasets.near_duplicates import near_duplicates, word_set
from medsenteval.datasets.quality import NEAR
from medsenteval.errors import DataError, SettingsError
from medsenteval.support.files import read_bytes
from medsenteval.support.tables import ENDINGS, ending_of, read_table

#: Texts of the corpus that are compared at once.
_BLOCK: Final = 100_000
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")


def corpus_texts(path: Path, column: str = "") -> Iterator[tuple[int, str]]:
    """Yield the texts of a corpus with their line numbers: lines of a text file or a column of a table, gzipped or not."""
    if column or ending_of(path) in ENDINGS:
        table = read_table(path)
        name = column or "text"
        if name not in table.columns:
            raise SettingsError(f"{path}: no column is called {name!r}; --column can be {', '.join(table.columns)}")
        for number, cells in table.pick([name]):
            if not isinstance(cells, str) and isinstance(cells[0], str):
                yield number, cells[0]
        return
    packed = read_bytes(path, 2) == b"\x1f\x8b"
    try:
        # Words are compared, so that a few bytes in another encoding are no reason to stop.
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.strip()
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def corpus_overlap(texts: Sequence[str], corpus: Iterable[tuple[int, str]]) -> dict[str, dict[int, float]]:
    """Return for each text that is found the lines of the corpus that hold it, with the Jaccard similarity of the word sets.

    A line of several sentences is compared whole and sentence by sentence.
    """
    wanted = [word_set(text) if text.strip() else set() for text in texts]
    found: dict[str, dict[int, float]] = {}
    parts = ((line, word_set(part)) for line, text in corpus for part in dict.fromkeys([text, *_SENTENCE_END.split(text)]))
    while block := list(islice(parts, _BLOCK)):
        together = wanted + [words for _, words in block]
        for text, other in near_duplicates(together, NEAR, len(wanted)).tolist():
            lines, line = found.setdefault(texts[text], {}), block[other - len(wanted)][0]
            shared = len(together[text] & together[other]) / len(together[text] | together[other])
            lines[line] = max(lines.get(line, 0.0), shared)
    return found

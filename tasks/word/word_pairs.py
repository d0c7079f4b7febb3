"""Reading word similarity sets: two words or terms and a score a line, in the layouts in which they are handed around.

Text files have the columns word, word, score, separated by tabs or, where there are no tabs, by blanks; a part of speech
before the score and anything after it are passed over (SimVerb-3500, SimLex-999, Rare-Word). CSV files have a header that names
the columns (UMNSRS, MayoSRS, Hliaoutakis), and so do TSV files (EHR-Rel). JSON files are lists of objects with term1, term2
and value (punuy).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from medsenteval.contracts import Dataset, Encoder, has_word_vectors
from medsenteval.errors import DataError
from medsenteval.registry import name_key
from medsenteval.similarity import MEASURES
from medsenteval.support.files import clean_text, read_json
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, finite_number
from medsenteval.words.terms.encoded_terms import PAPER_MEASURE, EncodedTerms

OOV: Final = ("skip", "zero")
#: The cosine of the vectors that the encoder gives texts.
COSINE: Final = "cosine"
#: Of all measures that fit the encoder, the one that correlates best on the very pairs.
BEST: Final = "best"
MEASURE: Final = (COSINE, PAPER_MEASURE, BEST, *MEASURES)
MULTIWORD: Final = ("average", "complete", "skip")

#: Column names, without case, blanks and punctuation.
_FIRST: Final = ("term1", "word1", "snomedlabel1")
_SECOND: Final = ("term2", "word2", "snomedlabel2")
_PARTS_OF_SPEECH: Final = ("A", "N", "R", "V")
_SCORE: Final = ("mean", "score", "humanmean", "simlex999", "value", "meanrating")


@dataclass(frozen=True, eq=False)
class WordPairs(Dataset):
    """Pairs of words or terms with a score; the single words of terms are encoded as well, to see which of them are known.

    ``bags`` holds the terms as word vectors where the encoder has these and the option ``measure`` asks for more than cosines.
    """

    bags: EncodedTerms | None = None

    def all_texts(self) -> Iterator[str]:
        for text in super().all_texts():
            yield text
            words = text.split()
            if len(words) > 1:
                yield from words

    def for_encoder(self, encoder: Encoder) -> WordPairs:
        """Look up the terms' words where the measure works on word vectors."""
        if self.options.get("measure", COSINE) == COSINE or not has_word_vectors(encoder):
            return self
        return replace(self, bags=EncodedTerms.of_words(encoder, list(super().all_texts())))


def read_pairs(builder: DatasetBuilder, files: Sequence[Mapping[str, tuple[str, ...]]]) -> WordPairs:
    """Read the first of the files that is there, under the options ``case``, ``multiword`` and ``scores``.

    Each has ``names``, and ``scores``, the columns whose mean is the score, where it is not the usual one.
    """
    split, options = builder.split("all"), builder.options
    there = ((file, each.get("scores", ())) for each in files if (file := builder.find(*each["names"])) is not None)
    found, score_columns = next(there, (None, ()))
    if found is None:
        raise builder.missing(*(pattern for each in files for pattern in each["names"]))
    left_out = 0
    for line, first, second, score in _rows(builder, found, score_columns):
        first, second = clean_text(first), clean_text(second)
        if options["case"] == "lower":
            first, second = first.lower(), second.lower()
        if not first or not second:
            split.reject(found, line, "a word is missing")
        elif options["multiword"] == "skip" and (" " in first or " " in second):
            left_out += 1
        else:
            value = finite_number(score) if options.get("scores") == "thirds" else None
            # The nearest third is the level of a mean of ratings; what is no number stays as it is.
            split.add(found, line, first, second, score=score if value is None else round(3 * value) / 3)
    if left_out:
        builder.notes.append(f"{left_out} pair(s) with a term of several words left out (multiword=skip)")
    return as_word_pairs(builder.build())


def as_word_pairs(dataset: Dataset) -> WordPairs:
    """Return a data set of pairs as one whose single words are encoded too."""
    return WordPairs(**{field.name: getattr(dataset, field.name) for field in fields(dataset)})


def _rows(builder: DatasetBuilder, file: Path, scores: tuple[str, ...]) -> Iterator[tuple[int, str, str, str]]:
    """Yield (line or item number, word, word, score as written) of a file in any of the layouts."""
    if file.suffix.casefold() == ".json":
        yield from _json_rows(builder, file)
        return
    delimiter = {".csv": ",", ".tsv": "\t"}.get(file.suffix.casefold())
    header: list[str] | None = None
    for number, line in builder.filled_lines(file):
        if delimiter:
            found = next(csv.reader([line], delimiter=delimiter))
        else:
            found = [field.strip() for field in line.split("\t")] if "\t" in line.strip() else line.split()
        if header is None:
            header = list(map(name_key, found))
            if set(header) & {*_FIRST, *_SECOND}:
                columns = _columns(file, number, header, scores)
                continue
            if scores:
                raise DataError(f"{file}: a file without column names cannot give the column {scores[0]!r}")
            columns = ()
        row = _picked(found, columns) if columns else _positional(found)
        if isinstance(row, str):
            builder.reject(file, number, row)
        else:
            yield number, *row


def _columns(file: Path, number: int, header: list[str], scores: tuple[str, ...]) -> tuple[int, ...]:
    """Return the places of both words and of every column of which the score is the mean."""
    wanted: list[tuple[str, ...]] = [_FIRST, _SECOND, *((score,) for score in scores)]
    wanted += [] if scores else [_SCORE]
    places = [next((header.index(name) for name in names if name in header), None) for names in wanted]
    if None in places:
        missing = " or ".join(wanted[places.index(None)])
        raise DataError(f"{file}:{number}: no column {missing} among {', '.join(header)}; is this the right file?")
    return tuple(place for place in places if place is not None)


def _picked(found: list[str], columns: tuple[int, ...]) -> tuple[str, str, str] | str:
    if len(found) <= max(columns):
        return f"{len(found)} field(s) where at least {max(columns) + 1} are expected"
    first, second, *scores = (found[column] for column in columns)
    if len(scores) == 1:
        return first, second, scores[0]
    try:
        return first, second, repr(sum(map(float, scores)) / len(scores))
    except ValueError:
        return f"a score of {', '.join(map(repr, scores))} is not a number"


def _positional(found: list[str]) -> tuple[str, str, str] | str:
    """Take word, word, score; or word, word, part of speech, score; columns after the score are passed over."""
    if len(found) > 3 and found[2] in _PARTS_OF_SPEECH:
        return found[0], found[1], found[3]
    if len(found) < 3:
        return f"{len(found)} field(s) where word, word, score are expected"
    return found[0], found[1], found[2]


def _json_rows(builder: DatasetBuilder, file: Path) -> Iterator[tuple[int, str, str, str]]:
    content: Any = read_json(builder.opened(file))
    if not isinstance(content, list):
        raise DataError(f"{file}: a JSON {type(content).__name__} where a list of pairs is expected")
    for number, item in enumerate(content, start=1):
        if isinstance(item, dict) and {"term1", "term2", "value"} <= item.keys():
            yield number, str(item["term1"]), str(item["term2"]), str(item["value"])
        else:
            builder.reject(file, number, "an item without term1, term2 and value")

"""Word similarity sets as Tasks: how their files are read, and how similarities of words correlate with human scores.

``word_tasks.toml`` has each set's files, folders, size and source. Text files have the columns word, word, score, separated by
tabs or, where there are no tabs, by blanks; a part of speech before the score and anything after it are passed over
(SimVerb-3500, SimLex-999, Rare-Word). CSV files have a header that names the columns (UMNSRS, MayoSRS, Hliaoutakis), and so do
TSV files (EHR-Rel). JSON files are lists of objects with term1, term2 and value (punuy).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Encoder, Scores, Task, has_word_vectors
from medsenteval.errors import DataError, SettingsError
from medsenteval.registry import name_key
from medsenteval.settings import Settings
from medsenteval.similarity import MEASURES
from medsenteval.statistics import correlation
from medsenteval.support.files import clean_text, read_json
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, finite_number
from medsenteval.tasks.reading.task_facts import file_task, group_facts
from medsenteval.tasks.similarity import correlation_metric, predict_similarity, score_similarity
from medsenteval.words.terms.encoded_terms import PAPER_MEASURE, EncodedTerms

#: Without vectors of both words a pair is left out, as the published numbers do, so that encoders with different vocabularies
#: are scored on different pairs (``medsenteval.comparison.common_pairs`` scores them on common ones); or its similarity is 0.
OOV: Final = ("skip", "zero")
#: The cosine of the vectors that the encoder gives texts.
COSINE: Final = "cosine"
#: Of all measures that fit the encoder, the one that correlates best on the very pairs.
BEST: Final = "best"
MEASURE: Final = (COSINE, PAPER_MEASURE, BEST, *MEASURES)
MULTIWORD: Final = ("average", "complete", "skip")
#: Correlations of fewer pairs say nothing.
FEWEST_PAIRS: Final = 5
#: Digits of a similarity that are no rounding; pairs that are equally similar must be tied.
_DIGITS: Final = 12
#: Folders that hold several sets: our own name, and that of the Bio-SimVerb repository.
_SHARED_FOLDERS: Final = ("wordsim", "word-similarities")

#: Column names, without case, blanks and punctuation.
_FIRST: Final = ("term1", "word1", "snomedlabel1")
_SECOND: Final = ("term2", "word2", "snomedlabel2")
_SCORE: Final = ("mean", "score", "humanmean", "simlex999", "value", "meanrating")
_JSON_KEYS: Final = ["term1", "term2", "value"]
_PARTS_OF_SPEECH: Final = ("A", "N", "R", "V")


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
    header: list[str] | None = None
    for number, found in _fields(builder, file):
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


def _fields(builder: DatasetBuilder, file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each line's number and fields; of a JSON file the keys and then the values of each item that has them all."""
    delimiter = {".csv": ",", ".tsv": "\t"}.get(file.suffix.casefold())
    if file.suffix.casefold() == ".json":
        content: Any = read_json(builder.opened(file))
        if not isinstance(content, list):
            raise DataError(f"{file}: a JSON {type(content).__name__} where a list of pairs is expected")
        yield 0, _JSON_KEYS
        for number, item in enumerate(content, start=1):
            values = [item.get(key) for key in _JSON_KEYS] if isinstance(item, dict) else [None]
            if None in values:
                builder.reject(file, number, f"an item without {', '.join(_JSON_KEYS)}")
            else:
                yield number, list(map(str, values))
        return
    for number, line in builder.filled_lines(file):
        if delimiter:
            yield number, next(csv.reader([line], delimiter=delimiter))
        else:
            yield number, [field.strip() for field in line.split("\t")] if "\t" in line.strip() else line.split()


def _columns(file: Path, number: int, header: list[str], scores: tuple[str, ...]) -> tuple[int, ...]:
    """Return the places of both words and of every column of which the score is the mean."""
    found = []
    score_names: list[tuple[str, ...]] = [(score,) for score in scores] if scores else [_SCORE]
    for names in (_FIRST, _SECOND, *score_names):
        places = [header.index(name) for name in names if name in header]
        if not places:
            raise DataError(
                f"{file}:{number}: no column {' or '.join(names)} among {', '.join(header)}; is this the right file?"
            )
        found.append(places[0])
    return tuple(found)


def _picked(found: list[str], columns: tuple[int, ...]) -> tuple[str, str, str] | str:
    if len(found) <= max(columns):
        return f"{len(found)} field(s) where at least {max(columns) + 1} are expected"
    first, second, *scores = (found[column] for column in columns)
    if len(scores) == 1:
        return first, second, scores[0]
    numbers = [number for number in map(finite_number, scores) if number is not None]
    if len(numbers) < len(scores):
        return f"a score of {', '.join(map(repr, scores))} is not a number"
    return first, second, repr(fmean(numbers))


def _positional(found: list[str]) -> tuple[str, str, str] | str:
    """Take word, word, score; or word, word, part of speech, score; columns after the score are passed over."""
    if len(found) < 3:
        return f"{len(found)} field(s) where word, word, score are expected"
    return found[0], found[1], found[3 if len(found) > 3 and found[2] in _PARTS_OF_SPEECH else 2]


def evaluate_word_pairs(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Correlate similarities with gold scores under the options ``measure``, ``oov`` and ``multiword``; show the coverage."""
    (split,) = dataset.splits.values()
    measure = dataset.options.get("measure", COSINE)
    terms = list(dict.fromkeys(split.all_texts()))
    words = list(dict.fromkeys(word for term in terms for word in term.split()))
    unknown = {word for word, row in zip(words, embeddings.rows(words), strict=True) if embeddings.zero_rows[row]}
    bags = dataset.bags if isinstance(dataset, WordPairs) else None
    vectors = bags or EncodedTerms.of_texts(embeddings)
    whole = dataset.options.get("multiword") == "complete"
    known_terms = vectors.known if whole else vectors.known_in_part
    if whole and bags is None:
        known_terms = known_terms.copy()
        known_terms[vectors.numbers([term for term in terms if unknown & set(term.split())])] = False
    left, right = vectors.numbers(split.texts), vectors.numbers(split.texts2 or ())
    known = known_terms[left] & known_terms[right]
    kept = np.arange(len(split)) if dataset.options.get("oov") == "zero" else np.flatnonzero(known)
    if known.sum() < FEWEST_PAIRS:
        raise DataError(
            f"{task.name}: the encoder knows both words of {known.sum()} of {len(split)} pairs; at least {FEWEST_PAIRS} are "
            "needed. Does its vocabulary fit, also in case (the vectors' option case, or the task's option case=lower)?"
        )
    scored = split.take(kept)
    if measure == COSINE:
        predicted, _, _ = predict_similarity(task, scored, embeddings, settings)
        found = {COSINE: predicted}
    elif settings.similarity is not None:
        raise SettingsError(f"{task.name}: measure={measure} and a similarity of your own exclude each other")
    else:
        # Under one measure, or under every one that fits the encoder.
        wanted = vectors.measures if measure == BEST else (vectors.measure(measure, "avg_cos"),)
        measured = vectors.similarities(wanted, left[kept], right[kept])
        found = {name: np.round(values, _DIGITS) for name, values in measured.items()}
    for values in found.values():
        values[~known[kept]] = 0.0
    gold = scored.scores
    assert gold is not None
    by_measure = {name: {"spearman": correlation("spearman", values, gold)[0]} for name, values in found.items()}
    chosen = max(by_measure, key=lambda name: by_measure[name]["spearman"])  # the first of equal ones
    scores = score_similarity(task, scored, found[chosen], settings)
    kendall = correlation_metric("kendall", found[chosen], gold, settings)
    coverage = f"{known.sum():,} of {len(split):,} pairs and {len(words) - len(unknown):,} of {len(words):,} words are known"
    treated = "; the others have similarity 0" if len(kept) == len(split) else "; the others are left out"
    notes = [coverage if known.all() else coverage + treated]
    if measure == BEST:
        notes.append(f"{chosen} is the best of {len(found)} measures on these very pairs, which flatters it")
    return replace(
        scores,
        metrics=(*scores.metrics, kendall),
        items={
            **scores.items,
            "first": list(scored.texts),
            "second": list(scored.texts2 or ()),
            **({name: values.tolist() for name, values in found.items()} if measure == BEST else {}),
        },
        details={
            **({} if measure == COSINE else {"measure": chosen}),
            **({"measures": by_measure} if measure == BEST else {}),
            "pairs": len(split),
            "pairs_known": int(known.sum()),
            "pairs_scored": len(kept),
            "words": len(words),
            "words_known": len(words) - len(unknown),
            "unknown_words": sorted(unknown),
            "unknown_pairs": [split.ids[i] for i in np.flatnonzero(~known)],
        },
        notes=tuple(notes),
    )


def _word_task(name: str) -> Task:
    facts = group_facts("word")[name]
    # Taken out, because they are no fields of a Task: an option of the name ``choice`` selects among several lists of files.
    files, choice = facts.pop("files"), facts.pop("choice", "")
    lists = files if choice else {"": ({"names": files},)}
    choices = {choice: tuple(lists)} if choice else {}
    own = facts.get("options", {})

    def read(builder: DatasetBuilder) -> Dataset:
        if builder.options["measure"] == COSINE:
            del builder.options["measure"]
        return read_pairs(builder, lists[builder.options.get(choice, "")])

    return file_task(
        "word",
        name,
        read,
        evaluate_word_pairs,
        folders=(*facts["folders"], *_SHARED_FOLDERS),
        options={"oov": OOV, "multiword": MULTIWORD, "case": ("exact", "lower"), **own, **choices, "measure": MEASURE},
        protocol_options=("measure",),
        row_options=("multiword", *choices),
    )


TASKS: Final = {name: _word_task(name) for name in group_facts("word")}

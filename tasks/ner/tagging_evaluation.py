"""Entity-level F1 of a window tagger on a corpus: three runs, their mean, and a dictionary beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from threading import Event
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Task
from medsenteval.errors import DataError
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import f1_from_counts
from medsenteval.support.arrays import Counts
from medsenteval.support.cores import available_cores, one_thread_per_product
from medsenteval.tasks.ner.corpus import OPTIONS, TaggedDataset, TaggedSentences, digits_as_zero, read_corpus
from medsenteval.tasks.reading.task_facts import file_task, group_facts
from medsenteval.tasks.similarity import concatenate_splits
from medsenteval.words.tagging.entity_spans import RATES, Entities, count_matches, find_entities, rate_interval, rate_of
from medsenteval.words.tagging.tag_schemes import Tags, allowed_transitions, as_iob, seen_transitions
from medsenteval.words.tagging.viterbi import decode
from medsenteval.words.tagging.window_tagger import CAPITALS, PRESETS, TaggerSettings, Windows, WindowTagger, windows_of

_Outcome = TypeVar("_Outcome")

#: The paper runs three trials because of the random initialisation and reports their mean.
RUNS: Final = 3
#: Rows of the table of vectors in which the tagger looks words up: beyond a sentence's ends, all unknown words, the others.
PADDING: Final = 0
UNKNOWN: Final = 1
_FIRST_KNOWN: Final = 2


@dataclass(frozen=True, eq=False)
class WordTable:
    """The vectors, and each word's row.

    Two columns mark padding and unknown words, so that frozen vectors need no invented values for either. Words with equal
    vectors share a row and are tuned together: those that an encoder looks up without regard to case.
    """

    vectors: NDArray[np.float32]
    row_of: dict[str, int]

    @classmethod
    def of(cls, words: Iterable[str], embeddings: Embeddings, *, scale: str) -> WordTable:
        """Look the words up; ``scale`` "unit" divides all vectors by one number, so that coordinates have the mean square 1."""
        distinct = list(dict.fromkeys(words))
        zero = embeddings.zero_rows
        rows = embeddings.rows(distinct)
        unknown = zero[rows]
        rows[unknown] = embeddings.rows([digits_as_zero(distinct[i]) for i in np.flatnonzero(unknown)])
        known = ~zero[rows]
        found = embeddings.matrix[rows[known]]
        number_of: dict[bytes, int] = {}
        numbers = [number_of.setdefault(vector.tobytes(), _FIRST_KNOWN + len(number_of)) for vector in found]
        vectors = np.zeros((_FIRST_KNOWN + len(number_of), embeddings.matrix.shape[1] + 2), dtype=np.float32)
        vectors[numbers, :-2] = found
        if scale == "unit" and number_of:
            vectors /= np.sqrt(np.mean(np.square(vectors[_FIRST_KNOWN:, :-2], dtype=np.float64))).astype(np.float32)
        vectors[PADDING, -2] = vectors[UNKNOWN, -1] = 1
        row_of = dict.fromkeys(distinct, UNKNOWN)
        row_of.update(zip((distinct[i] for i in np.flatnonzero(known)), numbers, strict=True))
        return cls(vectors, row_of)

    def rows(self, words: Sequence[str]) -> NDArray[np.intp]:
        return np.fromiter((self.row_of[word] for word in words), dtype=np.intp, count=len(words))

    def report(self, tested: Sequence[str]) -> dict[str, float]:
        """Return the share of words without a vector: of the corpus's distinct ones, and of the tested running ones."""
        distinct = np.fromiter(self.row_of.values(), dtype=np.intp)
        shares = {"distinct_share": distinct, "test_tokens_share": self.rows(tested)}
        return {name: float(np.mean(rows == UNKNOWN)) for name, rows in shares.items()}


def capitals_of(words: Sequence[str]) -> NDArray[np.intp]:
    """Return how each word is capitalised, as a number in the order of ``CAPITALS``."""
    kinds = (1 if word.isupper() else 2 if word[0].isupper() else 3 if any(map(str.isupper, word)) else 0 for word in words)
    return np.fromiter(kinds, dtype=np.intp, count=len(words))


def evaluate_tagging(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Train the tagger on the words' vectors, frozen or as a start, and score the test sentences after the last epoch."""
    if not isinstance(dataset, TaggedDataset):
        raise DataError(f"{task.name}: a tagging task needs sentences of tokens and tags, not a {type(dataset).__name__}")
    splits, types, options = dataset.splits, dataset.label_names, dataset.options
    tagger_settings, vectors = PRESETS[options.get("preset", "paper")], options.get("vectors", "preset")
    if vectors != "preset":
        tagger_settings = replace(tagger_settings, tuned=vectors == "tuned")
    table = WordTable.of(
        (token for split in splits.values() for token in split.all_tokens), embeddings, scale=options.get("scale", "raw")
    )
    trained_on = options.get("training", "train").split("+")
    training, test = concatenate_splits([splits[name] for name in trained_on]), splits["test"]
    seen, unseen = (_windows(part, table, tagger_settings) for part in (training, test))
    transitions = (
        allowed_transitions(len(types))
        if tagger_settings.transitions == "allowed"
        else seen_transitions(training.all_tags, training.offsets, len(types))
    )

    def run(number: int, stop: Event) -> Entities:
        rng = np.random.default_rng([settings.seed, number])
        tagger = WindowTagger(tagger_settings, table.vectors, len(transitions.first), rng)
        tagger.fit(seen, training.all_tags, stop)
        return find_entities(decode(tagger.log_probabilities(unseen), test.offsets, transitions), test.offsets)

    predicted = _side_by_side(run, RUNS)
    gold = find_entities(test.all_tags, test.offsets)
    counts = np.stack([count_matches(gold, found, len(test)) for found in predicted])
    guessed = find_entities(dictionary_tags(training.all_tokens, training.all_tags, test.all_tokens), test.offsets)
    details: dict[str, Any] = {
        "tagger": asdict(tagger_settings),
        "runs": {rate: (100 * rate_of(counts.sum(axis=1), rate)).tolist() for rate in RATES},
        "by_type": {
            kind: _mean_f1(gold.of_kind(number), [found.of_kind(number) for found in predicted], len(test))
            for number, kind in enumerate(types)
        },
        "dictionary_f1": _mean_f1(gold, [guessed], len(test)),
        "unknown_words": table.report(test.all_tokens),
    }
    metrics = []
    for rate in RATES:
        value, (low, high) = float(rate_of(counts.sum(axis=1), rate).mean()), rate_interval(counts, rate, confidence=CONFIDENCE)
        # The best constant answer is O for every word: no entity, F1 0.
        metrics.append(Metric(rate, 100 * value, 100 * low, 100 * high, 0.0, "percent", counts.shape[1]))
    return Scores(
        metrics=tuple(metrics),
        n_train=len(training),
        n_test=len(test),
        items=_items(test, types, gold, predicted, counts),
        senteval={"f1": round(float(np.mean(details["runs"]["f1"])), 2), "ntrain": len(training), "ntest": len(test)},
        details=details,
    )


def _windows(split: TaggedSentences, table: WordTable, settings: TaggerSettings) -> Windows:
    """Return what the tagger sees of each word: its neighbours and itself, and how these are capitalised."""
    windows = [windows_of(table.rows(split.all_tokens), split.offsets, settings.window, PADDING)]
    if settings.capitals:
        windows.append(windows_of(capitals_of(split.all_tokens), split.offsets, settings.window, CAPITALS.index("padding")))
    return windows


def _side_by_side(run: Callable[[int, Event], _Outcome], n_runs: int) -> list[_Outcome]:
    """Do the runs in threads of their own, each on one core: a result depends on its seed, not on the number of cores.

    An error of one run, or the user's interrupt, stops the others at their next epoch.
    """
    stop = Event()
    with one_thread_per_product(), ThreadPoolExecutor(min(n_runs, available_cores())) as threads:
        try:
            return list(threads.map(run, range(n_runs), [stop] * n_runs))
        except BaseException:
            stop.set()
            raise


def dictionary_tags(train_tokens: Sequence[str], train_tags: Tags, tokens: Sequence[str]) -> Tags:
    """Give each token the IOB tag that it has most often in training, O to unseen ones: what memory alone achieves."""
    number_of = {token: number for number, token in enumerate(dict.fromkeys(train_tokens))}
    tags = as_iob(train_tags)
    n_tags = int(tags.max()) + 1
    seen = np.fromiter((number_of[token] for token in train_tokens), dtype=np.intp, count=len(train_tokens))
    often = np.bincount(seen * n_tags + tags, minlength=len(number_of) * n_tags).reshape(-1, n_tags).argmax(axis=1)
    return np.fromiter((often[number_of[token]] if token in number_of else 0 for token in tokens), dtype=np.int16)


def _mean_f1(gold: Entities, runs: Sequence[Entities], n_sentences: int) -> float:
    """Return F1 in percent as the mean over runs."""
    counts = np.stack([count_matches(gold, found, n_sentences).sum(axis=0) for found in runs])
    return 100 * float(f1_from_counts(counts).mean())


def _items(
    test: TaggedSentences, types: Sequence[str], gold: Entities, predicted: Sequence[Entities], counts: Counts
) -> dict[str, list[Any]]:
    """Return a row a test sentence: its entities, those of each run, and each run's counts for paired tests."""
    items: dict[str, list[Any]] = {"id": list(test.ids), "gold": _spans(gold, test.offsets, types)}
    for number, (entities, run) in enumerate(zip(predicted, counts, strict=True), start=1):
        items[f"predicted_{number}"] = _spans(entities, test.offsets, types)
        for column, name in enumerate(("tp", "fp", "fn")):
            items[f"{name}_{number}"] = run[:, column].tolist()
    return items


def _spans(entities: Entities, offsets: NDArray[np.intp], types: Sequence[str]) -> list[str]:
    """Write a sentence's entities as "3-4:Anatomy 9-9:Anatomy", tokens counted from 0."""
    spans: list[list[str]] = [[] for _ in range(len(offsets) - 1)]
    columns = (entities.first, entities.last, entities.kind, entities.sentence)
    for first, last, kind, sentence in zip(*(column.tolist() for column in columns), strict=True):
        begin = int(offsets[sentence])
        spans[sentence].append(f"{first - begin}-{last - begin}:{types[kind]}")
    return list(map(" ".join, spans))


TASKS: Final = {name: file_task("ner", name, read_corpus, evaluate_tagging, options=OPTIONS) for name in group_facts("ner")}

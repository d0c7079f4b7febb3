"""The word similarity sets as Tasks: correlation with human scores, and what to do about words that an encoder does not know.

``word_tasks.toml`` has each set's files, folders, size and source.
The similarity is the cosine of the texts' vectors, or one of the measures of ``medsenteval.similarity``: ten for word vectors,
four for encoders that give one vector a term. A vector of all zeros means that the encoder knows nothing of a word.
``oov=skip`` leaves such pairs out, as the published numbers do, so that encoders with different vocabularies are scored on
different pairs; ``oov=zero`` gives them similarity 0; ``medsenteval.comparison.common_pairs`` scores several encoders again on
the pairs that all of them know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from medsenteval.contracts import Dataset, Embeddings, Scores, Task
from medsenteval.errors import DataError, SettingsError
from medsenteval.settings import Settings
from medsenteval.statistics import correlation
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task, group_facts
from medsenteval.tasks.similarity import correlation_metric, predict_similarity, score_similarity
from medsenteval.tasks.word.word_pairs import BEST, COSINE, MEASURE, MULTIWORD, OOV, WordPairs, read_pairs
from medsenteval.words.terms.encoded_terms import EncodedTerms

#: Correlations of fewer pairs say nothing.
FEWEST_PAIRS: Final = 5
#: Digits of a similarity that are no rounding; pairs that are equally similar must be tied.
_DIGITS: Final = 12
#: Folders that hold several sets: our own name, and that of the Bio-SimVerb repository.
_SHARED_FOLDERS: Final = ("wordsim", "word-similarities")


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
    known = known_terms[vectors.numbers(split.texts)] & known_terms[vectors.numbers(split.texts2 or ())]
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
        measured = vectors.similarities(wanted, vectors.numbers(scored.texts), vectors.numbers(scored.texts2 or ()))
        found = {name: np.round(values, _DIGITS) for name, values in measured.items()}
    for values in found.values():
        values[~known[kept]] = 0.0
    assert scored.scores is not None
    by_measure = {name: {"spearman": correlation("spearman", values, scored.scores)[0]} for name, values in found.items()}
    chosen = max(by_measure, key=lambda name: by_measure[name]["spearman"])  # the first of equal ones
    scores = score_similarity(task, scored, found[chosen], settings)
    gold, predicted = (np.array(scores.items[name], dtype=np.float64) for name in ("gold", "predicted"))
    kendall = correlation_metric("kendall", predicted, gold, settings)
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

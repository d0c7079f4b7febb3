"""Encoders on terms: pairs of term sets, compared on those that all encoders know, and the separation of categories.

As in Schulz and Juric 2020: a pair of a set counts only if no compared encoder meets an unknown word in it, accuracy is that
of the best threshold on the very set, and encoders are compared by McNemar's test with Bonferroni's correction; Holm's and the
accuracy under a cross-validated threshold stand beside it. Results are stored like those of any task.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Encoder, Metric, Result, Scores, Split, Task, has_word_vectors
from medsenteval.datasets.locate import limited
from medsenteval.embedding.cache import EmbeddingCache
from medsenteval.embedding.embed import embed_texts
from medsenteval.engine import known_share, make_result
from medsenteval.errors import DataError, SettingsError
from medsenteval.running.result_store import ResultStore
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.similarity import MEASURES
from medsenteval.similarity.measures import cross_similarity
from medsenteval.statistics import correct_pairs, mcnemar_matrix, share_interval
from medsenteval.support.progress import Progress
from medsenteval.words.terms.category_overlap import Separation, separate
from medsenteval.words.terms.encoded_terms import PAPER_MEASURE, EncodedTerms, check_measure
from medsenteval.words.terms.pair_separability import Separability, score_separability
from medsenteval.words.terms.sets import SetName, TermSet

ALPHA: Final = 0.05


def compare_rows(correct: NDArray[np.bool_]) -> list[dict[str, int]]:
    """Compare all rows of an (encoders, items) matrix of right and wrong by McNemar's test.

    Of each row: of how many others it is significantly better and worse, by Bonferroni's and by Holm's correction.
    """
    p_values, accuracies = mcnemar_matrix(correct), correct.mean(axis=1)
    ahead = accuracies[:, None] > accuracies
    counts: dict[str, list[int]] = {}
    for correction, ending in (("bonferroni", ""), ("holm", "_holm")):
        better = ahead & (correct_pairs(p_values, correction) < ALPHA)
        counts |= {f"better{ending}": better.sum(axis=1).tolist(), f"worse{ending}": better.sum(axis=0).tolist()}
    return [dict(zip(counts, row, strict=True)) for row in zip(*counts.values(), strict=True)]


def evaluate_sets(
    sets: Sequence[TermSet],
    encoders: Sequence[Encoder],
    settings: Settings,
    *,
    measure: str = PAPER_MEASURE,
    all_measures: bool = False,
    synthetic: bool = False,
    source: str = "",
    store: ResultStore | None = None,
    cache: EmbeddingCache | None = None,
    progress: bool = False,
    announce: Callable[[str], None] = lambda message: None,
) -> list[list[Result]]:
    """Evaluate encoders on sets and store a Result for each; ``settings.limit`` takes so many pairs of a set at most.

    Returns for each set the results of the encoders in their order; ``details`` say how they compare.
    """
    names = [encoder.name for encoder in encoders]
    if len(set(names)) != len(names):
        raise SettingsError(f"encoders of one name cannot be told apart: {names}; give one a name: KIND:...,name=NAME")
    check_measure(measure)
    datasets = [_dataset(term_set, settings, synthetic, source, measure) for term_set in sets]
    texts = list(dict.fromkeys(text for dataset in datasets for text in dataset.all_texts()))
    encoded: list[tuple[Encoder, EncodedTerms, float]] = []
    for encoder in encoders:
        started = time.perf_counter()
        vectors = encode_terms(encoder, texts, settings, cache=cache, progress=progress)
        encoded.append((encoder, vectors, time.perf_counter() - started))
        vectors.measure(measure)
        announce(f"{encoder.name}: {len(texts):,} terms, {vectors.known.mean():.1%} known in all their words")
    found = []
    for term_set, dataset in zip(sets, datasets, strict=True):
        results = _evaluate_set(task_for(term_set.name), dataset, encoded, settings, measure, all_measures)
        for result in results:
            if store is not None:
                store.save(result)
        details = results[0].details
        announce(f"{term_set.name}: {details['n_common']:,} of {details['n_pairs']:,} pairs known to all encoders")
        found.append(results)
    return found


def _dataset(term_set: TermSet, settings: Settings, synthetic: bool, source: str, measure: str) -> Dataset:
    split = Split(
        ids=tuple(f"{term_set.name}:{number}" for number in range(1, len(term_set.pairs) + 1)),
        texts=tuple(first for first, _ in term_set.pairs),
        texts2=tuple(second for _, second in term_set.pairs),
        labels=np.array(term_set.similar, dtype=np.int64),
    )
    notes = [f"built from {source}"] if source else []
    if settings.limit is not None and len(split) > settings.limit:
        split = limited(split, settings.limit, settings.seed)
        notes.append(f"limited to {settings.limit} pairs: no score for publication")
    return Dataset(
        f"terms-{term_set.name}",
        {"all": split},
        label_names=("dissimilar", "similar"),
        files=(term_set.name.file,),
        options={"measure": measure},
        notes=tuple(notes),
        synthetic=synthetic,
    )


def _evaluate_set(
    task: Task,
    dataset: Dataset,
    encoded: Sequence[tuple[Encoder, EncodedTerms, float]],
    settings: Settings,
    measure: str,
    all_measures: bool,
) -> list[Result]:
    """Score encoders on the pairs of one set that all of them know; each comes with its terms and the seconds they took."""
    whole = dataset.splits["all"]
    known_pairs = [
        vectors.known[vectors.numbers(whole.texts)] & vectors.known[vectors.numbers(whole.texts2 or ())]
        for _, vectors, _ in encoded
    ]
    split = whole.take(np.flatnonzero(np.all(known_pairs, axis=0)))
    similar = np.asarray(split.labels) == 1
    if not similar.any() or similar.all():
        raise DataError(
            f"{dataset.name}: the encoders in common know {len(split):,} of {len(whole):,} pairs, not both similar and "
            "dissimilar ones; compare fewer encoders or build a larger set"
        )
    note = f"{len(split):,} of {len(whole):,} pairs are known to all {len(encoded)} encoders compared"
    subset = replace(dataset, splits={"all": split}, notes=(*dataset.notes, note))
    scored = []
    for _, vectors, _ in encoded:
        started = time.perf_counter()
        wanted = vectors.measures if all_measures else (vectors.measure(measure),)
        pairs = vectors.numbers(split.texts), vectors.numbers(split.texts2 or ())
        similarities = vectors.similarities(wanted, *pairs)
        scores = {
            name: score_separability(values, similar, folds=settings.folds, seed=settings.seed)
            for name, values in similarities.items()
        }
        main = vectors.measure(measure)
        scored.append((main, similarities[main], scores, time.perf_counter() - started))
    compared = compare_rows(np.stack([scores[main].correct for main, _, scores, _ in scored]))
    return [
        make_result(
            task,
            subset,
            _scores(split, similar, similarities, scores, main, {"n_pairs": len(whole), "n_common": len(split), **counts}),
            settings,
            encoder,
            vectors=vectors.matrix,
            coverage={"pairs_known": float(known.mean()), "pairs_common": len(split) / len(whole)},
            timings={"read": 0.0, "encode": encoding, "fit": fit},
            performance={"texts": len(vectors.number), "texts_encoded": vectors.n_encoded},
        )
        for (encoder, vectors, encoding), known, (main, similarities, scores, fit), counts in zip(
            encoded, known_pairs, scored, compared, strict=True
        )
    ]


def _scores(
    split: Split,
    similar: NDArray[np.bool_],
    similarities: NDArray[np.float64],
    scores: Mapping[str, Separability],
    main: str,
    counts: Mapping[str, int],
) -> Scores:
    chosen, n = scores[main], len(split)
    # The measures of one encoder are compared with each other, as in the paper's appendix.
    compared = compare_rows(np.stack([score.correct for score in scores.values()]))
    measures = {
        name: {
            "auc": score.auc,
            "acc": 100 * score.accuracy,
            "cv_acc": 100 * score.cv_accuracy,
            # JSON has no infinity: an answer that is the same for all pairs has no threshold.
            "threshold": score.threshold if np.isfinite(score.threshold) else None,
            **beaten,
        }
        for (name, score), beaten in zip(scores.items(), compared, strict=True)
    }
    return Scores(
        metrics=(
            _auc_metric(chosen, similar),
            _accuracy_metric("acc", chosen.correct, chosen.majority),
            _accuracy_metric("cv_acc", chosen.cv_answers == similar, chosen.majority),
        ),
        n_train=0,
        n_test=n,
        items={
            "id": split.ids,
            "gold": similar.astype(int).tolist(),
            "predicted": chosen.answers.astype(int).tolist(),
            "predicted_cv": chosen.cv_answers.astype(int).tolist(),
            "similarity": similarities.tolist(),
        },
        senteval={"acc": float(np.round(100 * chosen.accuracy, 2)), "auc": chosen.auc, "ntest": n},
        details={"measure": main, "threshold": measures[main]["threshold"], **counts, "measures": measures},
    )


def _auc_metric(score: Separability, similar: NDArray[np.bool_]) -> Metric:
    """Return AUC with the interval of a share of as many pairs as have its error, or as the smaller class has without any."""
    variance, fewer = score.auc_error**2, min(int(similar.sum()), int((~similar).sum()))
    trials = score.auc * (1 - score.auc) / variance if variance else fewer
    low, high = share_interval(score.auc, trials, confidence=CONFIDENCE)
    return Metric("auc", score.auc, low, high, 0.5, "fraction", len(similar))


def _accuracy_metric(name: str, correct: NDArray[np.bool_], majority: float) -> Metric:
    share = float(correct.mean())
    low, high = share_interval(share, len(correct), confidence=CONFIDENCE)
    return Metric(name, 100 * share, 100 * low, 100 * high, 100 * majority, "percent", len(correct))


def _together_only(*_: Any) -> NoReturn:
    raise SettingsError(
        "term sets are scored for all encoders together, on the pairs that all know: medsenteval terms evaluate"
    )


def task_for(name: SetName) -> Task:
    """Return the task that results of a set are stored under."""
    return Task(
        name=f"terms-{name}",
        version="1",
        family="term similarity",
        protocol="best-threshold",
        uses_probe=False,
        metrics=("auc", "acc"),
        folders=("terms",),
        read=_together_only,
        evaluate=_together_only,
        options={"measure": (PAPER_MEASURE, *MEASURES)},
        labels=("dissimilar", "similar"),
        positive_label="similar",
        citation="Schulz and Juric 2020, Can Embeddings Adequately Represent Medical Terminology? New Large-Scale Medical Term "
        "Similarity Datasets Have the Answer!, AAAI",
        licence="that of the terminology that the set was built from",
        access="built on your own machine",
        obtain="medsenteval terms build --snomed DIR | --obo FILE | --umls DIR -o OUT",
    )


def encode_terms(
    encoder: Encoder, terms: Sequence[str], settings: Settings, *, cache: EmbeddingCache | None = None, progress: bool = False
) -> EncodedTerms:
    """Encode each different term once; an encoder that knows next to none of their words is refused."""
    known_share(encoder, terms, "terms")
    if has_word_vectors(encoder):
        return EncodedTerms.of_words(encoder, terms)
    unique = list(dict.fromkeys(terms))
    shown = Progress(1, progress)
    embeddings = embed_texts(encoder, unique, batch_size=settings.batch_size, task_name="terms", cache=cache, progress=shown)
    shown.close()
    return EncodedTerms.of_texts(embeddings)


@dataclass(frozen=True)
class EncoderSeparation:
    """The separation by one encoder under one measure, and how many terms it could not encode."""

    encoder: str
    measure: str
    separation: Separation
    unknown: int


def separate_encoders(
    encoders: Sequence[Encoder],
    categories: Mapping[str, Sequence[str]],
    measures: Collection[str],
    settings: Settings,
    *,
    cache: EmbeddingCache | None = None,
) -> list[EncoderSeparation]:
    """Separate the categories by each encoder under those of the measures that fit it, counting only terms that it knows."""
    for measure in measures:
        check_measure(measure)
    rows = []
    texts = [term for members in categories.values() for term in members]
    for encoder in encoders:
        vectors = encode_terms(encoder, texts, settings, cache=cache)
        members = {name: vectors.numbers(list(terms)) for name, terms in categories.items()}
        known = {name: numbers[vectors.known[numbers]] for name, numbers in members.items()}
        unknown = sum(len(members[name]) - len(known[name]) for name in members)
        # Where no measure fits this encoder, the error says which do.
        fitting = [measure for measure in measures if measure in (PAPER_MEASURE, *vectors.measures)]
        for name in dict.fromkeys(vectors.measure(measure) for measure in fitting or measures):
            similarity = cross_similarity(name, vectors.matrix, vectors.terms)
            rows.append(EncoderSeparation(encoder.name, name, separate(similarity, known), unknown))
    return rows

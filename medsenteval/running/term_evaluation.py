"""Encoders on terms: pairs of term sets, compared on those that all encoders know, and the separation of categories.

As in Schulz and Juric 2020: a pair of a set counts only if no compared encoder meets an unknown word in it, accuracy is that
of the best threshold on the very set, and encoders are compared by McNemar's test with Bonferroni's correction; Holm's and the
accuracy under a cross-validated threshold stand beside it. Results are stored like those of any task.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Encoder, Metric, Result, Scores, Split, Task, has_word_vectors
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
#: Every measure: ten for word vectors, four for encoders that give one vector a term.
ALL_MEASURES: Final = tuple(MEASURES)


@dataclass(frozen=True)
class Comparison:
    """Of how many others one row is significantly better and worse, under each correction."""

    better: int
    worse: int
    better_holm: int
    worse_holm: int


@dataclass(frozen=True, eq=False)
class SetOutcome:
    """One set: a result and a comparison for each encoder, in the order given, and the share of pairs that all know."""

    name: SetName
    n_pairs: int
    n_common: int
    majority: float
    results: list[Result]
    comparisons: list[Comparison]


def compare_rows(correct: NDArray[np.bool_]) -> list[Comparison]:
    """Compare all rows of an (encoders, items) matrix of right and wrong by McNemar's test."""
    p_values, accuracies = mcnemar_matrix(correct), correct.mean(axis=1)
    ahead = accuracies[:, None] > accuracies
    counts = []
    for correction in ("bonferroni", "holm"):
        better = ahead & (correct_pairs(p_values, correction) < ALPHA)
        counts += [better.sum(axis=1), better.sum(axis=0)]
    return [Comparison(*row) for row in np.array(counts).T.tolist()]


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
) -> list[SetOutcome]:
    """Evaluate encoders on sets and store a Result for each; ``settings.limit`` takes so many pairs of a set at most."""
    names = [encoder.name for encoder in encoders]
    if len(set(names)) != len(names):
        raise SettingsError(f"encoders of one name cannot be told apart: {names}; give one a name: KIND:...,name=NAME")
    check_measure(measure)
    datasets = [_dataset(term_set, settings, synthetic, source, measure) for term_set in sets]
    texts = list(dict.fromkeys(text for dataset in datasets for text in dataset.all_texts()))
    encoded: list[EncodedTerms] = []
    seconds: list[float] = []
    for encoder in encoders:
        started = time.perf_counter()
        encoded.append(encode_terms(encoder, texts, settings, cache=cache, progress=progress))
        seconds.append(time.perf_counter() - started)
        encoded[-1].measure(measure)
        announce(f"{encoder.name}: {len(texts):,} terms, {encoded[-1].known.mean():.1%} known in all their words")
    outcomes = []
    for term_set, dataset in zip(sets, datasets, strict=True):
        outcome = _evaluate_set(term_set, dataset, encoders, encoded, seconds, settings, measure, all_measures)
        for result in outcome.results:
            if store is not None:
                store.save(result)
        announce(f"{term_set.name}: {outcome.n_common:,} of {outcome.n_pairs:,} pairs known to all encoders")
        outcomes.append(outcome)
    return outcomes


def _dataset(term_set: TermSet, settings: Settings, synthetic: bool, source: str, measure: str) -> Dataset:
    split = Split(
        ids=tuple(f"{term_set.name}:{number}" for number in range(1, len(term_set.pairs) + 1)),
        texts=tuple(first for first, _ in term_set.pairs),
        texts2=tuple(second for _, second in term_set.pairs),
        labels=np.array(term_set.similar, dtype=np.int64),
    )
    notes = [f"built from {source}"] if source else []
    if settings.limit is not None and len(split) > settings.limit:
        split = split.take(_sample(term_set.similar, settings.limit, settings.seed))
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


def _sample(similar: Sequence[bool], limit: int, seed: int) -> NDArray[np.intp]:
    """Return rows, equally many of both labels as far as there are, in their old order."""
    rng = np.random.default_rng(seed)
    labels = np.array(similar)
    chosen = [
        rng.permutation(np.flatnonzero(labels == label))[:size]
        for label, size in ((True, limit - limit // 2), (False, limit // 2))
    ]
    return np.sort(np.concatenate(chosen))


def _numbers(vectors: EncodedTerms, split: Split) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return vectors.numbers(split.texts), vectors.numbers(split.texts2 or ())


def _evaluate_set(
    term_set: TermSet,
    dataset: Dataset,
    encoders: Sequence[Encoder],
    encoded: Sequence[EncodedTerms],
    seconds: Sequence[float],
    settings: Settings,
    measure: str,
    all_measures: bool,
) -> SetOutcome:
    whole = dataset.splits["all"]
    known_pairs = [np.all([vectors.known[side] for side in _numbers(vectors, whole)], axis=0) for vectors in encoded]
    split = whole.take(np.flatnonzero(np.all(known_pairs, axis=0)))
    similar = np.asarray(split.labels) == 1
    if not similar.any() or similar.all():
        raise DataError(
            f"{dataset.name}: the encoders in common know {len(split):,} of {len(whole):,} pairs, not both similar and "
            "dissimilar ones; compare fewer encoders or build a larger set"
        )
    subset = replace(
        dataset,
        splits={"all": split},
        notes=(*dataset.notes, f"{len(split):,} of {len(whole):,} pairs are known to all {len(encoders)} encoders compared"),
    )
    results, chosen_scores = [], []
    for encoder, vectors, encoding, known in zip(encoders, encoded, seconds, known_pairs, strict=True):
        started = time.perf_counter()
        main = vectors.measure(measure)
        wanted = vectors.measures if all_measures else (main,)
        similarities = vectors.similarities(wanted, *_numbers(vectors, split))
        scores = {
            name: score_separability(values, similar, folds=settings.folds, seed=settings.seed)
            for name, values in similarities.items()
        }
        chosen_scores.append(scores[main])
        results.append(
            make_result(
                task_for(term_set.name),
                subset,
                _scores(split, similar, similarities[main], scores, main, len(whole)),
                settings,
                encoder,
                vectors=vectors.matrix,
                coverage={"pairs_known": float(known.mean()), "pairs_common": len(split) / len(whole)},
                timings={"read": 0.0, "encode": encoding, "fit": time.perf_counter() - started},
                performance={"texts": len(vectors.number), "texts_encoded": vectors.n_encoded},
            )
        )
    comparisons = compare_rows(np.stack([score.correct for score in chosen_scores]))
    return SetOutcome(term_set.name, len(whole), len(split), chosen_scores[0].majority, results, comparisons)


def _scores(
    split: Split,
    similar: NDArray[np.bool_],
    similarities: NDArray[np.float64],
    scores: Mapping[str, Separability],
    main: str,
    n_whole: int,
) -> Scores:
    chosen, n = scores[main], len(split)
    # The measures of one encoder are compared with each other, as in the paper's appendix.
    compared = dict(zip(scores, compare_rows(np.stack([score.correct for score in scores.values()])), strict=True))
    # JSON has no infinity: an answer that is the same for all pairs has no threshold.
    thresholds = {name: score.threshold if np.isfinite(score.threshold) else None for name, score in scores.items()}
    details: dict[str, Any] = {
        "measure": main,
        "threshold": thresholds[main],
        "n_pairs": n_whole,
        "n_common": n,
        "measures": {
            name: {
                "auc": score.auc,
                "acc": 100 * score.accuracy,
                "cv_acc": 100 * score.cv_accuracy,
                "threshold": thresholds[name],
                "better": compared[name].better,
                "worse": compared[name].worse,
            }
            for name, score in scores.items()
        },
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
        details=details,
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
    measures: Sequence[str],
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
        for name in _fitting(measures, vectors):
            similarity = cross_similarity(name, vectors.matrix, vectors.terms)
            rows.append(EncoderSeparation(encoder.name, name, separate(similarity, known), unknown))
    return rows


def _fitting(measures: Sequence[str], vectors: EncodedTerms) -> list[str]:
    """Return the measures that an encoder has; where none of those named is among them, the error says which are."""
    fitting = [measure for measure in measures if measure in (PAPER_MEASURE, *vectors.measures)]
    return list(dict.fromkeys(vectors.measure(measure) for measure in fitting or measures))

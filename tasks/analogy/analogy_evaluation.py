"""Analogies with embeddings: which questions can be asked, how they are scored, and what is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Embeddings, Metric, Scores, Task
from medsenteval.errors import DataError
from medsenteval.settings import CONFIDENCE, Settings
from medsenteval.statistics import mean_share_interval
from medsenteval.support.arrays import Ragged
from medsenteval.tasks.analogy import analogy_sets
from medsenteval.tasks.analogy.analogy_sets import CANDIDATES, SETTINGS, Analogy, AnalogyDataset, read_analogies
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task
from medsenteval.words.analogies.candidate_scores import Candidates
from medsenteval.words.analogies.methods import METHODS, solve
from medsenteval.words.analogies.metrics import METRICS, Measures, constant_measures, summarise
from medsenteval.words.analogies.questions import Questions

_NO_YES: Final = ("no", "yes")
#: Options of every analogy task. ``scale`` unit brings whole terms to length 1; legacy flags repeat the released code.
OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "score": METHODS,
    "scale": ("as-encoded", "unit"),
    "legacy_exclusion": _NO_YES,
    "legacy_3cosmul": _NO_YES,
    "legacy_unanswerable": _NO_YES,
}
#: Those that make scores incomparable; they become part of the protocol's name.
PROTOCOL_OPTIONS: Final = ("setting", "score", "legacy_exclusion", "legacy_3cosmul", "legacy_unanswerable")
#: What is counted: questions, those that could not be asked and why, and what of them was not known or found.
_COVERAGE: Final = (
    "analogies", "asked", "dropped_unknown_a", "dropped_unknown_b", "dropped_unknown_c", "dropped_no_direction",
    "dropped_no_answer", "answers", "answers_not_candidates", "exemplar_objects_unknown", "candidates", "candidates_unknown",
)  # fmt: skip


def evaluate_analogies(task: Task, dataset: Dataset, embeddings: Embeddings, settings: Settings) -> Scores:
    """Rank all candidates for every analogy and return relaxed accuracy, MAP and MRR as means over relations.

    Intervals resample relations (questions, where there is only one relation). The baseline is one fixed ranking for all
    questions: candidates by how often they are right.
    """
    assert isinstance(dataset, AnalogyDataset)
    posed = pose(dataset, embeddings)
    asked, measures, where = solve(
        dataset.options["score"], posed.questions, Candidates.of(posed.terms[posed.rows]), posed.terms,
        shifted=dataset.options["legacy_3cosmul"] == "no", own_rows=posed.own_rows, rng=np.random.default_rng(settings.seed),
    )  # fmt: skip
    return _scores(dataset, posed, asked, measures, where)


@dataclass(frozen=True, eq=False)
class Posed:
    """The questions that can be asked, their ids, the names of relations, and what was left out.

    ``terms`` are the vectors of all terms, ``rows`` those of them that are candidates, ``own_rows`` the candidates (or -1)
    that the queries themselves are.
    """

    questions: Questions
    ids: tuple[str, ...]
    names: tuple[str, ...]
    coverage: dict[str, int]
    unanswerable: NDArray[np.intp]
    terms: NDArray[np.float32]
    rows: NDArray[np.intp]
    own_rows: list[int]


def pose(dataset: AnalogyDataset, embeddings: Embeddings) -> Posed:
    """Turn analogies into questions; one without a vector for a, b or c, or without an answer that can be found, is dropped."""
    assert dataset.candidates is not None
    terms = np.ascontiguousarray(embeddings.matrix, dtype=np.float32)
    known = ~embeddings.zero_rows
    if dataset.options["scale"] == "unit":
        lengths = np.linalg.norm(terms.astype(np.float64), axis=1, keepdims=True)
        terms = (terms / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    listed = embeddings.rows(dataset.candidates)
    rows = listed[known[listed]]
    candidate_of = np.full(len(terms), -1, dtype=np.intp)
    candidate_of[rows] = np.arange(len(rows))
    keeps_b = dataset.options["legacy_exclusion"] == "yes" and dataset.options["setting"] == "all-info"
    needs_direction = dataset.options["score"] == "pairwise-distance"
    needs_length = dataset.options["score"] in ("3cosmul", "lrcos")
    row_of, coverage = embeddings.row_of, dict.fromkeys(_COVERAGE, 0)
    relations: dict[str, int] = {}
    exemplars: dict[tuple[int, tuple[int, ...]], int] = {}
    queries: dict[int, int] = {}
    ids, columns, unanswerable = [], [], []
    for item, analogy in dataset.chosen():
        coverage["analogies"] += 1
        relation = relations.setdefault(analogy.relation, len(relations))
        a, c = row_of[analogy.a], row_of[analogy.c]
        objects = dict.fromkeys(row_of[term] for term in analogy.b)
        b = tuple(row for row in objects if known[row])
        answers = tuple(dict.fromkeys(row_of[term] for term in analogy.d))
        right = [int(candidate_of[row]) for row in answers if candidate_of[row] >= 0]
        coverage["exemplar_objects_unknown"] += len(objects) - len(b)
        coverage["answers"] += len(answers)
        coverage["answers_not_candidates"] += len(answers) - len(right)
        if not known[a]:
            coverage["dropped_unknown_a"] += 1
        elif not b:
            coverage["dropped_unknown_b"] += 1
        elif not known[c]:
            coverage["dropped_unknown_c"] += 1
        elif not _has_direction(terms, a, b, needs_direction, needs_length):
            coverage["dropped_no_direction"] += 1
        elif not right:
            coverage["dropped_no_answer"] += 1
            unanswerable.append(relation)
        else:
            named = {a, c} if keeps_b else {a, c, *b}
            excluded = sorted(int(candidate_of[row]) for row in named if candidate_of[row] >= 0)
            exemplar, query = exemplars.setdefault((a, b), len(exemplars)), queries.setdefault(c, len(queries))
            ids.append(item)
            columns.append((relation, exemplar, query, right, excluded))
    coverage["asked"] = len(ids)
    coverage |= {"candidates": len(rows), "candidates_unknown": len(listed) - len(rows)}
    if not ids:
        dropped = {name.removeprefix("dropped_"): n for name, n in coverage.items() if name.startswith("dropped") and n}
        reasons = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in dropped.items())
        counted = f"{coverage['analogies']:,} analogies, {coverage['candidates']:,} candidates"
        raise DataError(f"{dataset.name}: no analogy can be asked: {counted}; {reasons}")
    *numbers, answer_rows, excluded_rows = zip(*columns, strict=True)
    of_relation, of_exemplar, of_query = (np.array(column, dtype=np.intp) for column in numbers)
    questions = Questions(
        relations=of_relation,
        exemplars=of_exemplar,
        queries=of_query,
        answers=Ragged.of(answer_rows),
        excluded=Ragged.of(excluded_rows),
        exemplar_a=np.array([a for a, _ in exemplars], dtype=np.intp),
        exemplar_b=Ragged.of([b for _, b in exemplars]),
        query_terms=np.array(list(queries), dtype=np.intp),
    )
    lacking, own_rows = np.array(unanswerable, dtype=np.intp), candidate_of[questions.query_terms].tolist()
    return Posed(questions, tuple(ids), tuple(relations), coverage, lacking, terms, rows, own_rows)


def _has_direction(terms: NDArray[np.float32], a: int, b: tuple[int, ...], offset: bool, length: bool) -> bool:
    """Say whether the score is defined for this exemplar: some need an offset, some a mean object, that is not zero."""
    mean = terms[list(b)].astype(np.float64).mean(axis=0)
    return not (offset and np.array_equal(mean, terms[a].astype(np.float64))) and not (length and not mean.any())


def _scores(dataset: AnalogyDataset, posed: Posed, asked: Questions, measures: Measures, where: NDArray[np.intp]) -> Scores:
    relations, counted = asked.relations, measures
    if dataset.options["legacy_unanswerable"] == "yes" and dataset.options["setting"] == "single-answer":
        # The released code counts these as wrong in accuracy and leaves them out of MAP and MRR.
        answered = np.bincount(relations)
        wrong = np.bincount(posed.unanswerable, minlength=len(answered))[: len(answered)]
        counted = replace(measures, acc=measures.acc * (answered / np.maximum(answered + wrong, 1))[relations])
    by_relation, by_category, overall = summarise(counted, relations, posed.names, dataset.categories)
    constant = summarise(constant_measures(asked, len(posed.rows)), relations, posed.names, dataset.categories)[2]
    metrics = []
    for name in METRICS:
        # Over questions where there is one relation only.
        values = np.array([means[name] for means in by_relation.values()]) if len(by_relation) > 1 else counted.values(name)
        low, high = mean_share_interval(values, confidence=CONFIDENCE)
        metrics.append(Metric(name, overall[name]["mean"], low, high, constant[name]["mean"], "fraction", len(asked)))
    per_question = {name: measures.values(name)[where].tolist() for name in METRICS}
    details: dict[str, Any] = {
        "setting": dataset.options["setting"],
        "score": dataset.options["score"],
        "interval": "over relations" if len(by_relation) > 1 else "over questions",
        "coverage": posed.coverage,
        "relations": by_relation,
        "categories": by_category,
        "overall": overall,
    }
    relation_of = [posed.names[number] for number in posed.questions.relations]
    return Scores(
        metrics=tuple(metrics),
        n_train=0,
        n_test=len(asked),
        items={"id": posed.ids, "relation": relation_of, **per_question},
        senteval={**{name: overall[name]["mean"] for name in METRICS}, "relations": by_relation, "ntest": len(asked)},
        details=details,
    )


def _task(
    name: str,
    found: Callable[[DatasetBuilder, dict[str, str]], Iterator[tuple[str, Analogy]]],
    options: Mapping[str, tuple[str, ...]],
    candidate_file: str = "candidates.txt",
    **fields: Any,
) -> Task:
    def read(builder: DatasetBuilder) -> AnalogyDataset:
        categories: dict[str, str] = {}
        return read_analogies(builder, found(builder, categories), categories, candidate_file)

    return file_task("analogy", name, read, evaluate_analogies, options=options, protocol_options=PROTOCOL_OPTIONS, **fields)


def _of_words(setting: str) -> dict[str, tuple[str, ...]]:
    """Return the options of sets of single words, which were always compared at unit length."""
    settings = (setting, *(other for other in SETTINGS if other != setting))
    # A vocabulary is not there for every encoder.
    candidates = ("terms", *(other for other in CANDIDATES if other != "terms"))
    return {"setting": settings, **OPTIONS, "scale": ("unit", "as-encoded"), "candidates": candidates}


_OF_TERMS: Final = {"setting": SETTINGS, **OPTIONS, "terms": ("all", "unigrams"), "candidates": CANDIDATES}
TASKS: Final = {
    "BMASS": _task("BMASS", analogy_sets.read_bmass, _OF_TERMS, "PubMed_frequent_terms.txt", row_options=("setting", "terms")),
    "Google": _task("Google", analogy_sets.read_google, _of_words("single-answer")),
    "MSR": _task("MSR", analogy_sets.read_msr, _of_words("single-answer")),
    "BATS": _task("BATS", analogy_sets.read_bats, _of_words("multi-answer")),
}

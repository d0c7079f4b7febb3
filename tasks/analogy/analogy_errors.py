"""What wrong answers to analogies are: of the same relation, of the same kind, or merely spelt alike.

Newman-Griffis, Lai and Fosler-Lussier 2017 describe in section 5.6 what they saw among the guesses of 3CosAdd: words of b or c,
variants of b that outweigh c, neighbours of c whatever a and b are, and terms related to the answer. Here each is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from medsenteval.contracts import Embeddings
from medsenteval.errors import SettingsError
from medsenteval.tasks.analogy.analogy_evaluation import Posed, pose
from medsenteval.tasks.analogy.analogy_sets import AnalogyDataset
from medsenteval.words.analogies.candidate_scores import Candidates
from medsenteval.words.analogies.methods import mean_vectors

#: Kind of a wrong answer -> what it means; one answer may be of several kinds.
KINDS: Final = {
    "same relation": "an object of the relation, right for another subject",
    "same type": "a term of another relation of the same category",
    "like b": "spelt like an exemplar object",
    "like c": "spelt like the query",
    "like an answer": "spelt like a right answer",
}
#: Guesses whose scores differ by less are ties, and the earlier candidate is taken.
_TIE: Final = 1e-12
#: Words that begin with as many equal letters are spelt alike; shorter words must be equal, and the shortest do not count.
_STEM: Final = 5
_SHORTEST: Final = 3


def count_errors(dataset: AnalogyDataset, embeddings: Embeddings) -> dict[str, Counter[str]]:
    """Guess every analogy by 3CosAdd; return how many of each relation were asked, wrong, and wrong in each way or in none."""
    if dataset.options["score"] != "3cosadd":
        raise SettingsError(
            f"wrong answers are those of 3cosadd, which the paper reports; score is {dataset.options['score']!r}"
        )
    posed = pose(dataset, embeddings)
    analogies = dict(dataset.chosen())
    text_of = {row: text for text, row in embeddings.row_of.items()}
    objects: dict[str, set[str]] = defaultdict(set)
    relations_of: dict[str, set[str]] = defaultdict(set)
    for analogy in analogies.values():
        objects[analogy.relation].update(analogy.b, analogy.d)
        for text in (analogy.a, analogy.c, *analogy.b, *analogy.d):
            relations_of[text].add(analogy.relation)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for question, guess in _guesses(posed):
        analogy = analogies[posed.ids[question]]
        counts = found[analogy.relation]
        counts["asked"] += 1
        if guess in posed.questions.answers[question]:
            continue
        text = text_of[int(posed.rows[guess])]
        category = dataset.categories.get(analogy.relation)
        others = {dataset.categories.get(other) for other in relations_of[text] - {analogy.relation}}
        kinds = {
            "same relation": text in objects[analogy.relation],
            "same type": bool(category) and category in others,
            "like b": _alike(text, analogy.b),
            "like c": _alike(text, (analogy.c,)),
            "like an answer": _alike(text, analogy.d),
        }
        counts.update(["wrong", *([kind for kind, is_so in kinds.items() if is_so] or ["none of these"])])
    return found


def _guesses(posed: Posed) -> Iterator[tuple[int, int]]:
    """Yield each question with the best candidate that may be guessed, relation by relation."""
    questions, terms = posed.questions, posed.terms
    candidates = Candidates.of(terms[posed.rows])
    unit = candidates.vectors / candidates.lengths[:, None]
    offsets = mean_vectors(terms, questions.exemplar_b) - terms[questions.exemplar_a].astype(np.float64)
    queries = terms[questions.query_terms].astype(np.float64)
    for relation in np.unique(questions.relations):
        asked = np.flatnonzero(questions.relations == relation)
        exemplars, exemplar_of = np.unique(questions.exemplars[asked], return_inverse=True)
        subjects, subject_of = np.unique(questions.queries[asked], return_inverse=True)
        by_exemplar, by_subject = offsets[exemplars] @ unit.T, queries[subjects] @ unit.T
        for question, exemplar, subject in zip(asked, exemplar_of, subject_of, strict=True):
            scores = by_exemplar[exemplar] + by_subject[subject]
            scores[questions.excluded[int(question)]] = -np.inf
            yield int(question), int(np.argmax(scores >= scores.max() - _TIE))


def _alike(text: str, others: Iterable[str]) -> bool:
    """Whether a text has a word in common with one of the others, or a word that begins with the same five letters."""
    stems = {word[:_STEM] for word in text.casefold().split() if len(word) >= _SHORTEST}
    return any(word[:_STEM] in stems for other in others for word in other.casefold().split())

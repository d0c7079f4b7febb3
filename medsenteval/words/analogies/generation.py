"""Analogies from relations that a user may share, made as BMASS was made from UMLS.

Facts (subject, relation, object) between concepts whose terms are frequent; relations with enough 1:1 instances; a
sample of subjects from each, bundled with all their objects; every two pairs of a relation combined (Newman-Griffis, Lai and
Fosler-Lussier 2017, Section 4). The paper's authors then looked through the relations by hand; the summary is for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import permutations
from pathlib import Path

import numpy as np

from medsenteval.errors import DataError, SettingsError
from medsenteval.support.atomic_files import write_atomically


@dataclass(frozen=True)
class Concept:
    """A concept by its identifier with its terms, the preferred one first."""

    identifier: str
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Construction:
    """The paper's numbers: 1:1 instances that a relation needs, pairs sampled from it, how often a term must occur."""

    one_to_one: int = 50
    pairs: int = 50
    frequency_floor: float = 25
    seed: int = 1111

    def __post_init__(self) -> None:
        if self.pairs < 2 or self.one_to_one < 0 or self.frequency_floor < 0:
            raise SettingsError(
                f"pairs is {self.pairs}, one_to_one {self.one_to_one}, frequency_floor {self.frequency_floor}; "
                "an analogy needs two pairs, and no number may be negative"
            )


@dataclass(frozen=True)
class RelationSummary:
    """What became of a relation: its facts between frequent terms, its subjects, its 1:1 instances, and whether it was kept."""

    relation: str
    facts: int
    subjects: int
    one_to_one: int
    ambiguity: float
    kept: bool


@dataclass(frozen=True, eq=False)
class Generated:
    """Relations with their (subject, objects) pairs, the term of each concept, all candidate terms, and the summaries."""

    pairs: Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]
    term_of: Mapping[str, str]
    candidates: tuple[str, ...]
    summaries: tuple[RelationSummary, ...]

    @property
    def n_analogies(self) -> int:
        return sum(len(pairs) * (len(pairs) - 1) for pairs in self.pairs.values())


def generate(
    concepts: Iterable[Concept],
    facts: Iterable[tuple[str, str, str]],
    construction: Construction,
    frequencies: Mapping[str, float] | None = None,
) -> Generated:
    """Choose relations and pairs; facts are (subject, relation, object) identifiers and may come as a stream.

    With ``frequencies`` (by lower-case term) a concept is represented by its most frequent term and left out where none reaches
    the floor, and every frequent term is a candidate; without them the preferred term stands for it.
    """
    term_of: dict[str, str] = {}
    candidates: dict[str, None] = {}
    for concept in concepts:
        frequent = _frequent_terms(concept, construction, frequencies)
        if frequent:
            term_of[concept.identifier] = frequent[0]
            candidates.update(dict.fromkeys(frequent if frequencies is not None else frequent[:1]))
    objects_of: dict[str, dict[str, dict[str, None]]] = {}
    for subject, relation, object_ in facts:
        if subject in term_of and object_ in term_of and term_of[subject].casefold() != term_of[object_].casefold():
            objects_of.setdefault(relation, {}).setdefault(subject, {})[object_] = None
    rng = np.random.default_rng(construction.seed)
    chosen: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    summaries = []
    for relation in sorted(objects_of):
        found = objects_of[relation]
        subjects_of = Counter(object_ for objects in found.values() for object_ in objects)
        one_to_one = sum(len(objects) == 1 and subjects_of[next(iter(objects))] == 1 for objects in found.values())
        kept = one_to_one >= construction.one_to_one and len(found) >= construction.pairs
        if kept:
            chosen[relation] = _sample(found, construction.pairs, rng)
        sampled = chosen.get(relation, [])
        ambiguity = float(np.mean([len(objects) for _, objects in sampled])) if sampled else 0.0
        n_facts = sum(map(len, found.values()))
        summaries.append(RelationSummary(relation, n_facts, len(found), one_to_one, ambiguity, kept))
    return Generated(chosen, term_of, tuple(candidates), tuple(summaries))


def _frequent_terms(concept: Concept, construction: Construction, frequencies: Mapping[str, float] | None) -> list[str]:
    """Return the concept's usable terms, the one that represents it first; tabs and line ends would break the files."""
    terms = list(dict.fromkeys(" ".join(term.split()) for term in concept.terms if term.split()))
    if frequencies is None:
        return terms
    counted = [(frequencies.get(term.casefold(), 0.0), term) for term in terms]
    # Sorting is stable: of equally frequent terms the preferred one stays first.
    ranked = sorted((pair for pair in counted if pair[0] >= construction.frequency_floor), key=lambda pair: -pair[0])
    return [term for _, term in ranked]


def _sample(
    found: Mapping[str, Mapping[str, None]], n_pairs: int, rng: np.random.Generator
) -> list[tuple[str, tuple[str, ...]]]:
    """Draw (subject, object) facts until there are enough subjects; the drawn object comes first, all others follow."""
    facts = [(subject, object_) for subject, objects in found.items() for object_ in objects]
    drawn: dict[str, tuple[str, ...]] = {}
    for number in rng.permutation(len(facts)):
        subject, object_ = facts[number]
        if subject not in drawn:
            drawn[subject] = (object_, *(other for other in found[subject] if other != object_))
            if len(drawn) == n_pairs:
                break
    return list(drawn.items())


def write_bmass(generated: Generated, folder: Path) -> list[Path]:
    """Write BMASS's three files, the candidate list and a summary into a folder that the task BMASS reads."""
    if not generated.pairs:
        best = max((summary.one_to_one for summary in generated.summaries), default=0)
        raise DataError(
            f"no relation has enough 1:1 instances and subjects (the best of {len(generated.summaries)} has {best} 1:1); "
            "lower --one-to-one or --pairs, or check the frequency table"
        )
    folder.mkdir(parents=True, exist_ok=True)

    def entries(identifiers: Sequence[str]) -> str:
        return ",".join(f'{identifier.replace(":", "_")}:"{generated.term_of[identifier]}"' for identifier in identifiers)

    contents = {"PubMed_frequent_terms.txt": list(generated.candidates)}
    for setting, n_b, n_d in (("single_answer", 1, 1), ("multi_answer", 1, None), ("all_info", None, None)):
        lines = []
        for relation, pairs in generated.pairs.items():
            lines.append(f"# {relation}")
            for (a, b), (c, d) in permutations(pairs, 2):
                lines.append("\t".join((entries([a]), entries(b[:n_b]), entries([c]), entries(d[:n_d]))))
        contents[f"BMASS_{setting}.txt"] = lines
    contents["summary.tsv"] = ["\t".join(field.name for field in fields(RelationSummary))]
    for each in map(astuple, generated.summaries):
        contents["summary.tsv"].append("\t".join(f"{v:.2f}" if isinstance(v, float) else str(v) for v in each))
    for name, lines in contents.items():
        write_atomically(folder / name, "".join(f"{line}\n" for line in lines))
    return [folder / name for name in contents]

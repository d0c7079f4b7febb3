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

#: A concept's identifier and its terms, the preferred one first.
Concept = tuple[str, Sequence[str]]
#: Subject, relation and object.
Fact = tuple[str, str, str]


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
    facts: Iterable[Fact],
    frequencies: Mapping[str, float] | None = None,
    *,
    one_to_one: int = 50,
    pairs: int = 50,
    frequency_floor: float = 25,
    seed: int = 1111,
) -> Generated:
    """Choose relations and pairs; facts are between identifiers of concepts and may come as a stream.

    With ``frequencies`` (by lower-case term) a concept is represented by its most frequent term and left out where none reaches
    the floor, and every frequent term is a candidate; without them the preferred term stands for it. The defaults are the
    paper's: 1:1 instances that a relation needs, pairs sampled from it, how often a term must occur.
    """
    if pairs < 2 or one_to_one < 0 or frequency_floor < 0:
        raise SettingsError(
            f"pairs is {pairs}, one_to_one {one_to_one}, frequency_floor {frequency_floor}; an analogy needs two pairs, and no "
            "number may be negative"
        )
    term_of: dict[str, str] = {}
    candidates: dict[str, None] = {}
    for identifier, names in concepts:
        # Tabs and line ends would break the files.
        terms = list(dict.fromkeys(" ".join(term.split()) for term in names if term.split()))
        if frequencies is not None:
            counted = [(frequencies.get(term.casefold(), 0.0), term) for term in terms]
            # Sorting is stable: of equally frequent terms the preferred one stays first.
            terms = [term for n, term in sorted(counted, key=lambda pair: -pair[0]) if n >= frequency_floor]
        if terms:
            term_of[identifier] = terms[0]
            candidates.update(dict.fromkeys(terms if frequencies is not None else terms[:1]))
    objects_of: dict[str, dict[str, dict[str, None]]] = {}
    for subject, relation, object_ in facts:
        if subject in term_of and object_ in term_of and term_of[subject].casefold() != term_of[object_].casefold():
            objects_of.setdefault(relation, {}).setdefault(subject, {})[object_] = None
    rng = np.random.default_rng(seed)
    chosen: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    summaries = []
    for relation in sorted(objects_of):
        found = objects_of[relation]
        subjects_of = Counter(object_ for objects in found.values() for object_ in objects)
        singles = sum(len(objects) == 1 and subjects_of[next(iter(objects))] == 1 for objects in found.values())
        kept = singles >= one_to_one and len(found) >= pairs
        if kept:
            chosen[relation] = _sample(found, pairs, rng)
        ambiguity = float(np.mean([len(objects) for _, objects in chosen[relation]])) if kept else 0.0
        summaries.append(RelationSummary(relation, sum(map(len, found.values())), len(found), singles, ambiguity, kept))
    return Generated(chosen, term_of, tuple(candidates), tuple(summaries))


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

"""Analogies between invented substances, in BMASS's three files and in the formats of Google, MSR and BATS.

No relation here holds of anything real: the names are made of syllables, and what relates two of them shows in their
spelling, so that an encoder which sees letters finds some answers and no encoder finds all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Final

from .formats import lines
from .wording import Writer

__all__ = ["build_analogy_files"]

_FIRST: Final = ("vel", "tor", "qui", "mar", "zel", "bro", "dan", "pho", "lir", "gam", "sel", "rup")
_MIDDLE: Final = ("a", "o", "i", "ani", "oxa", "ero", "udi")
_LAST: Final = ("rin", "dol", "pam", "mab", "tin", "zol", "vex")
_PAIRS_A_RELATION: Final = 8
#: Relation as BMASS's headings name it, and the objects made from a subject; the first one is the single answer.
_RELATIONS: Final = (
    ("RN: has_salt_form", ("{0} sodium", "{0} chloride", "{0} sulfate")),
    ("RO: has_tradename", ("{0}ex", "Neo-{0}")),
    ("RO: measured_component_of", ("{0}, serum: mass concentration",)),
    ("RO: causative_agent_of", ("{0} poisoning", 'so-called "{0}" rash', "{0} fever")),
)

Pair = tuple[str, tuple[str, ...]]


def build_analogy_files(seed: int) -> dict[str, bytes]:
    """Return the content of every file by its path."""
    writer = Writer(seed, "analogies")
    stems = writer.shuffled([first + middle + last for first in _FIRST for middle in _MIDDLE for last in _LAST])
    relations: list[tuple[str, list[Pair]]] = []
    for number, (name, patterns) in enumerate(_RELATIONS):
        subjects = stems[number * _PAIRS_A_RELATION : (number + 1) * _PAIRS_A_RELATION]
        relations.append((name, [(stem, _objects(writer, stem, patterns)) for stem in subjects]))
    distractors = stems[100:160]
    return _bmass(relations, distractors) | _general(stems[40:60])


def _objects(writer: Writer, stem: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the first pattern's object and some of the others."""
    others = [pattern for pattern in patterns[1:] if writer.chance(0.6)]
    return tuple(pattern.format(stem) for pattern in (patterns[0], *others))


def _bmass(relations: Sequence[tuple[str, list[Pair]]], distractors: Sequence[str]) -> dict[str, bytes]:
    terms = list(dict.fromkeys(term for _, pairs in relations for subject, objects in pairs for term in (subject, *objects)))
    # Concept numbers that the Metathesaurus has not given out.
    identifier = {term: f"C9{number:06d}" for number, term in enumerate(terms)}

    def entry(*strings: str) -> str:
        return ",".join(f'{identifier[string]}:"{string}"' for string in strings)

    files = {}
    for setting, n_b, n_d in (("single_answer", 1, 1), ("multi_answer", 1, 99), ("all_info", 99, 99)):
        rows = []
        for name, pairs in relations:
            rows.append(f"# {name}")
            for (a, b), (c, d) in permutations(pairs, 2):
                rows.append("\t".join((entry(a), entry(*b[:n_b]), entry(c), entry(*d[:n_d]))))
            rows.append("")
        files[f"BMASS/BMASS_{setting}.txt"] = lines(rows)
    # One answer is missing among the candidates, as some are in any frequency-limited list.
    candidates = [term for term in terms if term != terms[-1]]
    files["BMASS/PubMed_frequent_terms.txt"] = lines([*candidates, *distractors, *(f"{stem} tablets" for stem in distractors)])
    return files


def _general(stems: Sequence[str]) -> dict[str, bytes]:
    plural = [(stem, f"{stem}s") for stem in stems[:7]]
    agent = [(stem, f"{stem}ist") for stem in stems[7:14]]
    google = []
    for name, pairs in (("substance-specialist", agent), ("gram8-plural", plural)):
        google += [f": {name}", *(f"{a} {b} {c} {d}" for (a, b), (c, d) in permutations(pairs, 2))]
    questions = [(f"{a} {b} {c}", f"NN_NNS {d}") for (a, b), (c, d) in permutations(plural, 2)]
    return {
        "Google/questions-words.txt": lines(google),
        "MSR/word_relationship.questions": lines(question for question, _ in questions),
        "MSR/word_relationship.answers": lines(answer for _, answer in questions),
        "BATS/I01 [noun - plural_reg].txt": lines(f"{word}\t{other}" for word, other in plural),
        "BATS/D01 [noun - agent].txt": lines(f"{word}\t{other}/{word}er" for word, other in agent),
    }

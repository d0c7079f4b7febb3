"""Pairs of words and terms with graded closeness, in the layouts of the biomedical word similarity sets; all invented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .formats import lines
from .vocabulary import CELLS, CONDITIONS, DRUGS, GENES, OUTCOMES, PROCESSES, SYMPTOMS, Concept, Condition
from .wording import Writer

__all__ = ["word_similarity_files"]

#: Verbs of laboratory and clinic; those of one line mean nearly the same, those of two neighbouring lines are related.
_VERBS: Final = tuple(
    tuple(line.split())
    for line in """
    inhibit suppress repress block attenuate
    activate stimulate upregulate enhance promote
    induce trigger elicit evoke
    bind attach adhere dock
    cleave digest hydrolyze degrade
    synthesize produce generate assemble
    phosphorylate dephosphorylate methylate demethylate acetylate
    transcribe express encode translate
    measure quantify assess determine
    detect identify recognize discover
    treat medicate administer prescribe
    infect colonize invade contaminate
    proliferate grow divide multiply
    migrate spread disseminate metastasize
    secrete release excrete export
    """.strip().splitlines()
)


@dataclass(frozen=True)
class _Kind:
    """Things of one kind; ``related`` says that two different ones have something to do with each other."""

    concepts: tuple[Concept, ...]

    def related(self, first: Concept, second: Concept) -> bool:
        return isinstance(first, Condition) and isinstance(second, Condition) and first.organ == second.organ


_KINDS: Final = tuple(map(_Kind, (CONDITIONS, DRUGS, SYMPTOMS, OUTCOMES, GENES, CELLS, PROCESSES)))


def word_similarity_files(seed: int) -> dict[str, bytes]:
    """Return the content of the files of all biomedical sets by path."""
    nouns = _pairs(Writer(seed, "wordsim/Bio-SimLex"), 160, single=True)
    verbs = _verb_pairs(Writer(seed, "wordsim/Bio-SimVerb"), 160)
    files = {
        # The real files end without a line end.
        "wordsim/Bio-SimLex.txt": lines(_row(first, second, 10 * close) for first, second, close in nouns)[:-1],
        "wordsim/Bio-SimVerb.txt": lines(_row(first, second, 10 * close) for first, second, close in verbs)[:-1],
    }
    for relation, name, n in (("sim", "similarity", 120), ("rel", "relatedness", 130)):
        pairs = _pairs(Writer(seed, f"wordsim/UMNSRS-{relation}"), n, single=False)
        rows = [(first.lower(), second.lower(), 150 + 1400 * close) for first, second, close in pairs]
        files[f"wordsim/UMNSRS-{relation}.txt"] = lines(_row(*row) for row in rows)
        single = [row for row in rows if " " not in row[0] + row[1]]
        header = "Mean,Stdev,Term1,Term2,CUI1,CUI2"
        count = {"sim": 449, "rel": 458}[relation]
        listed = [f"{score:.2f},{100:.2f},{first},{second},," for first, second, score in single]
        # The real file has the line ends of an old Macintosh.
        files[f"wordsim/UMNSRS_{name}_mod{count}_word2vec.csv"] = lines([header, *listed]).replace(b"\n", b"\r")
    mayo = _pairs(Writer(seed, "wordsim/MayoSRS"), 101, single=False)
    files["wordsim/MayoSRS.txt"] = lines(_row(first, second, 1 + 7 * close) for first, second, close in mayo)
    files["wordsim/MiniMayoSRS.csv"] = _mini(Writer(seed, "wordsim/MiniMayoSRS"))
    mesh = _pairs(Writer(seed, "wordsim/Hliaoutakis"), 36, single=False)
    rows_mesh = [f"{first},{second},,,{close:.3f}" for first, second, close in mesh]
    files["wordsim/Hliaoutakis2005_mesh.csv"] = lines(["term 1,term 2,mesh 1,mesh 2,score", *rows_mesh]).replace(b"\n", b"\r\n")
    for part, n, raters in (("A", 60, 5), ("B", 240, 3)):
        files[f"wordsim/EHR-Rel{part}.tsv"] = _ratings(Writer(seed, f"wordsim/EHR-Rel{part}"), n, raters)
    return files


def _ratings(writer: Writer, n: int, raters: int) -> bytes:
    """Return pairs in EHR-Rel's layout: ratings of 0 to 3 by some of five doctors, and their mean."""
    header = ["snomed_id_1", "snomed_label_1", "snomed_id_2", "snomed_label_2", *(f"rater_{name}" for name in "ABCDE")]
    rows = ["\t".join([*header, "mean_rating", "CUI_1", "CUI_2"])]
    for number, (first, second, close) in enumerate(_pairs(writer, n, single=False)):
        given = [float(min(3, max(0, round(3 * close + writer.jitter(0.6))))) for _ in range(raters)]
        cells = [str(rating) for rating in given] + [""] * (5 - raters)
        # The real file quotes a label that holds quotation marks, and doubles them.
        labelled = f'"{first} ""so called"""' if number == 7 else first
        ids = (f"9{number:06d}001", f"9{number:06d}002")
        rows.append("\t".join([ids[0], labelled, ids[1], second, *cells, repr(sum(given) / raters), "", ""]))
    return lines(rows)


def _row(first: str, second: str, score: float) -> str:
    return f"{first}\t{second}\t{score:.2f}"


def _mini(writer: Writer) -> bytes:
    rows = ['"Physicians","Coders","CUI1","CUI2","TERM1","TERM2"']
    for first, second, close in _pairs(writer, 29, single=False):
        physicians, coders = (min(4.0, max(1.0, 1 + 3 * close + writer.jitter(0.4))) for _ in range(2))
        rows.append(f'"{physicians:.1f}","{coders:.1f}","","","{first}","{second}"')
    return lines(rows).replace(b"\n", b"\r\n")


def _pairs(writer: Writer, n: int, single: bool) -> list[tuple[str, str, float]]:
    """Return n pairs of different names with their closeness: of one thing, of one kind, or of two kinds."""
    found: dict[tuple[str, str], float] = {}
    while len(found) < n:
        kind = writer.pick(_KINDS)
        first = writer.pick(kind.concepts)
        relation = writer.pick(("same", "form", "form", "kind", "kind", "other"))
        if relation in ("same", "form"):
            second, close = first, 0.85
        elif relation == "kind":
            second = writer.pick_other(kind.concepts, first)
            close = 0.6 if kind.related(first, second) else 0.35
        else:
            second, close = writer.pick(writer.pick_other(_KINDS, kind).concepts), 0.1
        name = writer.pick(_names(first, single))
        pair = name, _another_form(writer, name) if relation == "form" else writer.pick(_names(second, single))
        # Commas and quotation marks would need quoting that the real files do not have.
        if pair[0] != pair[1] and pair not in found and not any(sign in "".join(pair) for sign in ',"'):
            found[pair] = min(1.0, max(0.0, close + writer.jitter(0.15)))
    return [(first, second, close) for (first, second), close in found.items()]


def _another_form(writer: Writer, name: str) -> str:
    """Return a term that shares its letters with the name, so that an encoder of n-grams sees something too."""
    forms = ("severe {}", "acute {}", "recurrent {}", "{} syndrome") if " " in name else ("{}s", "anti-{}", "pre-{}", "{}-like")
    return writer.pick(forms).format(name)


def _names(concept: Concept, single: bool) -> list[str]:
    names = [name for name in concept.names if not single or " " not in name]
    return names or [concept.names[0].split()[-1]]


def _verb_pairs(writer: Writer, n: int) -> list[tuple[str, str, float]]:
    found: dict[tuple[str, str], float] = {}
    while len(found) < n:
        group = writer.number(0, len(_VERBS) - 1)
        distance = writer.pick((0, 1, 5))
        other = _VERBS[(group + distance) % len(_VERBS)]
        first = writer.pick(_VERBS[group])
        pair = first, writer.pick_other(other, first)
        close = {0: 0.8, 1: 0.4, 5: 0.1}[distance]
        if distance == 0 and writer.chance(0.5):
            pair = first, writer.pick(("re{}", "co-{}", "over{}")).format(first)
        if pair not in found:
            found[pair] = min(1.0, max(0.0, close + writer.jitter(0.15)))
    return [(first, second, close) for (first, second), close in found.items()]

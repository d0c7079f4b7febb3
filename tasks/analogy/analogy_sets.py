"""The sets of analogies: BMASS's relations of biomedical terms, Google's question-words, MSR's syntax, BATS's lists of pairs.

BMASS (Newman-Griffis et al. 2017) has 25 relations, terms of several words, and several right answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Final

from medsenteval.contracts import Dataset, Encoder, Split
from medsenteval.errors import DataMissingError, EncoderError
from medsenteval.support.files import clean_text
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, hash_texts
from medsenteval.tasks.reading.task_facts import group_facts

_PARTS_OF_SPEECH: Final = {"J": "adjectives", "N": "nouns", "V": "verbs"}
#: One ``CUI:"string"``, the quotes absent in some copies; what is inside quotes does not separate.
_ENTRY: Final = re.compile(r'\s*[^\s:",]+:(?:"(.*?)"|([^",]+))\s*(?:,(?=\s*[^\s:",]+:)|$)')
#: Taken out, because it is no field of a Task.
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = group_facts("analogy")["BMASS"].pop("categories")

SETTINGS: Final = ("multi-answer", "single-answer", "all-info")
#: Where candidate answers come from; a number limits a vocabulary to its first words, the most frequent ones.
CANDIDATES: Final = ("file", "terms", "vocabulary", "vocabulary-300000", "vocabulary-30000")


@dataclass(frozen=True)
class Analogy:
    """One question: the exemplar's subject ``a`` and objects ``b``, the query ``c`` and its right answers ``d``."""

    relation: str
    a: str
    b: tuple[str, ...]
    c: str
    d: tuple[str, ...]

    def under(self, setting: str) -> Analogy:
        """Keep what a setting lets see: all objects on both sides, all answers but one exemplar object, or one of each."""
        if setting == "all-info":
            return self
        answers = self.d if setting == "multi-answer" else self.d[:1]
        return replace(self, b=self.b[:1], d=answers)


@dataclass(frozen=True, eq=False)
class AnalogyDataset(Dataset):
    """Analogies by their ids, the candidate answers, and which category a relation belongs to.

    ``candidates`` None means every word of the encoder's own vocabulary, which ``for_encoder`` fills in.
    """

    analogies: Mapping[str, Analogy] = field(default_factory=dict)
    candidates: tuple[str, ...] | None = ()
    categories: Mapping[str, str] = field(default_factory=dict)

    def chosen(self) -> Iterator[tuple[str, Analogy]]:
        """Yield the analogies that a limit has left, with their ids."""
        for split in self.splits.values():
            for item in split.ids:
                yield item, self.analogies[item]

    def all_texts(self) -> Iterator[str]:
        for _, analogy in self.chosen():
            yield from (analogy.a, analogy.c, *analogy.b, *analogy.d)
        yield from self.candidates or ()

    def for_encoder(self, encoder: Encoder) -> AnalogyDataset:
        """Take the encoder's vocabulary as candidates where that is asked for."""
        if self.candidates is not None:
            return self
        vocabulary = getattr(encoder, "vocabulary", None)
        if vocabulary is None:
            raise EncoderError(
                f"{encoder.name} has no vocabulary to take candidates from (only word vectors have); "
                f"use --option {self.name}.candidates=terms or file"
            )
        _, _, limit = self.options["candidates"].partition("-")
        words = list(vocabulary)[: int(limit)] if limit else list(vocabulary)
        return replace(self, candidates=tuple(words))

    @cached_property
    def fingerprint(self) -> str:
        lists = [texts for item, each in self.chosen() for texts in ((item, each.relation, each.a, each.c), each.b, each.d)]
        lists.append(tuple(f"{relation}={category}" for relation, category in self.categories.items()))
        lists.append(("the encoder's vocabulary",) if self.candidates is None else self.candidates)
        return hash_texts(text for texts in lists for text in (str(len(texts)), *texts))


def read_analogies(
    builder: DatasetBuilder, found: Iterable[tuple[str, Analogy]], categories: Mapping[str, str], candidate_file: str
) -> AnalogyDataset:
    """Return the analogies of a setting; ``categories`` may be filled as they are read.

    Candidates are a file's terms, one a line, the data set's own terms, or the encoder's vocabulary.
    """
    setting, source = builder.options["setting"], builder.options["candidates"]
    analogies = {item: analogy.under(setting) for item, analogy in found}
    candidates: tuple[str, ...] | None = None
    if source == "file":
        file = builder.require(candidate_file)
        listed = [clean_text(line) for _, line in builder.filled_lines(file)]
        candidates = tuple(dict.fromkeys(listed))
        if len(candidates) < len(listed):
            builder.notes.append(f"{len(listed) - len(candidates)} repeated candidate(s) of {file.name} count once")
    elif source == "terms":
        terms = ((each.a, *each.b, each.c, *each.d) for each in analogies.values())
        candidates = tuple(dict.fromkeys(chain.from_iterable(terms)))
    if not analogies:
        raise builder.unreadable(f"no readable analogy in {builder.folder}")
    split = Split(
        ids=tuple(analogies),
        texts=tuple(analogy.a for analogy in analogies.values()),
        texts2=tuple(analogy.c for analogy in analogies.values()),
        groups=tuple(analogy.relation for analogy in analogies.values()),
    )
    return AnalogyDataset(
        **builder.facts(), splits={"all": split}, analogies=analogies, candidates=candidates, categories=categories
    )


def parse_terms(field: str) -> tuple[str, ...] | None:
    """Return the strings of a field ``CUI:"string",CUI:"string"``, or None where it is something else.

    Strings may hold colons, commas and quotes: an entry ends only at a quote before the next entry or the field's end.
    """
    found, at = [], 0
    while at < len(field):
        match = _ENTRY.match(field, at)
        text = "" if match is None else clean_text(match[1] if match[1] is not None else match[2])
        if match is None or not text:
            return None
        found.append(text)
        at = match.end()
    return tuple(found) or None


def category_of(relation: str) -> str:
    """Return the paper's category (Lab/Rx, Clinical, ...) of a relation that its Table 2 names, else an empty string."""
    name = re.sub(r"[\W_]+", "-", relation.rpartition(":")[2].strip()).strip("-").casefold()
    return next((category for category, relations in _CATEGORIES.items() if name in relations), "")


def read_bmass(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read BMASS's file of the chosen setting; where only All-Info's is there, it serves for all."""
    unigrams = "unigrams_" if builder.options["terms"] == "unigrams" else ""
    setting = builder.options["setting"]
    wanted, complete = f"BMASS_{unigrams}{setting.replace('-', '_')}.txt", f"BMASS_{unigrams}all_info.txt"
    if builder.find(wanted) is None and builder.find(complete) is not None:
        builder.notes.append(f"{wanted} is absent; {complete} was read, which holds all that {setting} needs")
    file = builder.require(wanted, complete)
    relation = ""
    for number, line in builder.filled_lines(file):
        if line.startswith("#"):
            relation = clean_text(line[1:])
            categories[relation] = category_of(relation)
            continue
        fields = line.split("\t")
        terms = [parse_terms(field) or () for field in fields]
        bad = [name for name, parsed in zip("abcd", terms, strict=False) if not parsed]
        if len(fields) != 4:
            builder.reject(file, number, f"{len(fields)} tab-separated field(s) where a, b, c and d are expected")
        elif not relation:
            builder.reject(file, number, "an analogy before the first '# relation' line")
        elif bad:
            builder.reject(file, number, f'field {", ".join(bad)} is not CUI:"string" or a comma-separated list of them')
        elif len(terms[0]) > 1 or len(terms[2]) > 1:
            builder.reject(file, number, "a and c must be one term each")
        else:
            (a,), b, (c,), d = terms
            yield f"{file.name}:{number}", Analogy(relation, a, b, c, d)


def read_google(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read ``: section`` lines followed by four words a line; sections named gram... are syntactic, the others semantic."""
    file = builder.require("questions-words.txt", "*questions-words*.txt")
    section = ""
    for number, line in builder.filled_lines(file):
        words = line.split()
        if words[0].startswith(":"):
            section = line.strip().lstrip(":").strip()
            categories[section] = "syntactic" if section.startswith("gram") else "semantic"
        elif len(words) != 4:
            builder.reject(file, number, f"{len(words)} word(s) where four are expected")
        elif not section:
            builder.reject(file, number, "an analogy before the first ': section' line")
        else:
            a, b, c, d = words
            yield f"{file.name}:{number}", Analogy(section, a, (b,), c, (d,))


def read_msr(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read MSR's files: ``a b c`` a line, and on the same line of the other file ``RELATION d``."""
    file = builder.require("*.questions")
    answers = [line for _, line in builder.lines(builder.require("*.answers"))]
    for number, line in builder.filled_lines(file):
        if number > len(answers):
            builder.reject(file, number, "no line of that number in the file of answers")
            continue
        words = [*line.split(), *answers[number - 1].split()]
        if len(words) != 5:
            builder.reject(file, number, f"{len(words)} word(s) where a b c RELATION d are expected: {line.strip()[:60]!r}")
            continue
        a, b, c, relation, d = words
        categories[relation] = _PARTS_OF_SPEECH.get(relation[:1], "")
        yield f"{file.name}:{number}", Analogy(relation, a, (b,), c, (d,))


def read_bats(builder: DatasetBuilder, categories: dict[str, str]) -> Iterator[tuple[str, Analogy]]:
    """Read BATS: a folder a category, a file a relation, ``word TAB answer/...`` a line; every two lines of a file combine."""
    files = sorted(path for path in builder.folder.rglob("*.txt") if re.match(r"[A-Z]\d+ ", path.name))
    if not files:
        raise DataMissingError(
            f"BATS: {builder.folder} holds no relation file such as '1_Inflectional_morphology/I01 [noun - plural_reg].txt'"
        )
    for file in files:
        folder = "" if file.parent == builder.folder else file.parent.name
        categories[file.stem] = re.sub(r"^\d+_", "", folder).replace("_", " ")
        pairs = []
        for number, line in builder.filled_lines(file):
            fields = [field.strip() for field in (line.split("\t") if "\t" in line else line.split())]
            listed = fields[1].split("/") if len(fields) == 2 else []
            objects = tuple(dict.fromkeys(word.strip() for word in listed if word.strip()))
            if fields[0] and objects:
                pairs.append((number, fields[0], objects))
            else:
                builder.reject(file, number, f"expected 'word TAB answer/answer/...', got {line.strip()[:60]!r}")
        for i, a, b in pairs:
            for j, c, d in pairs:
                if i != j:
                    yield f"{file.name}:{i}:{j}", Analogy(file.stem, a, b, c, d)

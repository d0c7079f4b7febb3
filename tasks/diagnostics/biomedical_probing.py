"""Biomedical probing tasks: which properties of a biomedical sentence can be read off its vector?

SentEval's probing tasks are built from books; these are built from any text in PubMed20K's format, which is
what the paper wished for as future work (Tawfik and Spruit 2020). Sentences come from PubMed20K's own folder, or from a folder
``bio-probing`` with train.txt, dev.txt and test.txt and headings of any kind. Each property is read off the text without a
parser, from tokens split at blanks, as PubMed20K has them; a sentence that does not show it clearly is left out.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from medsenteval.contracts import Task
from medsenteval.errors import DataError
from medsenteval.tasks.diagnostics.items import LISTS
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.reading.task_facts import file_task
from medsenteval.tasks.sentence import pubmed20k

#: File, line and text.
_Sentence = tuple[Path, int, str]
_SEED: Final = 1111
_SHORTEST: Final = 5
#: At most so many sentences of a split: what SentEval's own probing tasks have.
_MOST_ROWS: Final = {"train": 100_000, "dev": 10_000, "test": 10_000}
#: From a sentence to (its class, the sentence to encode), or None where the property is not clear.
Rule = Callable[[str], "tuple[str, str] | None"]

_LENGTH_BINS: Final = 6
_MOST_TERMS: Final = 50
_FEWEST_SENTENCES: Final = 10
_PAST: Final = frozenset(LISTS.past_auxiliaries)
_PRESENT: Final = frozenset(LISTS.present_auxiliaries)
_NUMBER: Final = re.compile(rf"\d|@|\b(?:{'|'.join(LISTS.number_words)})\b", re.IGNORECASE)
_ABBREVIATION: Final = re.compile(r"\b(?=\w*[A-Z]\w*[A-Z])[A-Za-z]*[A-Z][A-Za-z0-9]*\b")
_MEDICAL: Final = re.compile(rf".{{2,}}(?:{'|'.join(LISTS.medical_endings)})s?$")
_KNOWN_TERMS: Final = frozenset(
    word for name in (*LISTS.indications, *LISTS.abbreviations.values()) for word in name.split() if len(word) > 4
)


def _sentences(builder: DatasetBuilder, name: str) -> list[_Sentence]:
    """Return the distinct sentences of a split with their places; headings of any kind are passed over."""
    file = builder.require(f"PubMed_20k_RCT/{name}.txt", f"{name}.txt")
    found: dict[str, _Sentence] = {}
    for number, line in builder.filled_lines(file):
        if line.startswith("###"):
            continue
        _, tab, text = line.partition("\t")
        if not tab:
            builder.reject(file, number, "expected HEADING, a tab and the sentence")
        elif len(text.split()) >= _SHORTEST:
            found.setdefault(text.strip(), (file, number, text.strip()))
    return list(found.values())


def _make_task(name: str, asked: str, make_rule: Callable[[list[str]], Rule]) -> Task:
    def read(builder: DatasetBuilder) -> None:
        """Label the sentences by the rule, classes as even as the sentences allow; classes are those of train."""
        sentences = {part: _sentences(builder, part) for part in _MOST_ROWS}
        rule = make_rule([text for _, _, text in sentences["train"]])
        collected: dict[str, dict[str, list[_Sentence]]] = {part: defaultdict(list) for part in sentences}
        for part, rows in sentences.items():
            for file, number, text in rows:
                if (outcome := rule(text)) is not None:
                    collected[part][outcome[0]].append((file, number, outcome[1]))
        builder.labels = tuple(sorted(collected["train"]))
        if len(builder.labels) < 2:
            raise DataError(
                f"{name}: the sentences of {builder.folder} show {len(builder.labels)} class(es) of '{asked}'; at least two "
                "are needed, so give it more text"
            )
        for part, by_class in collected.items():
            split = builder.split(part)
            for label, (file, number, text) in _evened(by_class, builder.labels, _MOST_ROWS[part]):
                split.add(file, number, text, label=label)

    return file_task(
        "diagnostics",
        "probing",
        read,
        name=name,
        folders=("bio-probing", *pubmed20k.TASK.folders),
        citation="made by this toolkit from the given text, in the manner of Conneau et al. 2018; PubMed20K: "
        f"{pubmed20k.TASK.citation}",
        licence=pubmed20k.TASK.licence,
        access=pubmed20k.TASK.access,
        obtain=f"{pubmed20k.TASK.obtain}; or put any text in that format into bio-probing/",
    )


def _evened(by_class: Mapping[str, list[_Sentence]], labels: tuple[str, ...], most: int) -> list[tuple[str, _Sentence]]:
    """Take equally many rows of two classes, of several at most three times those of the smallest, in file order.

    Many classes of words would lose most of their rows if the rarest word set the number.
    """
    rng = np.random.default_rng(_SEED)
    sizes = [len(by_class[label]) for label in labels if by_class.get(label)]
    limit = min((1 if len(labels) == 2 else 3) * min(sizes), most // len(labels)) if sizes else 0
    chosen = []
    for label in labels:
        rows = by_class.get(label, [])
        kept = rows if len(rows) <= limit else [rows[i] for i in np.sort(rng.permutation(len(rows))[:limit])]
        chosen += [(label, row) for row in kept]
    return sorted(chosen, key=lambda item: item[1][1])


def length_rule(sentences: Sequence[str]) -> Rule:
    """Return the rule that puts a sentence into one of six bins of length, equally full in these sentences."""
    lengths = [len(sentence.split()) for sentence in sentences]
    limits = np.unique(np.quantile(lengths, np.arange(1, _LENGTH_BINS) / _LENGTH_BINS, method="lower"))
    ends = ["", *map(str, limits.astype(int))]
    names = [f"{int(low or -1) + 1}-{high}" for low, high in pairwise(ends)] + [f"over {ends[-1]}"]

    def rule(sentence: str) -> tuple[str, str]:
        place = int(np.searchsorted(limits, len(sentence.split())))
        return f"{place}: {names[place]} words", sentence

    return rule


def is_medical(word: str) -> bool:
    """Say whether a lower-case word looks like a medical term: by its ending, or because our lists hold it."""
    return word in _KNOWN_TERMS or _MEDICAL.match(word) is not None


def word_rule(sentences: Iterable[str]) -> Rule:
    """Return the rule that asks which one of the (at most 50) most frequent medical terms is in a sentence."""
    counts = Counter(word for sentence in sentences for word in set(_words(sentence)) if is_medical(word))
    # By name where counts are equal, so that the order of the sentences changes nothing.
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    terms = frozenset(word for word, count in ranked[:_MOST_TERMS] if count >= _FEWEST_SENTENCES)

    def rule(sentence: str) -> tuple[str, str] | None:
        found = terms.intersection(_words(sentence))
        return (next(iter(found)), sentence) if len(found) == 1 else None

    return rule


def _words(sentence: str) -> list[str]:
    return re.findall(r"[a-z]+", sentence.lower())


def shift_rule(seed: int) -> Rule:
    """Return the rule that swaps two neighbouring words in every second sentence, and asks where that was done."""

    def rule(sentence: str) -> tuple[str, str] | None:
        words = sentence.split()
        alphabetic = [word.isalpha() for word in words]
        places = [i for i in range(1, len(words) - 2) if alphabetic[i] and alphabetic[i + 1] and words[i] != words[i + 1]]
        if not places:
            return None
        # Drawn from the sentence itself, so that its fate does not depend on the others.
        rng = random.Random(f"{seed} {sentence}")
        shifted, place = rng.random() < 0.5, rng.choice(places)
        if not shifted:
            return "original", sentence
        words[place], words[place + 1] = words[place + 1], words[place]
        return "shifted", " ".join(words)

    return rule


def tense(sentence: str) -> tuple[str, str] | None:
    """Tell the past from the present by auxiliary verbs; a sentence with both or neither is left out."""
    words = set(_words(sentence))
    past, present = bool(words & _PAST), bool(words & _PRESENT)
    return None if past == present else ("past" if past else "present", sentence)


def _contains(pattern: re.Pattern[str], what: str) -> Rule:
    """Return the rule that says whether a pattern is found in a sentence."""
    return lambda sentence: (what if pattern.search(sentence) else f"no {what}", sentence)


#: Numbers stand in digits, for which PubMed20K may have @, or in words; an abbreviation has two capitals or more.
has_number: Final = _contains(_NUMBER, "number")
has_abbreviation: Final = _contains(_ABBREVIATION, "abbreviation")
#: Task -> what is asked of a sentence, and the rule that answers it, made from the training sentences.
_PROPERTIES: Final[Mapping[str, tuple[str, Callable[[list[str]], Rule]]]] = {
    "BioLength": ("how long is it?", length_rule),
    "BioWordContent": ("which medical term is in it?", word_rule),
    "BioBigramShift": ("were two words swapped?", lambda _: shift_rule(_SEED)),
    "BioTense": ("is it in the past or in the present?", lambda _: tense),
    "BioNumbers": ("is there a number in it?", lambda _: has_number),
    "BioAbbreviation": ("is there an abbreviation in it?", lambda _: has_abbreviation),
}
TASKS: Final = {name: _make_task(name, *asked) for name, asked in _PROPERTIES.items()}

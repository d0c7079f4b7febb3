"""Properties of a biomedical sentence that can be read off its text without a parser, as labels for probing tasks.

Each rule either names a class or says None: the sentence does not show the property clearly, and is left out. Tokens are those
of the text, split at blanks, as PubMed20K has them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from medsenteval.tasks.diagnostics.items import LISTS

#: From a sentence to (its class, the sentence to encode), or None where the property is not clear.
Rule = Callable[[str], "tuple[str, str] | None"]

_LENGTH_BINS: Final = 6
_MOST_TERMS: Final = 50
_FEWEST_SENTENCES: Final = 10
_PAST: Final = frozenset(("was", "were", "had", "did"))
_PRESENT: Final = frozenset(("is", "are", "has", "have", "does", "do"))
_NUMBER: Final = re.compile(
    r"\d|@|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|half|"
    r"twice|once|double)\b",
    re.IGNORECASE,
)
_ABBREVIATION: Final = re.compile(r"\b(?=\w*[A-Z]\w*[A-Z])[A-Za-z]*[A-Z][A-Za-z0-9]*\b")
#: Endings of words that medicine took from Greek and Latin, or gives to its drugs.
_MEDICAL: Final = re.compile(
    r".{2,}(?:itis|osis|emia|aemia|uria|oma|pathy|algia|ectomy|otomy|plasty|scopy|graphy|penia|plegia|trophy|philia|rrhea|"
    r"cardia|sclerosis|statin|pril|sartan|olol|azole|mycin|cillin|vir|mab|tinib|cycline|oxacin|prazole|triptan|gliptin)s?$"
)
_KNOWN_TERMS: Final = frozenset(
    word for name in (*LISTS.indications, *LISTS.abbreviations.values()) for word in name.split() if len(word) > 4
)


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


def has_number(sentence: str) -> tuple[str, str]:
    """Say whether a sentence holds a number, in digits (PubMed20K may have @ for them) or in words."""
    return ("number" if _NUMBER.search(sentence) else "no number"), sentence


def has_abbreviation(sentence: str) -> tuple[str, str]:
    """Say whether a sentence holds an abbreviation: a word with two capitals or more."""
    return ("abbreviation" if _ABBREVIATION.search(sentence) else "no abbreviation"), sentence

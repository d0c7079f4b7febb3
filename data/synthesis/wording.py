"""How a template becomes a sentence: alternatives, slots, names and numbers, all drawn from one seeded source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, TypeVar

from .vocabulary import Concept

__all__ = ["Scene", "Writer", "tokenise"]

Choice = TypeVar("Choice")

#: What the slots of a template stand for; a concept is named anew each time, a string is taken as it is.
Scene = Mapping[str, Concept | str]

_ALTERNATIVES: Final = re.compile(r"\[([^\[\]]*)\]")
_SLOT: Final = re.compile(r"\{(\w+)\}")
_PUNCTUATION: Final = re.compile(r"([,;:()%=<>≥≤±/?!]|\.(?=\s|$)|(?<=\s)\|)")
_BLANKS: Final = re.compile(r" {2,}")
_LOOSE_PUNCTUATION: Final = re.compile(r" +(?=[.,;?!)])")
_WRONG_ARTICLE: Final = re.compile(r"\b([Aa]) (?=8\d\b|18\b)")


class Writer:
    """A source of wording for one data set; its stream depends on the seed and the data set's name only.

    Only choice-like methods of ``random.Random`` are used, because they give the same draws on every Python version.
    """

    def __init__(self, seed: int, name: str) -> None:
        self._random = Random(f"{seed}/{name}")

    def pick(self, options: Sequence[Choice]) -> Choice:
        """Return one of the options, all equally likely."""
        return options[self._random.randrange(len(options))]

    def pick_skewed(self, options: Sequence[Choice]) -> Choice:
        """Return one of the options, early ones more often, so that rare wording exists and stays rare."""
        return options[int(len(options) * self._random.random() ** 1.7)]

    def pick_other(self, options: Sequence[Choice], *avoided: Choice) -> Choice:
        """Return one of the options that is none of the avoided ones."""
        return self.pick([option for option in options if option not in avoided])

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability

    def number(self, low: int, high: int) -> int:
        """Return an integer between low and high, both included."""
        return low + self._random.randrange(high - low + 1)

    def jitter(self, width: float) -> float:
        """Return a number between -width and width, most often near 0."""
        return (self._random.random() + self._random.random() - 1.0) * width

    def shuffled(self, items: Sequence[Choice]) -> list[Choice]:
        """Return the items in a new order."""
        rest = list(items)
        self._random.shuffle(rest)
        return rest

    def identifier(self, digits: int, alphabet: str = "0123456789abcdef") -> str:
        """Return a random identifier."""
        return "".join(self.pick(alphabet) for _ in range(digits))

    def name(self, concept: Concept, plain: float = 0.0, avoid: str = "") -> str:
        """Return a name of the concept, a patient's word with the given probability, another one than ``avoid``."""
        if concept.plain and self.chance(plain):
            return self.pick(concept.plain)
        names = [name for name in concept.formal if name != avoid]
        return self.pick_skewed(names or concept.formal)

    def write(self, template: str, scene: Scene, plain: float = 0.0) -> str:
        """Return the sentence that a template gives in a scene, beginning with a capital, save before Greek letters."""
        text = self.phrase(template, scene, plain)
        return text[:1].upper() + text[1:] if text[:1].isascii() else text

    def phrase(self, template: str, scene: Scene, plain: float = 0.0) -> str:
        """Return the words that a template gives in a scene.

        ``[a|b|]`` stands for one of its alternatives, ``{slot}`` for what the scene has, or a number or measure.
        """
        while _ALTERNATIVES.search(template):
            template = _ALTERNATIVES.sub(lambda match: self.pick_skewed(match[1].split("|")), template)
        text = _SLOT.sub(lambda match: self._slot(match[1], scene, plain), template)
        text = _LOOSE_PUNCTUATION.sub("", _BLANKS.sub(" ", text)).strip(" ,")
        return _WRONG_ARTICLE.sub(r"\1n ", text)

    def _slot(self, slot: str, scene: Scene, plain: float) -> str:
        if slot in scene:
            value = scene[slot]
            return value if isinstance(value, str) else self.name(value, plain)
        return self._measure(slot)

    def _measure(self, slot: str) -> str:
        """Return a number for the slots that any template may use; an unknown slot is a KeyError."""
        measures = {
            "n": lambda: str(self.number(18, 640)),
            "few": lambda: str(self.number(2, 9)),
            "pct": lambda: f"{self.number(3, 88)}.{self.number(0, 9)}",
            "p": lambda: self.pick(["p < 0.001", "p = 0.03", "p = 0.004", "p < 0.05", "p = 0.012"]),
            "ns": lambda: self.pick(["p = 0.41", "p = 0.73", "p = 0.09", "p > 0.05", "p = 0.58"]),
            "ratio": lambda: f"{self.number(0, 2)}.{self.number(10, 98)}",
            "weeks": lambda: self.pick(["4 weeks", "8 weeks", "12 weeks", "6 months", "24 months", "one year"]),
            "mg": lambda: self.pick(["5 mg", "10 mg", "25 mg", "50 mg", "100 mg", "250 mg", "500 mg", "75 µg", "0.5 mg/kg"]),
            "age": lambda: str(self.number(19, 91)),
            "year": lambda: str(self.number(1996, 2016)),
        }
        return measures[slot]()


def tokenise(text: str) -> str:
    """Set punctuation apart with blanks, as the tokenised distributions have it."""
    return " ".join(_PUNCTUATION.sub(r" \1 ", text).split())

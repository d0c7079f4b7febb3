"""An analogy data set: relations of analogies a : b... is to c : d..., and the terms that may be guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Final

from medsenteval.contracts import Dataset, Encoder, Split
from medsenteval.errors import EncoderError
from medsenteval.support.files import clean_text
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, hash_texts

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

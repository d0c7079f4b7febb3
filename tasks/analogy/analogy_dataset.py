"""An analogy data set: relations of analogies a : b... is to c : d..., and the terms that may be guessed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from medsenteval.contracts import Dataset, Encoder, Split
from medsenteval.errors import DataError, EncoderError
from medsenteval.support.files import clean_text
from medsenteval.tasks.reading.builder import DatasetBuilder

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
        digest = hashlib.sha256()

        def feed(*texts: str) -> None:
            for text in (str(len(texts)), *texts):
                encoded = text.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "little") + encoded)

        for item, analogy in self.chosen():
            feed(item, analogy.relation, analogy.a, analogy.c)
            feed(*analogy.b)
            feed(*analogy.d)
        feed(*(f"{relation}={category}" for relation, category in self.categories.items()))
        feed(*(("the encoder's vocabulary",) if self.candidates is None else self.candidates))
        return digest.hexdigest()


class AnalogyBuilder(DatasetBuilder):
    """Collects analogies while files are read; a line is read whole or rejected."""

    def __init__(self, name: str, folder: Path, options: Mapping[str, str]) -> None:
        super().__init__(name, folder, options=options)
        self.options = dict(options)
        self.categories: dict[str, str] = {}
        self._analogies: dict[str, Analogy] = {}
        self._found: tuple[str, ...] | None = None
        self._split = self.split("all")

    def __len__(self) -> int:
        return len(self._analogies)

    def reject(self, file: Path, line: int | None, reason: str) -> None:
        self._split.reject(file, line, reason)

    def add(self, item: str, analogy: Analogy) -> None:
        """Add one analogy; what the setting hides is left out here already."""
        self._analogies[item] = analogy.under(self.options["setting"])

    def read_candidates(self, *names: str) -> None:
        """Decide on the candidates: a file with one term a line, the data set's own terms, or the encoder's vocabulary."""
        source = self.options["candidates"]
        if source == "file":
            file = self.require(*names)
            terms = (clean_text(line) for _, line in self.lines(file))
            listed = [term for term in terms if term]
            self._found = tuple(dict.fromkeys(listed))
            if len(self._found) < len(listed):
                self.notes.append(f"{len(listed) - len(self._found)} repeated candidate(s) of {file.name} count once")
        elif source == "terms":
            analogies = self._analogies.values()
            terms_of = ((each.a, *each.b, each.c, *each.d) for each in analogies)
            self._found = tuple(dict.fromkeys(term for terms in terms_of for term in terms))

    def build(self) -> AnalogyDataset:
        if not self._analogies:
            first = f"; the first rejected: {self.rejected[0]}" if self.rejected else ""
            raise DataError(f"{self.name}: no readable analogy in {self.folder}{first}")
        values = list(self._analogies.values())
        split = Split(
            ids=tuple(self._analogies),
            texts=tuple(analogy.a for analogy in values),
            texts2=tuple(analogy.c for analogy in values),
            groups=tuple(analogy.relation for analogy in values),
        )
        return AnalogyDataset(
            name=self.name,
            splits={"all": split},
            files=tuple(str(file.relative_to(self.folder)) for file in self._files),
            options=self.options,
            rejected=tuple(self.rejected),
            notes=tuple(self.notes),
            analogies=self._analogies,
            candidates=self._found,
            categories=self.categories,
        )

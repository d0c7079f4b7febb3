"""Sentences of tokens and tags as a data set: what is encoded are the distinct words, not the sentences."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, Split
from medsenteval.words.tagging.tag_schemes import Tags

_NUMBER: Final = re.compile(r"[+-]?(?:[.,]?[0-9])+")


def digits_as_zero(token: str) -> str:
    """Return the form under which a word unknown as it stands is looked up last: in lower case, its numbers as 0."""
    return _NUMBER.sub("0", token.lower())


@dataclass(frozen=True, eq=False)
class TaggedSentences(Split):
    """Sentences of words, joined by blanks in ``texts``, and the IOBES tag number of each word."""

    tags: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.tags) != len(self.ids):
            raise ValueError(f"{len(self.ids)} sentences and {len(self.tags)} lists of tags")
        for name, tokens, tags in zip(self.ids, self.tokens, self.tags, strict=True):
            if len(tokens) != len(tags) or not tokens:
                raise ValueError(f"sentence {name} has {len(tokens)} tokens and {len(tags)} tags")

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> TaggedSentences:
        return TaggedSentences(**vars(super().take(rows)), tags=tuple(self.tags[i] for i in rows))

    @cached_property
    def tokens(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(text.split()) for text in self.texts)

    def all_texts(self) -> Iterator[str]:
        """Yield each distinct word once, and the form under which it is looked up if it is unknown."""
        words = dict.fromkeys(chain.from_iterable(self.tokens))
        yield from words
        yield from {form: None for word in words if (form := digits_as_zero(word)) not in words}

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Where each sentence begins in the words of all sentences, and where the last one ends."""
        return np.concatenate([[0], np.cumsum([len(tokens) for tokens in self.tokens])]).astype(np.intp)

    @property
    def all_tokens(self) -> list[str]:
        return list(chain.from_iterable(self.tokens))

    @property
    def all_tags(self) -> Tags:
        return np.fromiter(chain.from_iterable(self.tags), dtype=np.int16)


@dataclass(frozen=True, eq=False)
class TaggedDataset(Dataset):
    """A corpus of tagged sentences; ``label_names`` are the types of its entities."""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that can change a score: types, tokens and tags, their order and their splits."""
        digest = hashlib.sha256(super().fingerprint.encode())
        for split in self.tagged.values():
            digest.update(split.offsets.astype("<i8").tobytes())
            digest.update(split.all_tags.astype("<i2").tobytes())
        return digest.hexdigest()

    @property
    def tagged(self) -> dict[str, TaggedSentences]:
        return {name: split for name, split in self.splits.items() if isinstance(split, TaggedSentences)}

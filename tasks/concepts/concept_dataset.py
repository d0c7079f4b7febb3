"""A concept normalisation data set: queries with the concepts that they mean, and a dictionary of names to find them by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from medsenteval.contracts import Dataset, Split
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder, hash_texts


@dataclass(frozen=True)
class Query:
    """What is looked up: the ``parts`` of a composite mention, which all have to be found, and the ``concepts`` they may mean.

    ``left_out`` is the row of the dictionary that this query may not find, or -1. Scores are broken down by ``traits``.
    """

    parts: tuple[str, ...]
    concepts: tuple[str, ...]
    left_out: int = -1
    traits: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ConceptDataset(Dataset):
    """Queries by their ids, the names of the dictionary, and the concepts that each name stands for."""

    queries: Mapping[str, Query] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    concepts: tuple[tuple[str, ...], ...] = ()

    def chosen(self) -> Iterator[tuple[str, Query]]:
        """Yield the queries that a limit has left, with their ids."""
        for split in self.splits.values():
            for item in split.ids:
                yield item, self.queries[item]

    def all_texts(self) -> Iterator[str]:
        for _, query in self.chosen():
            yield from query.parts
        yield from self.names

    @cached_property
    def fingerprint(self) -> str:
        queries = (f"{item}\t{'|'.join(query.concepts)}\t{query.left_out}" for item, query in self.chosen())
        parts = ("\t".join(query.parts) for _, query in self.chosen())
        return hash_texts([*queries, *parts, dictionary_hash(self.names, self.concepts)])


def dictionary_hash(names: Sequence[str], concepts: Sequence[tuple[str, ...]]) -> str:
    """Return a hash of all names with their concepts, in order: scores against another dictionary do not compare."""
    return hash_texts(f"{name}\t{'|'.join(ids)}" for name, ids in zip(names, concepts, strict=True))


def concept_dataset(
    builder: DatasetBuilder, queries: Mapping[str, Query], dictionary: Mapping[str, Sequence[str]]
) -> ConceptDataset:
    """Return a data set whose dictionary maps each name to the concepts that it stands for."""
    if not queries or not dictionary:
        raise builder.unreadable(f"{len(queries):,} queries and {len(dictionary):,} names in {builder.folder}")
    names, concepts = tuple(dictionary), tuple(map(tuple, dictionary.values()))
    split = Split(
        ids=tuple(queries),
        texts=tuple(" | ".join(query.parts) for query in queries.values()),
        groups=tuple(query.concepts[0] for query in queries.values()),
    )
    known = {concept for ids in concepts for concept in ids}
    lost = sum(not known.intersection(query.concepts) for query in queries.values())
    said = [f"{lost:,} of {len(queries):,} queries mean a concept that the dictionary does not have"] if lost else []
    builder.notes = [f"{len(names):,} names of {len(known):,} concepts in the dictionary", *said, *builder.notes]
    builder.options["dictionary-hash"] = dictionary_hash(names, concepts)[:12]
    return ConceptDataset(**builder.facts(), splits={"all": split}, queries=queries, names=names, concepts=concepts)

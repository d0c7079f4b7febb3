"""Corpora of tagged tokens: cambridgeltl's MTL-Bioinformatics-2016, other files of a token a line, and tables.

What is encoded are the distinct words, not the sentences.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medsenteval.contracts import Dataset, RejectedRow, Split
from medsenteval.errors import DataError
from medsenteval.support.tables import BLANK, ENDINGS, Table, ending_of
from medsenteval.tasks.reading.column_roles import Columns, infer_columns
from medsenteval.tasks.reading.copies import fitting_tables, name_splits, split_of
from medsenteval.tasks.reading.row_acceptance import DatasetBuilder
from medsenteval.tasks.similarity import concatenate_splits
from medsenteval.words.tagging.tag_schemes import SCHEMES, TagError, Tags, parse_tags

#: The numbered lines of sentences, token TAB tag.
Blocks = list[list[tuple[int, str]]]

#: Find out each file's tag scheme.
AUTO: Final = "auto"
_DOCUMENT_MARK: Final = "-DOCSTART-"
#: Splits as their files may be called -> as they are called here.
_SPLITS: Final = {"train": "train", "dev": "devel", "test": "test"}
#: What files of a token a line end in.
_TOKEN_FILES: Final = ("tsv", "txt", "conll", "iob", "iob2", "bio")

#: The choices of every corpus, the default first; docs/ner.md explains them.
OPTIONS: Final = {
    "preset": ("paper", "repo"),
    "vectors": ("preset", "frozen", "tuned"),
    "scale": ("raw", "unit"),
    "training": ("train", "train+devel"),
    "scheme": (AUTO, *SCHEMES),
}


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

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """Where each sentence begins in the words of all sentences, and where the last one ends."""
        return np.concatenate([[0], np.cumsum([len(tokens) for tokens in self.tokens])]).astype(np.intp)

    @cached_property
    def all_tokens(self) -> list[str]:
        return list(chain.from_iterable(self.tokens))

    @cached_property
    def all_tags(self) -> Tags:
        return np.fromiter(chain.from_iterable(self.tags), dtype=np.int16)


@dataclass(frozen=True, eq=False)
class TaggedDataset(Dataset):
    """A corpus of tagged sentences; ``label_names`` are the types of its entities."""

    splits: Mapping[str, TaggedSentences]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that can change a score: types, tokens and tags, their order and their splits."""
        digest = hashlib.sha256(super().fingerprint.encode())
        for split in self.splits.values():
            digest.update(split.offsets.astype("<i8").tobytes())
            digest.update(split.all_tags.astype("<i2").tobytes())
        return digest.hexdigest()


def read_corpus(builder: DatasetBuilder) -> Dataset:
    """Read the train, devel and test files; a sentence with a line that is not a token and its tag is rejected whole.

    Text files have a token a line, its tag in the last of two or more columns that tabs or blanks part; tables have a column of
    tokens and one of tags (the model hub's copies).
    """
    found: dict[str, list[TaggedSentences]] = {split: [] for split in _SPLITS.values()}
    for split, file, blocks in _read_files(builder):
        found[split].append(parse_sentences(builder, file, blocks, builder.options["scheme"]))
    return TaggedDataset(**builder.facts(), splits={split: concatenate_splits(parts) for split, parts in found.items()})


def _read_files(builder: DatasetBuilder) -> Iterator[tuple[str, Path, Blocks]]:
    """Yield split and sentences of each file: of the repository's files, of others of tokens, or of tables."""
    official = [f"{split}.tsv" for split in _SPLITS.values()]
    tables: dict[Path, tuple[Table, Columns]] = {}
    reasons: list[str] = []
    if all(map(builder.find, official)):
        named = list(zip(_SPLITS, map(builder.require, official), strict=True))
    else:
        tables, reasons = fitting_tables(builder.folder, _tagged_columns, ENDINGS.keys() - set(_TOKEN_FILES))
        files = [each for each in sorted(builder.folder.rglob("*")) if ending_of(each) in _TOKEN_FILES and each.is_file()]
        named = name_splits(builder.folder, [*files, *tables]) if files or tables else []
    if lacking := [part for part in _SPLITS if part not in dict(named)]:
        reasons += [f"no file of tokens is named {part}" for part in lacking if named]
        raise builder.missing(*(name for name in official if not builder.find(name)), reasons=reasons)
    for part, file in named:
        if file in tables:
            table, columns = tables[builder.opened(file)]
            builder.notes += table.notes
            blocks = table_sentences(part, table, columns, builder.rejected).get(part, [])
        else:
            blocks = list(_blocks(builder, file))
        yield _SPLITS[part], file, blocks


def _tagged_columns(table: Table) -> tuple[Table, Columns]:
    """Find the columns of tokens and of tags, and leave the others alone."""
    with suppress(DataError):  # said below in other words: a data set has no options that name its columns
        columns = infer_columns(table.name, table.columns, {"split": "", "label": "", "sentence": ""})
        if columns.kind == "tagging":
            return table, columns
    raise DataError(f"{table.name} has no columns of tokens and of their tags")


def table_sentences(part: str, table: Table, columns: Columns, rejected: list[RejectedRow]) -> dict[str, Blocks]:
    """Return the sentences of a table by split (``part``, unless a column says it), as lines of token TAB tag.

    A row has a token and its tag, or the tokens and tags of a sentence.
    """
    roles = list(columns.of)
    classes = table.classes.get(columns.of["tag"], ())
    found: dict[str, Blocks] = {}
    sentence: Any = None
    name: str | None = part
    fresh, listed = True, False
    unread: list[tuple[int, str]] = []
    for number, cells in table.pick([columns.of[role] for role in roles]):
        if isinstance(cells, str):
            if cells == BLANK:
                fresh = True
                continue
            # It rejects the sentence that it stands in, and the next one too if it may have been the first line of that.
            own = found.setdefault(name or "", [])
            if fresh or listed or not own:
                own.append([])
            own[-1].append((number, cells))
            fresh, unread = False, [(number, cells)]
            continue
        row = dict(zip(roles, cells, strict=True))
        name = part if "split" not in row else split_of(str(row["split"]))
        if name is None:
            raise DataError(f"{table.name}: row {number}: column {columns.of['split']!r}: neither train, dev nor test")
        own = found.setdefault(name, [])
        listed = isinstance(row["token"], (list, tuple))
        tokens, tags = (row[role] if listed else [row[role]] for role in ("token", "tag"))
        if not isinstance(tags, (list, tuple)) or len(tags) != len(tokens) or not tokens:
            rejected.append(RejectedRow(table.name, number, "", "tokens and tags are not as many, or none"))
            continue
        # A cell that is filled on a sentence's first row only belongs to the rows below it as well.
        if listed or fresh or row.get("sentence") not in (None, sentence) or not own:
            own.append([] if listed or fresh else unread)
        sentence, fresh, unread = row.get("sentence", sentence), False, []
        own[-1].extend((number, _tagged(token, tag, classes)) for token, tag in zip(tokens, tags, strict=True))
    return found


def _tagged(token: Any, tag: Any, classes: Sequence[str]) -> str:
    """Return token TAB tag; what is no single token leaves its place empty, so that the sentence is rejected unquoted."""
    named = classes[tag] if classes and isinstance(tag, int) and 0 <= tag < len(classes) else tag
    plain = "" if token is None or len(str(token).split()) != 1 else str(token).strip()
    return f"{plain}\t{str('' if named is None else named).strip()}"


def parse_sentences(builder: DatasetBuilder, file: Path, blocks: Blocks, scheme: str) -> TaggedSentences:
    """Read a file's sentences, numbered lines of token TAB tag, in a scheme or in that under which fewest are rejected."""
    parsed: list[Tags | RejectedRow] = []
    n_rejected = len(blocks) + 1
    for each in SCHEMES if scheme == AUTO else (scheme,):
        found = [_parse(file, lines, builder.labels, each) for lines in blocks]
        fewer = sum(isinstance(sentence, RejectedRow) for sentence in found)
        if fewer < n_rejected:
            parsed, n_rejected, scheme = found, fewer, each
        if not fewer:
            break
    builder.rejected.extend(sentence for sentence in parsed if isinstance(sentence, RejectedRow))
    if n_rejected == len(blocks):
        first = f"; the first rejected: {parsed[0]}" if blocks else "; expected lines of token TAB tag"
        raise DataError(f"{builder.name}: no readable sentence in {file}{first}")
    if scheme != SCHEMES[0]:
        builder.notes.append(f"{file.name} is read as {scheme}")
    kept = [(lines, tags) for lines, tags in zip(blocks, parsed, strict=True) if not isinstance(tags, RejectedRow)]
    return TaggedSentences(
        ids=tuple(f"{file.name}:{lines[0][0]}" for lines, _ in kept),
        texts=tuple(" ".join(line.split("\t")[0] for _, line in lines) for lines, _ in kept),
        tags=tuple(tuple(tags.tolist()) for _, tags in kept),
    )


def _parse(file: Path, lines: list[tuple[int, str]], types: tuple[str, ...], scheme: str) -> Tags | RejectedRow:
    fields = [line.split("\t") for _, line in lines]
    # Neither a token nor its tag is empty or has blanks in it.
    single = [len(parts) == 2 and all(part.split() == [part] for part in parts) for parts in fields]
    try:
        if not all(single):
            wrong = single.index(False)
            raise TagError(wrong, f"expected token TAB tag, got {lines[wrong][1][:60]!r}")
        return parse_tags([parts[1] for parts in fields], types, scheme)
    except TagError as error:
        place = f"sentence of lines {lines[0][0]}-{lines[-1][0]}"
        return RejectedRow(file.name, lines[error.position][0], place, str(error))


def _blocks(builder: DatasetBuilder, file: Path) -> Iterator[list[tuple[int, str]]]:
    """Yield the numbered lines of each sentence: what stands between blank lines and marks of a new document.

    The first line says how many columns there are, and whether tabs or blanks part them; a line of as many becomes
    token TAB tag, any other one stays as it is and rejects its sentence.
    """
    block: list[tuple[int, str]] = []
    n_marks = width = 0
    separator: str | None = "\t"
    for number, line in builder.lines(file):
        mark = line.split(maxsplit=1)[:1] == [_DOCUMENT_MARK]
        n_marks += mark
        if line.strip() and not mark:
            if not width:
                separator = "\t" if "\t" in line.strip() else None
                width = len(line.split(separator))
            fields = line.split(separator)
            block.append((number, f"{fields[0]}\t{fields[-1]}" if len(fields) == width > 1 else line))
        elif block:
            yield block
            block = []
    if block:
        yield block
    if n_marks:
        builder.notes.append(f"{n_marks} lines {_DOCUMENT_MARK} skipped in {file.name}")

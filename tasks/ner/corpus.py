"""Corpora in files of one token and its tag a line, as cambridgeltl's MTL-Bioinformatics-2016 has them, and tasks of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from medsenteval.contracts import Dataset, RejectedRow, Task
from medsenteval.errors import DataError
from medsenteval.tasks.ner.sentences import TaggedDataset, TaggedSentences
from medsenteval.tasks.ner.tagging_evaluation import evaluate_tagging
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.words.tagging.tag_schemes import SCHEMES, TagError, Tags, parse_tags

__all__ = ["AUTO", "OPTIONS", "ner_task", "parse_sentences", "read_corpus"]

#: Find out each file's tag scheme.
AUTO: Final = "auto"
_DOCUMENT_MARK: Final = "-DOCSTART-"
_REPOSITORY: Final = "the GitHub repository cambridgeltl/MTL-Bioinformatics-2016"

#: The choices of every corpus, the default first; docs/ner.md explains them.
OPTIONS: Final = {
    "preset": ("paper", "repo"),
    "vectors": ("preset", "frozen", "tuned"),
    "scale": ("raw", "unit"),
    "training": ("train", "train+devel"),
    "scheme": (AUTO, *SCHEMES),
}


def read_corpus(name: str, types: tuple[str, ...], folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read train.tsv, devel.tsv and test.tsv; a sentence with a line that is not token TAB tag is rejected whole."""
    builder = DatasetBuilder(name, folder, labels=types, options=options)
    files = {split: builder.require(f"{split}.tsv") for split in ("train", "devel", "test")}
    scheme = options.get("scheme", AUTO)
    splits = {split: parse_sentences(builder, file, list(_blocks(builder, file)), scheme) for split, file in files.items()}
    return TaggedDataset(
        name=name,
        splits=splits,
        label_names=types,
        files=tuple(str(file.relative_to(folder)) for file in files.values()),
        options=dict(options),
        rejected=tuple(builder.rejected),
        notes=tuple(builder.notes),
    )


def parse_sentences(builder: DatasetBuilder, file: Path, blocks: list[list[tuple[int, str]]], scheme: str) -> TaggedSentences:
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
    tokens = tuple(tuple(line.split("\t")[0] for _, line in lines) for lines, _ in kept)
    return TaggedSentences(
        ids=tuple(f"{file.name}:{lines[0][0]}" for lines, _ in kept),
        texts=tuple(map(" ".join, tokens)),
        tokens=tokens,
        tags=tuple(tuple(tags.tolist()) for _, tags in kept),
    )


def _parse(file: Path, lines: list[tuple[int, str]], types: tuple[str, ...], scheme: str) -> Tags | RejectedRow:
    """Return a sentence's tags, or why and where it is rejected."""
    fields = [line.split("\t") for _, line in lines]
    wrong = next((i for i, parts in enumerate(fields) if not _is_token_and_tag(parts)), None)
    try:
        if wrong is not None:
            raise TagError(wrong, f"expected token TAB tag, got {lines[wrong][1][:60]!r}")
        return parse_tags([parts[1] for parts in fields], types, scheme)
    except TagError as error:
        place = f"sentence of lines {lines[0][0]}-{lines[-1][0]}"
        return RejectedRow(file.name, lines[error.position][0], place, str(error))


def _blocks(builder: DatasetBuilder, file: Path) -> Iterator[list[tuple[int, str]]]:
    """Yield the numbered lines of each sentence: what stands between blank lines and marks of a new document."""
    block: list[tuple[int, str]] = []
    n_marks = 0
    for number, line in builder.lines(file):
        mark = line.split("\t")[0].strip() == _DOCUMENT_MARK
        n_marks += mark
        if line.strip() and not mark:
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block
    if n_marks:
        builder.notes.append(f"{n_marks} lines {_DOCUMENT_MARK} skipped in {file.name}")


def _is_token_and_tag(fields: list[str]) -> bool:
    return len(fields) == 2 and all(len(field.split()) == 1 and field == field.strip() for field in fields)


def ner_task(
    name: str,
    types: tuple[str, ...],
    *,
    folder: str,
    other_folders: tuple[str, ...],
    published_counts: Mapping[str, int],
    citation: str,
    licence: str,
    access: str = "open",
    further: str = "",
) -> Task:
    """Return the task of one corpus; ``folder`` is its name in the repository, ``further`` what is to be known about it."""
    return Task(
        name=name,
        version="1",
        family="tagging",
        protocol="window-tagger",
        uses_probe=False,
        metrics=("f1",),
        folders=(name, *other_folders),
        read=partial(read_corpus, name, types),
        evaluate=evaluate_tagging,
        labels=types,
        published_counts=published_counts,
        options=OPTIONS,
        citation=citation,
        licence=licence,
        access=access,
        obtain=f"take train.tsv, devel.tsv and test.tsv of data/{folder} in {_REPOSITORY} and put them into {name}/{further}",
    )

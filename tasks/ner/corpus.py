"""Corpora in files of one token and its tag a line, as cambridgeltl's MTL-Bioinformatics-2016 has them, and tasks of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from medsenteval.contracts import Dataset, RejectedRow, Task
from medsenteval.errors import DataError
from medsenteval.tagging.iobes import SCHEMES, IobError, parse_iob
from medsenteval.tasks.building import DatasetBuilder
from medsenteval.tasks.ner.evaluation import evaluate_tagging
from medsenteval.tasks.ner.sentences import TaggedDataset, TaggedSentences

__all__ = ["OPTIONS", "ner_task", "read_corpus"]

_DOCUMENT_MARK: Final = "-DOCSTART-"
_REPOSITORY: Final = "the GitHub repository cambridgeltl/MTL-Bioinformatics-2016"

#: The choices of every corpus, the default first; docs/ner.md explains them.
OPTIONS: Final = {
    "preset": ("paper", "repo"),
    "vectors": ("preset", "frozen", "tuned"),
    "scale": ("raw", "unit"),
    "training": ("train", "train+devel"),
    "scheme": SCHEMES,
}


def read_corpus(name: str, types: tuple[str, ...], folder: Path, options: Mapping[str, str]) -> Dataset:
    """Read train.tsv, devel.tsv and test.tsv; a sentence with a line that is not token TAB tag is rejected whole."""
    builder = DatasetBuilder(name, folder, labels=types, options=options)
    files = {split: builder.require(f"{split}.tsv") for split in ("train", "devel", "test")}
    splits = {split: _read_sentences(builder, file, options.get("scheme", SCHEMES[0])) for split, file in files.items()}
    return TaggedDataset(
        name=name,
        splits=splits,
        label_names=types,
        files=tuple(str(file.relative_to(folder)) for file in files.values()),
        options=dict(options),
        rejected=tuple(builder.rejected),
        notes=tuple(builder.notes),
    )


def _read_sentences(builder: DatasetBuilder, file: Path, scheme: str) -> TaggedSentences:
    ids, tokens, tags = [], [], []
    first_rejected = len(builder.rejected)
    for lines in _blocks(builder, file):
        number = lines[0][0]
        fields = [line.split("\t") for _, line in lines]
        wrong = next((i for i, parts in enumerate(fields) if not _is_token_and_tag(parts)), None)
        try:
            if wrong is not None:
                raise IobError(wrong, f"expected token TAB tag, got {lines[wrong][1][:60]!r}")
            numbers = parse_iob([parts[1] for parts in fields], builder.labels, scheme)
        except IobError as error:
            place = f"sentence of lines {number}-{lines[-1][0]}"
            builder.rejected.append(RejectedRow(file.name, lines[error.position][0], place, str(error)))
            continue
        ids.append(f"{file.name}:{number}")
        tokens.append(tuple(parts[0] for parts in fields))
        tags.append(tuple(numbers.tolist()))
    if not ids:
        rejected = builder.rejected[first_rejected:]
        first = f"; the first rejected: {rejected[0]}" if rejected else "; expected lines of token TAB tag"
        raise DataError(f"{builder.name}: no readable sentence in {file}{first}")
    texts = tuple(" ".join(words) for words in tokens)
    return TaggedSentences(ids=tuple(ids), texts=texts, tokens=tuple(tokens), tags=tuple(tags))


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

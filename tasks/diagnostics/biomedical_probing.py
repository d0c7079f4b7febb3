"""Biomedical probing tasks: which properties of a biomedical sentence can be read off its vector?

SentEval's probing tasks are built from books; these are built from any text in PubMed20K's format, which is
what the paper wished for as future work (Tawfik and Spruit 2020). Sentences come from PubMed20K's own folder, or from a folder
``bio-probing`` with train.txt, dev.txt and test.txt and headings of any kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from medsenteval.contracts import Dataset, Task
from medsenteval.errors import DataError
from medsenteval.tasks.classification import evaluate_classification
from medsenteval.tasks.diagnostics.properties import (
    Rule,
    has_abbreviation,
    has_number,
    length_rule,
    shift_rule,
    tense,
    word_rule,
)
from medsenteval.tasks.reading.builder import DatasetBuilder
from medsenteval.tasks.sentence import pubmed20k

#: File, line and text.
_Sentence = tuple[Path, int, str]
_SEED: Final = 1111
_SHORTEST: Final = 5
#: At most so many sentences of a split: what SentEval's own probing tasks have.
_MOST_ROWS: Final = {"train": 100_000, "dev": 10_000, "test": 10_000}


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
    def read(folder: Path, options: Mapping[str, str]) -> Dataset:
        """Label the sentences by the rule, classes as even as the sentences allow; classes are those of train."""
        builder = DatasetBuilder(name, folder)
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
                f"{name}: the sentences of {folder} show {len(builder.labels)} class(es) of '{asked}'; at least two are "
                "needed, so give it more text"
            )
        for part, by_class in collected.items():
            split = builder.split(part)
            for label, (file, number, text) in _evened(by_class, builder.labels, _MOST_ROWS[part]):
                split.add(file, number, text, label=label)
        return builder.build()

    return Task(
        name=name,
        version="1",
        family="probing",
        protocol="split",
        metrics=("acc",),
        folders=("bio-probing", *pubmed20k.TASK.folders),
        read=read,
        evaluate=evaluate_classification,
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

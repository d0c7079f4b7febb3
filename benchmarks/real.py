"""Real data sets with real word vectors as workloads: RQE, and SentEval's MR, TREC and SST2 from its own files.

A sentence is the mean of the vectors of its lower-cased words and punctuation marks; a text without a known word is a
row of zeros. RQE becomes pair features, as MedSentEval has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from synthetic import Workload

from medsenteval.datasets.locate import load_dataset
from medsenteval.probes.features import Features
from medsenteval.registry import task
from medsenteval.settings import Settings

__all__ = ["REAL"]

_WORDS: Final = re.compile(r"\w+|[^\w\s]")


@cache
def _vectors(file: Path) -> dict[str, NDArray[np.float32]]:
    vectors = {}
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            word, *numbers = line.rstrip().split(" ")
            if len(numbers) > 2:  # word2vec's text format begins with a line of two counts
                vectors[word] = np.array(numbers, dtype=np.float32)
    return vectors


def _mean_vectors(texts: Sequence[str], file: Path) -> NDArray[np.float32]:
    vectors = _vectors(file)
    rows = np.zeros((len(texts), len(next(iter(vectors.values())))), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        if known := [vectors[word] for word in _WORDS.findall(text.lower()) if word in vectors]:
            row[:] = np.mean(known, axis=0)
    return rows


def _rqe(folder: Path, vectors: Path) -> Workload:
    splits = load_dataset(task("RQE"), folder, Settings()).splits
    sizes = tuple(len(splits[name]) for name in ("train", "test"))
    first = [text for name in ("train", "test") for text in splits[name].texts]
    second = [text for name in ("train", "test") for text in splits[name].texts2 or ()]
    labels = np.concatenate([np.asarray(splits[name].labels, dtype=np.int64) for name in ("train", "test")])
    rows = np.arange(len(first))
    pairs = Features(_mean_vectors(first + second, vectors), rows, rows + len(rows))
    return Workload(pairs, labels, 2, "kfold", sizes)


def _single(texts: list[str], labels: list[str], vectors: Path, protocol: str, sizes: tuple[int, ...]) -> Workload:
    names, numbers = np.unique(labels, return_inverse=True)
    return Workload(Features.from_array(_mean_vectors(texts, vectors)), numbers.astype(np.int64), len(names), protocol, sizes)


def _lines(folder: Path, *names: str) -> list[list[str]]:
    downstream = folder / "senteval" / "data" / "downstream"
    return [(downstream / name).read_text(encoding="latin-1").rstrip("\n").split("\n") for name in names]


def _mr(folder: Path, vectors: Path) -> Workload:
    good, bad = _lines(folder, "MR/rt-polarity.pos", "MR/rt-polarity.neg")
    labels = ["good"] * len(good) + ["bad"] * len(bad)
    return _single(good + bad, labels, vectors, "nested", (len(labels),))


def _trec(folder: Path, vectors: Path) -> Workload:
    train, test = _lines(folder, "TREC/train_5500.label", "TREC/TREC_10.label")
    heads, texts = zip(*(line.split(" ", 1) for line in train + test), strict=True)
    labels = [head.partition(":")[0] for head in heads]
    return _single(list(texts), labels, vectors, "kfold", (len(train), len(test)))


def _sst2(folder: Path, vectors: Path) -> Workload:
    parts = _lines(folder, *(f"SST/binary/sentiment-{name}" for name in ("train", "dev", "test")))
    texts, labels = zip(*(line.split("\t") for part in parts for line in part), strict=True)
    return _single(list(texts), list(labels), vectors, "split", tuple(len(part) for part in parts))


REAL: Final[dict[str, Callable[[Path, Path], Workload]]] = {"rqe": _rqe, "mr": _mr, "trec": _trec, "sst2": _sst2}

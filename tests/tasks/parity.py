"""What is fed to upstream SentEval and to ours alike: two batchers, and data in the files that upstream's code reads."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.encoders.static.converted_vectors import open_vectors
from medsenteval.registry import task
from medsenteval.settings import Settings
from medsenteval.support.files import inner_text, read_xml

Batcher = Callable[[Any, list[list[str]]], NDArray[np.float32]]

#: Rows of SNLI's dev that stand in for its training file, which is too large for the folder of real data.
SNLI_TRAIN = 7_000


@cache
def hashed_words() -> Batcher:
    """Mean of 50 normal numbers for each lower-cased token, drawn from its SHA-256; one sentence is averaged once."""
    known: dict[str, NDArray[np.float32]] = {}
    rows: dict[str, NDArray[np.float32]] = {}

    def vector(token: str) -> NDArray[np.float32]:
        if token not in known:
            seed = int.from_bytes(hashlib.sha256(token.lower().encode("utf-8")).digest()[:8], "little")
            known[token] = np.random.default_rng(seed).standard_normal(50).astype(np.float32)
        return known[token]

    def row(tokens: list[str]) -> NDArray[np.float32]:
        sentence = "\t".join(tokens)
        if sentence not in rows:
            rows[sentence] = np.mean([vector(token) for token in tokens or ["."]], axis=0, dtype=np.float32)
        return rows[sentence]

    def batcher(params: Any, batch: list[list[str]]) -> NDArray[np.float32]:
        return np.stack([row(tokens) for tokens in batch])

    return batcher


def glove_words(glove: Path) -> Batcher:
    """Mean of the GloVe vectors of the tokens that are found as written, zeros where none is."""
    table = open_vectors(glove)
    row_of = {word: row for row, word in enumerate(table.row_of)}

    def batcher(params: Any, batch: list[list[str]]) -> NDArray[np.float32]:
        rows = []
        for tokens in batch:
            found = [table.matrix[row_of[token]] for token in tokens if token in row_of]
            rows.append(np.mean(found, axis=0, dtype=np.float32) if found else np.zeros(table.matrix.shape[1], np.float32))
        return np.stack(rows).astype(np.float32)

    return batcher


def lay_out_general(realdata: Path, folder: Path) -> Path:
    """Link SentEval's data sets into a folder, with an SNLI whose training rows are the first of the real dev."""
    (folder / "downstream").mkdir(parents=True, exist_ok=True)
    real = realdata / "senteval" / "data" / "downstream"
    for source in real.iterdir():
        if source.name != "SNLI":
            (folder / "downstream" / source.name).symlink_to(source)
    for part in ("s1", "s2", "labels"):
        lines = {name: (real / "SNLI" / f"{part}.{name}").read_text("utf-8").splitlines() for name in ("dev", "test")}
        _write(folder / "downstream" / "SNLI" / f"{part}.train", lines["dev"][:SNLI_TRAIN])
        _write(folder / "downstream" / "SNLI" / f"{part}.dev", lines["dev"][SNLI_TRAIN:])
        _write(folder / "downstream" / "SNLI" / f"{part}.test", lines["test"])
    return folder


def lay_out_sample(folder: Path) -> Path:
    """Write the sample's MedNLI, BioASQ and BioC into the text files that MedSentEval's code reads."""
    for name in ("MedNLI", "BioASQ", "BioC"):
        dataset = load_dataset(task(name), sample_root(), Settings())
        for split_name, split in dataset.splits.items():
            assert split.labels is not None
            assert split.texts2 is not None
            labels = [dataset.label_names[number] for number in split.labels]
            if name == "MedNLI":
                for part, column in (("s1", split.texts), ("s2", split.texts2), ("labels", labels)):
                    # The original reads UTF-8 as Latin-1, which makes two characters of µ; ours does not.
                    plain = (text.encode("ascii", "ignore").decode() for text in column)
                    _write(folder / "MedNLI" / f"{part}.{split_name}", plain)
            else:
                file = f"BioASQ/BioASQ_{split_name}.txt" if name == "BioASQ" else "BIOC/train.txt"
                _write(folder / file, map("\t".join, zip(split.texts, split.texts2, labels, strict=True)))
    return folder


def lay_out_biomedical(realdata: Path, folder: Path) -> Path:
    """Write the real RQE and BIOSSES into the text files that MedSentEval's scripts make of them."""
    for name, source in (("train", "RQE_Train_8588_AMIA2016.xml"), ("test", "RQE_Test_302_pairs_AMIA2016.xml")):
        rows = []
        for pair in read_xml(realdata / "rqe" / source)[0]:
            chq, faq = pair.find("chq"), pair.find("faq")
            assert chq is not None
            assert faq is not None
            rows.append(f"{pair.get('pid')}\t{pair.get('value')}\t{inner_text(chq).strip()}\t{inner_text(faq).strip()}")
        _write(folder / "RQE" / f"rqe_{name}.txt", rows)
    with open(realdata / "biosses" / "derived" / "biosses_from_docx.tsv", encoding="utf-8", newline="") as stream:
        pairs = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    _write(folder / "BIOSSES" / "STS.input.BIOSSES.txt", [f"{pair['sentence1']}\t{pair['sentence2']}" for pair in pairs])
    _write(folder / "BIOSSES" / "STS.gs.BIOSSES.txt", [pair["mean"] for pair in pairs])
    return folder


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")

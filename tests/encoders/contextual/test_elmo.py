"""ELMo against a slow NumPy reading of the same HDF5 file."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.contracts import TokenEncoder
from medsenteval.encoders.contextual.elmo import _is_plain, read_options
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.registry import load_encoder

h5py = pytest.importorskip("h5py")
pytest.importorskip("torch")

OPTIONS: dict[str, Any] = {
    "char_cnn": {
        "activation": "relu", "embedding": {"dim": 4}, "filters": [[1, 3], [2, 4], [5, 6]],
        "max_characters_per_token": 50, "n_characters": 262, "n_highway": 2,
    },
    "lstm": {
        "cell_clip": 0.4, "dim": 7, "n_layers": 2, "proj_clip": 0.3, "projection_dim": 5, "use_skip_connections": True,
    },
}  # fmt: skip

TEXTS = [
    "",
    "dyspnoea",
    "The patient denies chest pain .",
    "β-blockers ≥ 5 µg 心臓",
    "x" * 200 + " short",
    "a word that no one wrote before : qzxv <S> \udcff",
    " ".join(f"word{i % 17}" for i in range(300)),
    "one two",
]


def arrays_of(options: dict[str, Any], seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Random weights in the names and shapes of the official file, large enough that both clips bite."""
    rng = np.random.default_rng(seed)
    cnn, lstm = options["char_cnn"], options["lstm"]
    n, dim = sum(count for _, count in cnn["filters"]), cnn["embedding"]["dim"]
    projection, cells = lstm["projection_dim"], lstm["dim"]
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, dim), "CNN_proj/W_proj": (n, projection)}
    shapes["CNN_proj/b_proj"] = (projection,)
    for i, (width, count) in enumerate(cnn["filters"]):
        shapes |= {f"CNN/W_cnn_{i}": (1, width, dim, count), f"CNN/b_cnn_{i}": (count,)}
    for j in range(cnn["n_highway"]):
        shapes |= {f"CNN_high_{j}/W_carry": (n, n), f"CNN_high_{j}/b_carry": (n,)}
        shapes |= {f"CNN_high_{j}/W_transform": (n, n), f"CNN_high_{j}/b_transform": (n,)}
    for direction in (0, 1):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{cell}/B": (4 * cells,), f"{cell}/W_0": (2 * projection, 4 * cells)}
            shapes[f"{cell}/W_P_0"] = (cells, projection)
    return {name: rng.normal(0, 0.6, shape).astype(np.float32) for name, shape in shapes.items()}


def write_model(folder: Path, options: dict[str, Any] = OPTIONS, seed: int = 0, **changed: NDArray[np.float32]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny_options.json").write_text(json.dumps(options), "utf-8")
    with h5py.File(folder / "tiny_weights.hdf5", "w") as file:
        for name, array in (arrays_of(options, seed) | changed).items():
            file[name] = array
    return f"{folder / 'tiny_options.json'}+{folder / 'tiny_weights.hdf5'}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_model(tmp_path_factory.mktemp("elmo"))


def slow_layers(options: dict[str, Any], file: Any, words: list[str]) -> NDArray[np.float64]:
    """The biLM one word and one step at a time in float64: (layers, words, 2 x projection), boundaries left out."""
    cnn, lstm = options["char_cnn"], options["lstm"]
    # Row 0 is AllenNLP's masked character; every id is shifted by one.
    table = np.vstack([np.zeros(cnn["embedding"]["dim"]), file["char_embed"][...]]).astype(np.float64)
    activations: dict[str, Callable[[Any], Any]] = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}
    activation = activations[cnn["activation"]]

    def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 / (1 + np.exp(-x))

    def word_vector(word: str) -> NDArray[np.float64]:
        special = {"<S>": [256], "</S>": [257]}
        codes = special[word] if word in special else list(word.encode("utf-8", "ignore"))[:48]
        ids = [258, *codes, 259]
        ids += [260] * (50 - len(ids))
        letters = table[np.array(ids) + 1]
        found = []
        for i, (width, count) in enumerate(cnn["filters"]):
            weights, bias = file[f"CNN/W_cnn_{i}"][...][0], file[f"CNN/b_cnn_{i}"][...]
            windows = [
                [np.sum(letters[p : p + width] * weights[:, :, f]) + bias[f] for f in range(count)] for p in range(51 - width)
            ]
            found.extend(activation(np.max(windows, axis=0)))
        x = np.array(found)
        for j in range(cnn["n_highway"]):
            high = file[f"CNN_high_{j}"]
            gate = sigmoid(x @ high["W_carry"][...] + high["b_carry"][...])
            x = gate * np.maximum(x @ high["W_transform"][...] + high["b_transform"][...], 0) + (1 - gate) * x
        projected: NDArray[np.float64] = x @ file["CNN_proj/W_proj"][...] + file["CNN_proj/b_proj"][...]
        return projected

    def clip(values: NDArray[np.float64], limit: float | None) -> NDArray[np.float64]:
        return np.clip(values, -limit, limit) if limit else values

    vectors = {word: word_vector(word) for word in {"<S>", "</S>", *words}}
    base = [vectors[word] for word in ["<S>", *words, "</S>"]]
    layers = [[np.concatenate([v, v]) for v in base]]
    streams = [base, base[::-1]]
    for layer in range(lstm["n_layers"]):
        for direction in (0, 1):
            weights = file[f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"]
            kernel, bias, projection = (weights[name][...].astype(np.float64) for name in ("W_0", "B", "W_P_0"))
            c, h = np.zeros(lstm["dim"]), np.zeros(lstm["projection_dim"])
            outputs = []
            for x in streams[direction]:
                i, j, f, o = np.split(np.concatenate([x, h]) @ kernel + bias, 4)
                c = clip(sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j), lstm["cell_clip"])
                h = clip((sigmoid(o) * np.tanh(c)) @ projection, lstm["proj_clip"])
                outputs.append(h + x if layer > 0 and lstm["use_skip_connections"] else h)
            streams[direction] = outputs
        layers.append([np.concatenate(pair) for pair in zip(streams[0], streams[1][::-1], strict=True)])
    return np.array(layers)[:, 1:-1]


@cache
def slow_reading(spec: str, texts: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """All layers of all texts, which takes a second, once for all ways to pick from them."""
    options_path, weights_path = map(Path, spec.split("+"))
    options = json.loads(options_path.read_text("utf-8"))
    with h5py.File(weights_path, "r") as file:
        return [slow_layers(options, file, text.split() or ["."]) for text in texts]


def slow_rows(spec: str, texts: list[str], pick: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.array([pick(layers).mean(axis=0) for layers in slow_reading(spec, tuple(texts))])


PICKS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "all": lambda layers: np.concatenate(list(layers), axis=1),
    "0": lambda layers: layers[0],
    "1": lambda layers: layers[1],
    "2": lambda layers: layers[2],
    "average": lambda layers: layers.mean(axis=0),
}


@pytest.mark.parametrize("layers", PICKS)
def test_vectors_equal_a_slow_reading_of_the_file(model: str, layers: str) -> None:
    encoder = load_encoder(f"elmo:{model},layers={layers}")
    rows = encoder.encode(TEXTS)
    assert isinstance(encoder, TokenEncoder)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), 30 if layers == "all" else 10)
    assert rows == pytest.approx(slow_rows(model, TEXTS, PICKS[layers]), abs=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"char_cnn": {"activation": "tanh", "n_highway": 1}, "lstm": {"use_skip_connections": False}},
        {"char_cnn": {}, "lstm": {"cell_clip": None, "proj_clip": None, "n_layers": 3}},
    ],
)
def test_every_option_of_the_file_is_honoured(tmp_path: Path, changes: dict[str, Any]) -> None:
    options = {part: OPTIONS[part] | changes[part] for part in OPTIONS}
    spec = write_model(tmp_path, options)
    texts = TEXTS[:5]
    assert load_encoder(f"elmo:{spec}").encode(texts) == pytest.approx(slow_rows(spec, texts, PICKS["all"]), abs=1e-5)


def test_both_clips_bite_in_these_models(tmp_path: Path, model: str) -> None:
    """Otherwise the comparison above would not see a missing clip."""
    for part in ("cell_clip", "proj_clip"):
        other = load_encoder(f"elmo:{write_model(tmp_path / part, {**OPTIONS, 'lstm': OPTIONS['lstm'] | {part: None}})}")
        assert np.abs(load_encoder(f"elmo:{model}").encode(TEXTS) - other.encode(TEXTS)).max() > 1e-3


def test_a_vector_does_not_depend_on_neighbours_or_order(model: str) -> None:
    encoder = load_encoder(f"elmo:{model}")
    alone = {text: encoder.encode([text])[0] for text in TEXTS}

    @settings(max_examples=15, deadline=None)
    @given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12))
    def check(chosen: list[str]) -> None:
        for text, row in zip(chosen, encoder.encode(chosen), strict=True):
            assert row == pytest.approx(alone[text], abs=5e-6)  # some units in float32's last place

    check()


def test_large_batches_are_cut_without_a_trace(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_encoder(f"elmo:{model}").encode(TEXTS)
    monkeypatch.setattr("medsenteval.encoders.contextual.elmo._TOKENS_AT_ONCE", 6)
    monkeypatch.setattr("medsenteval.encoders.contextual.elmo._WORDS_AT_ONCE", 2)
    assert load_encoder(f"elmo:{model}").encode(TEXTS) == pytest.approx(whole, abs=5e-6)


def test_token_vectors_average_to_the_sentence_vector(model: str) -> None:
    encoder = load_encoder(f"elmo:{model}")
    assert isinstance(encoder, TokenEncoder)
    tokens = encoder.encode_tokens(TEXTS)
    assert np.diff(tokens.offsets).tolist() == [len(text.split()) or 1 for text in TEXTS]
    assert tokens.known.all()
    means = [tokens.values[a:b].mean(axis=0, dtype=np.float64) for a, b in pairwise(tokens.offsets)]
    assert encoder.encode(TEXTS) == pytest.approx(np.array(means), abs=1e-6)
    assert encoder.encode([]).shape == (0, 30)
    assert np.array_equal(pickle.loads(pickle.dumps(encoder)).encode(TEXTS[:3]), encoder.encode(TEXTS[:3]))
    assert len(encoder.encode_tokens([])) == 0


def test_the_tokenizer_words_splits_punctuation_and_pooling_takes_the_maximum(model: str) -> None:
    words = load_encoder(f"elmo:{model},tokenizer=words").encode(["chest pain."])
    assert words == pytest.approx(load_encoder(f"elmo:{model}").encode(["chest pain ."]), abs=1e-6)
    encoder = load_encoder(f"elmo:{model},pooling=max")
    assert isinstance(encoder, TokenEncoder)
    tokens = encoder.encode_tokens(["chest pain ."])
    assert encoder.encode(["chest pain ."])[0] == pytest.approx(tokens.values.max(axis=0))


def test_identity_changes_with_what_changes_a_vector_and_only_then(model: str, tmp_path: Path) -> None:
    plain = load_encoder(f"elmo:{model}").identity
    assert load_encoder(f"elmo:{model}").name == "tiny"
    shape = (
        "ElmoShape(characters=50, character_dimension=4, filters=((1, 3), (2, 4), (5, 6)), activation='relu', n_highway=2, "
        "cells=7, n_layers=2, projection=5, cell_clip=0.4, projection_clip=0.3, skip_connections=True)"
    )
    assert re.fullmatch(rf"elmo-[0-9a-f]{{32}}-{re.escape(shape)}-layers=all-tokenizer=whitespace-pooling=mean", plain)
    copies = [f"elmo:{write_model(tmp_path / 'elsewhere')}"]
    copies += [f"elmo:{model},{option}" for option in ("name=other", "device=cpu", "layers=all", "tokenizer=whitespace")]
    assert {load_encoder(spec).identity for spec in copies} == {plain}
    others = []
    for number, (name, array) in enumerate(arrays_of(OPTIONS).items()):
        array.flat[-1] = np.nextafter(array.flat[-1], np.float32(9))
        others.append(f"elmo:{write_model(tmp_path / str(number), OPTIONS, 0, **{name: array})}")
    others += [
        *(
            f"elmo:{write_model(tmp_path / part, {**OPTIONS, 'lstm': OPTIONS['lstm'] | {part: False}})}"
            for part in ("cell_clip", "proj_clip", "use_skip_connections")
        ),
        *(f"elmo:{model},layers={layers}" for layers in ("0", "1", "2", "average")),
        f"elmo:{model},tokenizer=words",
        f"elmo:{model},pooling=max",
    ]
    assert len({plain, *(load_encoder(spec).identity for spec in others)}) == len(others) + 1


def test_wrong_files_are_named_at_once(model: str, tmp_path: Path) -> None:
    options, weights = map(Path, model.split("+"))
    (tmp_path / "cut.hdf5").write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    wrong = {"text.hdf5": "word 0.1 0.2", "broken.json": "{", "bert.json": '{"hidden_size": 768}', "list.json": "[]"}
    wider = {**OPTIONS, "lstm": OPTIONS["lstm"] | {"dim": 8}}
    deeper = {**OPTIONS, "lstm": OPTIONS["lstm"] | {"n_layers": 3}}
    odd = {**OPTIONS, "char_cnn": OPTIONS["char_cnn"] | {"activation": "gelu"}}
    empty = {**OPTIONS, "char_cnn": OPTIONS["char_cnn"] | {"filters": []}}
    wrong |= {"wider.json": json.dumps(wider), "deeper.json": json.dumps(deeper)}
    wrong |= {"odd.json": json.dumps(odd), "empty.json": json.dumps(empty)}
    for name, content in wrong.items():
        (tmp_path / name).write_text(content, "utf-8")
    endless = write_model(tmp_path / "endless", char_embed=arrays_of(OPTIONS)["char_embed"] * np.float32(np.inf))
    cases = [
        (f"elmo:{options}", "joined by"),
        (f"elmo:{tmp_path / 'no.json'}+{weights}", "no.json"),
        (f"elmo:{options}+{tmp_path / 'no.hdf5'}", "no.hdf5"),
        (f"elmo:{options}+{tmp_path / 'text.hdf5'}", "text.hdf5: no HDF5, damaged or incomplete .*signature"),
        (f"elmo:{options}+{tmp_path / 'cut.hdf5'}", "cut.hdf5: no HDF5, damaged or incomplete .*truncated"),
        (f"elmo:{tmp_path / 'broken.json'}+{weights}", "broken.json cannot be read as JSON"),
        (f"elmo:{tmp_path / 'bert.json'}+{weights}", "bert.json.*lacks 'char_cnn'"),
        (f"elmo:{tmp_path / 'list.json'}+{weights}", "list.json holds a list; expected is a dict"),
        (f"elmo:{tmp_path / 'wider.json'}+{weights}", r"W_0.*\(10, 28\).*\(10, 32\)"),
        (f"elmo:{tmp_path / 'deeper.json'}+{weights}", "no array 'RNN_0/RNN/MultiRNNCell/Cell2"),
        (f"elmo:{tmp_path / 'odd.json'}+{weights}", "odd.json: the activation is 'gelu'"),
        (f"elmo:{tmp_path / 'empty.json'}+{weights}", "empty.json: sizes"),
        (f"elmo:{endless}", "char_embed.*infinity"),
        (f"elmo:{model},layers=3", "layers is '3'"),
        (f"elmo:{model},layers=top", "layers is 'top'"),
        (f"elmo:{model},tokenizer=nltk", "tokenizer is 'nltk'"),
        (f"elmo:{model},pooling=sum", "pooling is 'sum'"),
        (f"elmo:{model},device=abacus", "device is 'abacus'"),
        (f"elmo:{model},vocabulary=x", "no option 'vocabulary'"),
    ]
    for spec, message in cases:
        with pytest.raises(EncoderError, match=message):
            load_encoder(spec)
    # A '+' in a file's name is not what joins the two.
    assert load_encoder(f"elmo:{write_model(tmp_path / 'C++')}").encode(["x"]).shape == (1, 30)


def test_a_missing_package_is_named_with_its_extra(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("torch", "h5py"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match=rf"{package}.*medsenteval\[elmo\]"):
            load_encoder(f"elmo:{model}")
    # Wrong options are told without the packages, whose import takes seconds.
    with pytest.raises(EncoderError, match="cannot be read as JSON"):
        load_encoder(f"elmo:{__file__}+{__file__}")


@pytest.mark.parametrize("trick", [
    "external link", "link to a pipe", "soft link", "virtual", "external storage", "never written", "text", "plug-in",
    "huge chunk",
])  # fmt: skip
def test_arrays_that_are_not_stored_in_the_file_are_refused(model: str, tmp_path: Path, trick: str) -> None:
    options, weights = model.split("+")
    other, path = shutil.copy(weights, tmp_path / "other.hdf5"), shutil.copy(weights, tmp_path / "tricky.hdf5")
    with h5py.File(path, "r+") as file:
        shape = file["char_embed"].shape
        del file["char_embed"]
        if trick == "external link":
            file["char_embed"] = h5py.ExternalLink(str(other), "char_embed")
        elif trick == "link to a pipe":  # whoever opens it waits for ever
            os.mkfifo(tmp_path / "pipe")
            file["char_embed"] = h5py.ExternalLink(str(tmp_path / "pipe"), "char_embed")
        elif trick == "plug-in":
            file.create_dataset("char_embed", data=np.ones(shape, dtype="f4"), chunks=shape, compression="lzf")
        elif trick == "huge chunk":
            chunked = {"chunks": (1 << 12, 1 << 12), "maxshape": (None, None), "compression": "gzip"}
            file.create_dataset("char_embed", shape, dtype="f4", **chunked)
            file["char_embed"][0, 0] = 1.0
        elif trick == "soft link":
            file["spare"] = np.zeros(shape, dtype=np.float32)
            file["char_embed"] = h5py.SoftLink("/spare")
        elif trick == "virtual":
            layout = h5py.VirtualLayout(shape=shape, dtype="f4")
            layout[:] = h5py.VirtualSource(str(other), "char_embed", shape=shape)
            file.create_virtual_dataset("char_embed", layout)
        elif trick == "external storage":
            size = 4 * shape[0] * shape[1]
            file.create_dataset("char_embed", shape, dtype="f4", external=[(str(other), 0, size)])
        elif trick == "never written":
            file.create_dataset("char_embed", shape, dtype="f4", chunks=(1, 1))
        else:
            file.create_dataset("char_embed", data=np.full(shape, b"1.5"))
    with pytest.raises(EncoderError, match=r"tricky\.hdf5: the array 'char_embed' is not stored"):
        load_encoder(f"elmo:{options}+{path}")


@pytest.mark.parametrize(("part", "key", "value"), [
    ("lstm", "n_layers", 2.5), ("lstm", "n_layers", "2"), ("lstm", "n_layers", True), ("lstm", "n_layers", 10**9),
    ("char_cnn", "n_highway", 10**9), ("char_cnn", "max_characters_per_token", 10**9), ("char_cnn", "filters", [[1, 4]] * 2000),
    ("lstm", "dim", -1), ("lstm", "projection_dim", None),
])  # fmt: skip
def test_sizes_in_the_options_that_lie_are_refused(model: str, tmp_path: Path, part: str, key: str, value: Any) -> None:
    options, weights = model.split("+")
    described = json.loads(Path(options).read_text())
    described[part][key] = value
    path = tmp_path / "options.json"
    path.write_text(json.dumps(described))
    with pytest.raises(EncoderError, match=r"options\.json(: sizes that no biLM|: not the options of| promises shape)"):
        load_encoder(f"elmo:{path}+{weights}")


def test_sizes_are_read_within_their_bounds(tmp_path: Path) -> None:
    def read(**changes: Any) -> Any:
        described = {part: {**values, **changes.get(part, {})} for part, values in OPTIONS.items()}
        (tmp_path / "options.json").write_text(json.dumps(described))
        return read_options(tmp_path / "options.json")

    shape = read()
    assert (shape.characters, shape.character_dimension, shape.filters) == (50, 4, ((1, 3), (2, 4), (5, 6)))
    assert (shape.n_highway, shape.cells, shape.n_layers, shape.projection) == (2, 7, 2, 5)
    assert (shape.cell_clip, shape.projection_clip, shape.skip_connections, shape.activation) == (0.4, 0.3, True, "relu")
    assert read(lstm={"dim": 10_000, "n_layers": 1}).cells == 10_000
    assert read(lstm={"cell_clip": None, "proj_clip": 0}).projection_clip == np.inf
    assert read(char_cnn={"max_characters_per_token": 5}).characters == 5
    assert read(char_cnn={"max_characters_per_token": 3, "filters": [[3, 1]]}).characters == 3
    for part, key, value in (
        ("lstm", "dim", 10_001), ("lstm", "dim", 0), ("lstm", "projection_dim", 0), ("lstm", "n_layers", 0),
        ("char_cnn", "n_highway", 0), ("char_cnn", "filters", [[0, 1]]), ("char_cnn", "filters", [[1, 0]]),
        ("char_cnn", "embedding", {"dim": 10_001}), ("lstm", "dim", 2.0),
    ):  # fmt: skip
        with pytest.raises(EncoderError, match="where a whole number from 1 to 10000 is expected; expected AllenNLP's"):
            read(**{part: {key: value}})
    wrong: list[dict[str, Any]] = [{"max_characters_per_token": 4}, {"filters": []}]
    for changes in (*wrong, {"max_characters_per_token": 2, "filters": [[1, 1]]}):
        with pytest.raises(EncoderError, match="sizes that no biLM can have: ElmoShape"):
            read(char_cnn=changes)
    with pytest.raises(EncoderError, match="the activation is 'gelu'; a biLM has relu or tanh"):
        read(char_cnn={"activation": "gelu"})
    assert read(char_cnn={"activation": "tanh"}).activation == "tanh"


def test_an_array_is_plain_if_its_numbers_fill_what_they_take() -> None:
    def judged(
        *, stored: int = 1000, size: int = 1000, chunk: int | None = None, filters: tuple[int, ...] = (), **more: Any
    ) -> bool:
        plan = SimpleNamespace(get_nfilters=lambda: len(filters), get_filter=lambda i: (filters[i], "name"))
        held = SimpleNamespace(get_create_plist=lambda: plan, get_storage_size=lambda: stored)
        array = {"id": held, "chunks": None if chunk is None else (chunk // 4, 1), "nbytes": size, "dtype": np.dtype("f4")}
        return _is_plain(SimpleNamespace(**array | {"is_virtual": False, "external": None} | more))

    assert judged()
    assert judged(filters=(1, 2, 3))
    assert not judged(filters=(1, 32000))
    assert not judged(is_virtual=True)
    assert not judged(external=[("file", 0, 1000)])
    assert not judged(dtype=np.dtype("i4"))
    assert (judged(stored=10, size=11_000), judged(stored=10, size=11_001)) == (True, False)
    assert (judged(chunk=1 << 20), judged(chunk=(1 << 20) + 4)) == (True, False)
    large = (1 << 20) + 4
    assert (judged(stored=large, size=large, chunk=large), judged(stored=large, size=large, chunk=large + 4)) == (True, False)

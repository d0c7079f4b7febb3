"""InferSent against a bidirectional LSTM written out in NumPy, from state dictionaries as the authors ship them."""

from __future__ import annotations

import pickle
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.encoders.contextual.infersent import InferSentEncoder
from medsenteval.encoders.static.tokens import TOKENIZERS
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.registry import load_encoder
from tests.encoders.contextual.traps import Scripted

torch = pytest.importorskip("torch")

DIMENSION, HIDDEN = 6, 5
WORDS = ["<s>", "</s>", "<p>", "</p>", "patient", "denies", "chest", "pain", ".", ",", "β-blockers", "5", "µg", "The", "no"]
TEXTS = [
    "",
    "pain",
    "The patient denies chest pain.",
    "β-blockers ≥ 5 µg",
    "qwertz asdf yxcv",
    "no chest pain, " * 100,
    "no pain . The unknownword patient",
]


def state_dict(seed: int = 0) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    shapes = {"weight_ih": (4 * HIDDEN, DIMENSION), "weight_hh": (4 * HIDDEN, HIDDEN), "bias_ih": (4 * HIDDEN,)}
    shapes["bias_hh"] = (4 * HIDDEN,)
    return {
        f"enc_lstm.{name}_l0{way}": torch.randn(shape, generator=generator) * 0.7
        for way in ("", "_reverse")
        for name, shape in shapes.items()
    }


def vector_of(word: str) -> NDArray[np.float32]:
    return np.random.default_rng(list(word.encode())).normal(size=DIMENSION).round(4).astype(np.float32)


def write_vectors(path: Path, words: list[str] = WORDS, change: float = 0.0) -> Path:
    lines = [" ".join([word, *(f"{value + change:.4f}" for value in vector_of(word))]) for word in words]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("infersent")
    # The official files were written before torch had its zip format.
    torch.save(state_dict(), folder / "infersent1.pkl", _use_new_zipfile_serialization=False)
    torch.save(state_dict(), folder / "new.pkl")
    write_vectors(folder / "glove.txt")
    return folder


@pytest.fixture(scope="module")
def spec(folder: Path) -> str:
    return f"infersent:{folder / 'infersent1.pkl'}+{folder / 'glove.txt'}"


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))


def slow_vector(text: str, *, version: str = "1", tokenizer: str = "words", words: list[str] = WORDS) -> NDArray[np.float64]:
    """One sentence through one bidirectional LSTM, a step at a time in float64."""
    state = {name.removeprefix("enc_lstm."): tensor.double().numpy() for name, tensor in state_dict().items()}
    begin, end = {"1": ("<s>", "</s>"), "2": ("<p>", "</p>")}[version]
    kept = [word for word in [begin, *TOKENIZERS[tokenizer](text), end] if word in words]
    states = []
    for way, order in (("", 1), ("_reverse", -1)):
        h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
        produced = []
        for word in kept[::order]:
            gates = state[f"weight_ih_l0{way}"] @ vector_of(word) + state[f"bias_ih_l0{way}"]
            gates += state[f"weight_hh_l0{way}"] @ h + state[f"bias_hh_l0{way}"]
            i, f, g, o = np.split(gates, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            produced.append(h)
        states.append(np.array(produced[::order]))
    pooled: NDArray[np.float64] = np.concatenate(states, axis=1).max(axis=0)
    return pooled


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
def test_vectors_equal_a_slow_lstm(spec: str, version: str, tokenizer: str) -> None:
    encoder = load_encoder(f"{spec},version={version},tokenizer={tokenizer}")
    rows = encoder.encode(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), 2 * HIDDEN)
    expected = [slow_vector(text, version=version, tokenizer=tokenizer) for text in TEXTS]
    assert rows == pytest.approx(np.array(expected), abs=1e-5)


def test_version_1_words_and_max_are_the_defaults_and_padding_never_wins(spec: str) -> None:
    encoder = load_encoder(spec)
    rows = encoder.encode(TEXTS)
    assert rows == pytest.approx(np.array([slow_vector(text) for text in TEXTS]), abs=1e-5)
    assert encoder.name == "infersent1"
    # Padding is zero in the original; a maximum below zero beside a much longer text shows that it takes no part.
    assert (rows[1] < 0).any()


def official_batch(texts: list[str]) -> NDArray[np.float64]:
    """A batch as the official code of version 1 pools it: the maximum sees the zeros below all but the longest sentences."""
    lengths = [2 + sum(word in WORDS for word in TOKENIZERS["words"](text)) for text in texts]
    alone = [slow_vector(text) for text in texts]
    return np.array([np.maximum(row, 0) if length < max(lengths) else row for row, length in zip(alone, lengths, strict=True)])


def test_zero_padding_is_that_of_a_batch_with_a_longer_sentence(spec: str) -> None:
    padded = load_encoder(f"{spec},padding=zeros")
    longer = max(TEXTS, key=len) + " " + " ".join(WORDS)
    assert padded.encode(TEXTS) == pytest.approx(official_batch([*TEXTS, longer])[:-1], abs=1e-5)
    # The longest sentence of an official batch is the one that differs.
    assert np.abs(padded.encode([longer]) - official_batch([longer])).max() > 0.01
    assert padded.identity == f"{load_encoder(spec).identity}-padding=zeros"
    with pytest.raises(EncoderError, match="padding is 'none'; it can be ignored or zeros"):
        load_encoder(f"{spec},padding=none")


def test_both_formats_of_torch_give_the_same_encoder(folder: Path, spec: str) -> None:
    new = load_encoder(f"infersent:{folder / 'new.pkl'}+{folder / 'glove.txt'}")
    assert new.identity == load_encoder(spec).identity
    assert np.array_equal(new.encode(TEXTS), load_encoder(spec).encode(TEXTS))


def test_texts_without_known_words_are_their_boundaries(spec: str) -> None:
    rows = load_encoder(spec).encode(["", "qwertz", " \n"])
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])
    assert rows[0].any()


def test_vectors_without_boundary_words(folder: Path) -> None:
    plain = write_vectors(folder / "plain.txt", [word for word in WORDS if word[0] != "<"])
    ended = write_vectors(folder / "ended.txt", [word for word in WORDS if word != "<s>"])
    weights = folder / "infersent1.pkl"
    with pytest.raises(EncoderError, match=r"plain\.txt has no vector for '<s>' and '</s>', which version 1 puts.*if-known"):
        load_encoder(f"infersent:{weights}+{plain}")
    with pytest.raises(EncoderError, match=r"ended\.txt has no vector for '<s>', which.*fastText crawl-300d-2M to version 2"):
        load_encoder(f"infersent:{weights}+{ended}")
    rows = load_encoder(f"infersent:{weights}+{plain},boundaries=if-known").encode(TEXTS)
    known = [i for i, text in enumerate(TEXTS) if i not in (0, 4)]
    expected = [slow_vector(TEXTS[i], words=WORDS[4:]) for i in known]
    assert rows[known] == pytest.approx(np.array(expected), abs=1e-5)
    assert not rows[[0, 4]].any()
    half = load_encoder(f"infersent:{weights}+{ended},boundaries=if-known").encode(TEXTS)
    assert half == pytest.approx(np.array([slow_vector(text, words=WORDS[1:]) for text in TEXTS]), abs=1e-5)


def test_case_follows_the_option(spec: str, folder: Path) -> None:
    """The vectors have The, patient and chest; the original looks words up as they are."""
    exact, lower, either = (
        load_encoder(f"{spec}{case}") for case in ("", ",case=lower", ",case=exact-then-lower")
    )  # fmt: skip
    text = "The Patient"
    assert exact.encode([text])[0] == pytest.approx(slow_vector("The"), abs=1e-5)
    assert lower.encode([text])[0] == pytest.approx(slow_vector("patient"), abs=1e-5)
    assert either.encode([text])[0] == pytest.approx(slow_vector("The patient"), abs=1e-5)
    # The first word of the file is a word like any other.
    write_vectors(folder / "the_first.txt", ["The", *(word for word in WORDS if word != "The")])
    either = load_encoder(f"infersent:{folder / 'infersent1.pkl'}+{folder / 'the_first.txt'},case=exact-then-lower")
    assert either.encode([text])[0] == pytest.approx(slow_vector("The patient"), abs=1e-5)


def test_a_vector_does_not_depend_on_neighbours_or_order(spec: str) -> None:
    encoder = load_encoder(spec)
    alone = {text: encoder.encode([text])[0] for text in TEXTS}

    @settings(max_examples=15, deadline=None)
    @given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12))
    def check(chosen: list[str]) -> None:
        for text, row in zip(chosen, encoder.encode(chosen), strict=True):
            assert row == pytest.approx(alone[text], abs=1e-6)

    check()


def test_large_batches_are_cut_without_a_trace(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_encoder(spec).encode(TEXTS)
    monkeypatch.setattr("medsenteval.encoders.contextual.infersent._WORDS_AT_ONCE", 7)
    assert load_encoder(spec).encode(TEXTS) == pytest.approx(whole, abs=1e-6)
    assert load_encoder(spec).encode([]).shape == (0, 2 * HIDDEN)
    assert pickle.loads(pickle.dumps(load_encoder(spec))).encode(TEXTS) == pytest.approx(whole, abs=1e-6)


def test_coverage_counts_tokens_types_and_texts(spec: str) -> None:
    encoder = load_encoder(spec)
    assert isinstance(encoder, InferSentEncoder)
    assert encoder.coverage(["pain pain x", "y", ""]) == {"tokens": 0.5, "distinct_tokens": 1 / 3, "texts": 1 / 3}
    assert encoder.coverage([]) == {"tokens": 0, "distinct_tokens": 0, "texts": 0}


def test_the_first_word_of_the_vectors_is_a_word_like_any_other(folder: Path, spec: str, tmp_path: Path) -> None:
    vectors = write_vectors(tmp_path / "turned.txt", WORDS[::-1])
    encoder = load_encoder(f"infersent:{folder / 'infersent1.pkl'}+{vectors}")
    assert isinstance(encoder, InferSentEncoder)
    assert encoder.coverage([WORDS[-1]]) == {"tokens": 1, "distinct_tokens": 1, "texts": 1}
    np.testing.assert_array_equal(encoder.encode([WORDS[-1]]), load_encoder(spec).encode([WORDS[-1]]))


def test_identity_changes_with_what_changes_a_vector_and_only_then(folder: Path, spec: str, tmp_path: Path) -> None:
    plain = load_encoder(spec).identity
    read = "version=1-tokenizer=words-case=exact-pooling=max"
    assert re.fullmatch(rf"infersent-[0-9a-f]{{32}}-vectors=[0-9a-f]{{32}}-{read}", plain)
    torch.save(dict(reversed(state_dict().items())), tmp_path / "reordered.pkl")
    copy = write_vectors(tmp_path / "copy.txt")
    same = [
        f"{spec},boundaries=if-known",
        f"{spec},name=x",
        f"{spec},device=cpu",
        f"infersent:{tmp_path / 'reordered.pkl'}+{copy}",
    ]
    assert {load_encoder(each).identity for each in same} == {plain}
    nudged = []
    for name in state_dict():
        state = state_dict()
        value = state[name].view(-1)
        value[-1] = torch.nextafter(value[-1], torch.tensor(9.0))
        torch.save(state, tmp_path / f"{name}.pkl")
        nudged.append(f"infersent:{tmp_path / f'{name}.pkl'}+{copy}")
    other_vectors = write_vectors(tmp_path / "other.txt", change=0.0001)
    others = [
        *nudged,
        f"infersent:{folder / 'infersent1.pkl'}+{other_vectors}",
        f"{spec},version=2",
        f"{spec},padding=zeros",
        f"{spec},tokenizer=whitespace",
        f"{spec},case=lower",
        f"{spec},case=exact-then-lower",
    ]
    assert len({plain, *(load_encoder(each).identity for each in others)}) == len(others) + 1


class _Malicious:
    """A pickle of this object would call a function on loading."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_no_code_of_a_weights_file_is_run(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "was-here"
    for new_format in (True, False):
        weights = tmp_path / "evil.pkl"
        torch.save({**state_dict(), "x": _Malicious(target)}, weights, _use_new_zipfile_serialization=new_format)
        with pytest.raises(EncoderError, match=r"evil\.pkl: .*code in it is never run"):
            load_encoder(f"infersent:{weights}+{folder / 'glove.txt'}")
    (tmp_path / "raw.pkl").write_bytes(pickle.dumps(_Malicious(target)))
    with pytest.raises(EncoderError, match=r"raw\.pkl"):
        load_encoder(f"infersent:{tmp_path / 'raw.pkl'}+{folder / 'glove.txt'}")
    assert not target.exists()


@pytest.mark.filterwarnings("ignore")
def test_tensors_whose_numbers_are_not_there_are_refused(folder: Path, tmp_path: Path) -> None:
    """A few bytes can promise a matrix that fills any memory, or one that is not stored at all."""
    name = "enc_lstm.weight_hh_l0"
    for tensor in (
        torch.zeros(1).expand(400_000, 100_000),
        torch.ones(8, 2).to_sparse(),
        torch.ones(8, 2, device="meta"),
        torch.quantize_per_tensor(torch.ones(8, 2), 0.1, 0, torch.qint8),
    ):
        torch.save({**state_dict(), name: tensor}, tmp_path / "odd.pkl")
        with pytest.raises(EncoderError, match=r"odd\.pkl: (holds a .*, not a dictionary of plain tensors|cannot be read)"):
            load_encoder(f"infersent:{tmp_path / 'odd.pkl'}+{folder / 'glove.txt'}")
    torch.jit.script(Scripted(tmp_path / "made")).save(str(tmp_path / "scripted.pkl"))
    (tmp_path / "made").unlink(missing_ok=True)
    with pytest.raises(EncoderError, match=r"scripted\.pkl: cannot be read"):
        load_encoder(f"infersent:{tmp_path / 'scripted.pkl'}+{folder / 'glove.txt'}")
    assert not (tmp_path / "made").exists()


def test_tensors_as_the_first_versions_of_torch_wrote_them_are_read(folder: Path, spec: str, tmp_path: Path) -> None:
    first = tmp_path / "infersent1.pkl"
    first.write_bytes((folder / "infersent1.pkl").read_bytes().replace(b"_rebuild_tensor_v2", b"_rebuild_tensor"))
    encoder = load_encoder(f"infersent:{first}+{folder / 'glove.txt'}")
    assert encoder.identity == load_encoder(spec).identity


def test_wrong_files_are_named_at_once(folder: Path, spec: str, tmp_path: Path) -> None:
    vectors = folder / "glove.txt"
    official, new = (folder / "infersent1.pkl").read_bytes(), (folder / "new.pkl").read_bytes()
    (tmp_path / "cut-old.pkl").write_bytes(official[:-100])
    (tmp_path / "cut-new.pkl").write_bytes(new[: len(new) // 2])
    (tmp_path / "text.pkl").write_text("word 0.1 0.2", "utf-8")
    (tmp_path / "empty.pkl").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "zip.pkl", "w") as archive:
        archive.writestr("a.txt", "x")
    state = state_dict()

    def saved(name: str, content: Any) -> Path:
        torch.save(content, tmp_path / name)
        return tmp_path / name

    saved("list.pkl", [1, 2])
    saved("short.pkl", {name: tensor for name, tensor in state.items() if "reverse" not in name})
    saved("projected.pkl", state | {"proj_enc.weight": torch.ones(2, 2)})
    saved("odd.pkl", state | {"enc_lstm.bias_ih_l0": torch.ones(3)})
    saved("scalar.pkl", state | {"enc_lstm.weight_hh_l0": torch.ones(())})
    saved("nan.pkl", state | {"enc_lstm.bias_ih_l0": torch.full((4 * HIDDEN,), torch.nan)})
    (tmp_path / "wide.txt").write_text("<s> 1 2 3\n</s> 4 5 6\n", "utf-8")
    good = folder / "infersent1.pkl"
    cases = [
        ("infersent:", r"infersent: takes ENCODER\.pkl\+VECTORS; got ''"),
        (f"infersent:{good}", "joined by"),
        (f"infersent:{tmp_path / 'no.pkl'}+{vectors}", r"no file .*no\.pkl"),
        (f"infersent:{good}+{tmp_path / 'no.txt'}", r"no file .*no\.txt"),
        (f"infersent:{good}+{tmp_path / 'wide.txt'}", r"vectors of 6 numbers.*wide\.txt holds vectors of 3"),
        (f"infersent:{tmp_path / 'cut-old.pkl'}+{vectors}", r"cut-old\.pkl"),
        (f"infersent:{tmp_path / 'cut-new.pkl'}+{vectors}", r"cut-new\.pkl: its end is missing"),
        (f"infersent:{tmp_path / 'text.pkl'}+{vectors}", r"text\.pkl: it is not a file that torch.save wrote"),
        (f"infersent:{tmp_path / 'empty.pkl'}+{vectors}", r"empty\.pkl: it is not a file that torch.save wrote"),
        (f"infersent:{tmp_path / 'zip.pkl'}+{vectors}", r"zip\.pkl: cannot be read"),
        (f"infersent:{tmp_path / 'list.pkl'}+{vectors}", r"list\.pkl: holds a list"),
        (
            f"infersent:{tmp_path / 'short.pkl'}+{vectors}",
            r'short\.pkl: is no bidirec(?s:.*)Missing.*"enc_lstm\.bias_hh_l0_reverse"',
        ),
        (f"infersent:{tmp_path / 'projected.pkl'}+{vectors}", r'projected\.pkl: (?s:.*)Unexpected.*"proj_enc\.weight"'),
        (f"infersent:{tmp_path / 'odd.pkl'}+{vectors}", r"odd\.pkl: (?s:.*)mismatch for enc_lstm\.bias_ih_l0.*\[3\].*\[20\]"),
        (f"infersent:{tmp_path / 'scalar.pkl'}+{vectors}", r"scalar\.pkl: is no bidirectional LSTM of InferSent"),
        (f"infersent:{tmp_path / 'nan.pkl'}+{vectors}", r"nan\.pkl: enc_lstm\.bias_ih_l0 holds NaN"),
        (f"{spec},version=3", "version is '3'"),
        (f"{spec},tokenizer=nltk", "tokenizer is 'nltk'"),
        (f"{spec},boundaries=no", "boundaries is 'no'"),
        (f"{spec},case=upper", "case is 'upper'"),
        (f"{spec},device=abacus", "device is 'abacus'"),
        (f"{spec},layers=2", "no option 'layers'"),
    ]
    for each, message in cases:
        with pytest.raises(EncoderError, match=message):
            load_encoder(each)


def test_a_plus_in_a_files_name_is_not_the_joint(folder: Path, tmp_path: Path) -> None:
    weights = tmp_path / "glove+mednli.pkl"
    weights.write_bytes((folder / "new.pkl").read_bytes())
    assert load_encoder(f"infersent:{weights}+{folder / 'glove.txt'}").name == "glove+mednli"


def test_a_missing_package_is_named_with_its_extra(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"torch.*medsenteval\[torch\]"):
        load_encoder(spec)
    # A wrong file is told without torch, whose import takes seconds.
    with pytest.raises(EncoderError, match=r"it is not a file that torch\.save wrote"):
        load_encoder(f"infersent:{__file__}+{__file__}")

"""Tiny language models in flair's own file format, against a NumPy reading of the same weights and against flair itself."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from medsenteval.contracts import TokenEncoder
from medsenteval.embedding.pooling import pool
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.registry import load_encoder

pytest.importorskip("torch")

import torch

from medsenteval.encoders.contextual import flair
from medsenteval.encoders.contextual.torch_file import Characters, read_torch_file
from tests.encoders.contextual.traps import Scripted, Trap

CHARACTERS = ["<unk>", *"abcdefghijklmnopqrstuvwxyz .,-\nPβ"]
TEXTS = [
    "",
    "fever",
    "The patient denies chest pain , fever .",
    "a  b\tc\n",
    ("patient" * 90 + " ") * 3 + "denies fever .",
    "心臓 病",
    "β-blockers ≥ 5 µg",
    "\u200b \ufeff",
    "it\u0092s \u0081 fine",
]


class Dictionary:
    """The state that flair.data.Dictionary pickles; the files hold the class by name only."""

    def __init__(self, characters: list[str]) -> None:
        self.item2idx = {character.encode(): number for number, character in enumerate(characters)}
        self.idx2item = [character.encode() for character in characters]
        self.add_unk = True
        self.multi_label = False
        # A dictionary that was used before it was saved carries this as well.
        self.item2idx_not_encoded: Any = defaultdict(int, {character: n for n, character in enumerate(characters)})


Dictionary.__module__ = "flair.data"
Dictionary.__qualname__ = "Dictionary"


@contextmanager
def pretended_flair() -> Iterator[None]:
    """Let pickle find flair.data.Dictionary while a file is written, whether flair is installed or not."""
    kept = {name: sys.modules.pop(name, None) for name in ("flair", "flair.data")}
    data = ModuleType("flair.data")
    data.Dictionary = Dictionary  # type: ignore[attr-defined]
    sys.modules.update({"flair": ModuleType("flair"), "flair.data": data})
    try:
        yield
    finally:
        for name, module in kept.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


def make_state(forward: bool, seed: int = 0, layers: int = 1, nout: int | None = None, kind: str = "LSTM") -> dict[str, Any]:
    """The dictionary that flair's LanguageModel.save writes."""
    torch.manual_seed(seed + 10 * forward)
    recurrent = getattr(torch.nn, kind)(6, 8, layers)
    state = {"encoder.weight": torch.randn(len(CHARACTERS), 6)}
    state |= {f"rnn.{key}": torch.randn_like(value) * 0.5 for key, value in recurrent.state_dict().items()}
    if nout is not None:
        state |= {"proj.weight": torch.randn(nout, 8), "proj.bias": torch.randn(nout)}
    state |= {"decoder.weight": torch.randn(len(CHARACTERS), nout or 8), "decoder.bias": torch.zeros(len(CHARACTERS))}
    return {
        "state_dict": state,
        "dictionary": Dictionary(CHARACTERS),
        "is_forward_lm": forward,
        "hidden_size": 8,
        "nlayers": layers,
        "embedding_size": 6,
        "nout": nout,
        "document_delimiter": "\n",
        "dropout": 0.1,
        "recurrent_type": kind,
        "has_decoder": True,
    }


def save(state: Any, file: Path, protocol: int = 4, zipped: bool = True) -> Path:
    with pretended_flair():
        torch.save(state, file, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    return file


def run_lstm(state: dict[str, Any], string: str) -> NDArray[np.float64]:
    """The states of an LSTM after each character, written from the equations."""
    weights = {key: value.double().numpy() for key, value in state["state_dict"].items()}
    inputs = [weights["encoder.weight"][CHARACTERS.index(c) if c in CHARACTERS else 0] for c in string]
    for layer in range(state["nlayers"]):
        h, c = np.zeros(8), np.zeros(8)
        outputs = []
        for x in inputs:
            gates = weights[f"rnn.weight_ih_l{layer}"] @ x + weights[f"rnn.bias_ih_l{layer}"]
            gates = gates + weights[f"rnn.weight_hh_l{layer}"] @ h + weights[f"rnn.bias_hh_l{layer}"]
            i, f, g, o = np.split(gates, 4)
            c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
            h = np.tanh(c) / (1 + np.exp(-o))
            outputs.append(h)
        inputs = outputs
    rows = np.array(inputs)
    return rows if state["nout"] is None else rows @ weights["proj.weight"].T + weights["proj.bias"]


def expected_tokens(state: dict[str, Any], text: str) -> NDArray[np.float64]:
    for dropped in "\u200b\ufeff\u0081":
        text = text.replace(dropped, "")
    tokens = text.replace("\u0092", "\u2019").split() or ["."]
    line = " ".join(tokens)
    rows = []
    place = 0
    for token in tokens:
        if state["is_forward_lm"]:
            rows.append(run_lstm(state, "\n" + line[: place + len(token)] + " ")[-1])
        else:
            rows.append(run_lstm(state, "\n" + line[place:][::-1] + " ")[-1])
        place += len(token) + 1
    return np.array(rows)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Two threads that wait for each other at every character cost more than they bring on models this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flair")
    save(make_state(True), folder / "forward.pt")
    save(make_state(False), folder / "backward.pt")
    return folder


def test_stacked_models_equal_the_equations_read_by_numpy(folder: Path) -> None:
    encoder = load_encoder(f"flair:{folder / 'forward.pt'}+{folder / 'backward.pt'}")
    assert isinstance(encoder, TokenEncoder)
    assert encoder.name == "forward+backward"
    assert re.fullmatch(r"flair-[0-9a-f]{32}\+[0-9a-f]{32}-pooling=mean", encoder.identity)
    texts = [*(text[:80] for text in TEXTS), "the patient denies fever . " * 6]
    tokens = [np.hstack([expected_tokens(make_state(way), text) for way in (True, False)]) for text in texts]
    found = encoder.encode_tokens(texts)
    assert np.diff(found.offsets).tolist() == [len(rows) for rows in tokens]
    assert found.values == pytest.approx(np.concatenate(tokens), abs=1e-5)
    assert encoder.encode(texts) == pytest.approx(np.array([rows.mean(0) for rows in tokens]), abs=1e-5)
    largest = load_encoder(f"flair:{folder / 'forward.pt'}+{folder / 'backward.pt'},pooling=max")
    assert largest.encode(texts) == pytest.approx(np.array([rows.max(0) for rows in tokens]), abs=1e-5)


@pytest.mark.parametrize("way", ["forward", "backward"])
def test_one_model_alone_and_a_very_long_text(folder: Path, way: str) -> None:
    encoder = load_encoder(f"flair:{folder / way}.pt")
    expected = [expected_tokens(make_state(way == "forward"), text).mean(0) for text in TEXTS]
    assert max(map(len, TEXTS)) > 3 * 512
    assert encoder.encode(TEXTS) == pytest.approx(np.array(expected), abs=1e-5)


def test_layers_and_projection_are_honoured(tmp_path: Path) -> None:
    state = make_state(True, layers=2, nout=5)
    encoder = load_encoder(f"flair:{save(state, tmp_path / 'deep.pt')}")
    expected = [expected_tokens(state, text[:60]).mean(0) for text in TEXTS]
    assert encoder.encode([text[:60] for text in TEXTS]) == pytest.approx(np.array(expected), abs=1e-5)
    gru = load_encoder(f"flair:{save(make_state(True, kind='GRU'), tmp_path / 'gru.pt')}")
    assert gru.encode(TEXTS).shape == (len(TEXTS), 8)


@pytest.mark.parametrize(("protocol", "zipped"), [(2, True), (2, False), (4, False)])
def test_old_and_new_file_formats_give_the_same_encoder(folder: Path, tmp_path: Path, protocol: int, zipped: bool) -> None:
    state = make_state(True)
    # The files of 2018 lack the later entries.
    for key in ("document_delimiter", "recurrent_type", "has_decoder"):
        del state[key]
    old = load_encoder(f"flair:{save(state, tmp_path / 'old.pt', protocol, zipped)}")
    new = load_encoder(f"flair:{folder / 'forward.pt'}")
    assert old.identity == new.identity
    assert np.array_equal(old.encode(TEXTS), new.encode(TEXTS))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.sampled_from(TEXTS[:4]) | st.text(max_size=30), min_size=1, max_size=40), data=st.data())
def test_a_text_has_one_vector_whatever_its_neighbours(folder: Path, texts: list[str], data: st.DataObject) -> None:
    encoder = load_encoder(f"flair:{folder / 'forward.pt'}+{folder / 'backward.pt'}")
    alone = np.vstack([encoder.encode([text]) for text in texts])
    order = data.draw(st.permutations(range(len(texts))))
    assert encoder.encode([texts[i] for i in order]) == pytest.approx(alone[list(order)], abs=1e-5)
    assert pool(encoder.encode_tokens(texts), "mean") == pytest.approx(alone, abs=1e-5)  # type: ignore[attr-defined]
    assert encoder.encode([]).shape == (0, 16)


CHANGES: dict[str, Any] = {
    "nothing": lambda state: None,
    "the decoder": lambda state: state["state_dict"]["decoder.bias"].add_(1),
    "the dropout": lambda state: state.update(dropout=0.5),
    "an embedding": lambda state: state["state_dict"]["encoder.weight"][3, 2].add_(0.5),
    "the network": lambda state: state["state_dict"]["rnn.bias_hh_l0"][4].add_(0.5),
    "the dictionary": lambda state: state.update(dictionary=Dictionary(["<unk>", *reversed(CHARACTERS[1:])])),
    "the delimiter": lambda state: state.update(document_delimiter="\n\n"),
    "the direction": lambda state: state.update(is_forward_lm=False),
}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    change=st.sampled_from(list(CHANGES)),
    poolings=st.tuples(st.sampled_from(["mean", "max"]), st.sampled_from(["mean", "max"])),
)
def test_identities_are_equal_exactly_when_vectors_are(tmp_path: Path, change: str, poolings: tuple[str, str]) -> None:
    plain, changed = make_state(True), make_state(True)
    CHANGES[change](changed)
    one = load_encoder(f"flair:{save(plain, tmp_path / 'a.pt')},pooling={poolings[0]}")
    other = load_encoder(f"flair:{save(changed, tmp_path / 'b.pt')},pooling={poolings[1]}")
    texts = ["the patient denies fever .", "abc cab"]
    assert (one.identity == other.identity) == np.array_equal(one.encode(texts), other.encode(texts))


def test_no_code_of_a_file_is_run(tmp_path: Path) -> None:
    trap = Trap(tmp_path / "hacked")
    for protocol in (2, 4):
        for zipped in (True, False):
            file = save({**make_state(True), "extra": trap}, tmp_path / "evil.pt", protocol, zipped)
            with pytest.raises(EncoderError, match=r"evil\.pt: cannot be read, and code in it is never run .*mkdir"):
                load_encoder(f"flair:{file}")
    (tmp_path / "evil.pt").write_bytes(pickle.dumps(trap))
    with pytest.raises(EncoderError, match=r"evil\.pt"):
        load_encoder(f"flair:{tmp_path / 'evil.pt'}")
    assert not (tmp_path / "hacked").exists()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:Duplicate name:UserWarning")
def test_a_torchscript_archive_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "scripted.pt"
    torch.jit.script(Scripted(tmp_path / "hacked")).save(str(file))
    (tmp_path / "hacked").unlink(missing_ok=True)
    torch.jit.load(str(file))
    assert (tmp_path / "hacked").is_file()  # this is what it does where it is loaded
    (tmp_path / "hacked").unlink()
    with pytest.raises(EncoderError, match="TorchScript"):
        load_encoder(f"flair:{file}")
    assert not (tmp_path / "hacked").exists()
    # The same beside a language model, with and without the entry that torch knows such archives by.
    whole = save(make_state(True), tmp_path / "both.pt")
    mixed = tmp_path / "mixed.pt"
    for left_out in ("none", "constants.pkl"):
        with zipfile.ZipFile(whole) as model, zipfile.ZipFile(file) as script, zipfile.ZipFile(mixed, "w") as out:
            for source in (script, model):
                for name in source.namelist():
                    if not name.endswith((left_out, "/.data/serialization_id")):
                        out.writestr("mixed/" + name.partition("/")[2], source.read(name))
        with pytest.raises(EncoderError, match="TorchScript"):
            load_encoder(f"flair:{mixed}")
        assert not (tmp_path / "hacked").exists()


def handmade(pickled: bytes, file: Path, storage: bytes = b"\0" * 16) -> Path:
    """An archive of torch.save around a pickle of one's own."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in (("data.pkl", pickled), ("data/0", storage), ("version", b"3\n")):
            archive.writestr(f"{file.stem}/{name}", content)
    return file


def test_a_pickle_cannot_change_what_it_finds(folder: Path, tmp_path: Path) -> None:
    """Opcode b sets attributes of whatever lies on the stack: of a function, a class or a type of torch."""
    before = load_encoder(f"flair:{folder / 'forward.pt'}").identity
    for name in (
        b"torch\nFloatStorage",
        b"flair.data\nDictionary",
        b"torch._utils\n_rebuild_tensor_v2",
        b"collections\nOrderedDict",
    ):
        for state in (b"(N}\x8c\x08item2idxK\x05st", b"}\x8c\x08item2idxK\x05s", b"(N}\x8c\x0c__defaults__)st"):
            file = handmade(b"\x80\x04c" + name + b"\n" + state + b"b.", tmp_path / "changed.pt")
            with pytest.raises(EncoderError, match=r"changed\.pt"):
                load_encoder(f"flair:{file}")
            assert not hasattr(torch.FloatStorage, "item2idx")
            assert torch._utils._rebuild_tensor_v2.__defaults__
            assert load_encoder(f"flair:{folder / 'forward.pt'}").identity == before


TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n((\x8c\x07storagectorch\nFloatStorage\n\x8c\x010\x8c\x03cpu%stQK\x00(%st(%st\x89NtR."
)


@pytest.mark.parametrize(
    ("pickled", "named"),
    [
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "numbers its parts"),
        (b"\x80\x02c_codecs\nencode\n(\x8c\x01a\x8c\x03hextR.", r"cannot be read, .* \('hex'\)"),
        (b"\x80\x04" + TENSOR % (b"J\xff\xff\xff\x7f", b"K\x04", b"K\x01"), "more numbers than it holds"),
        (b"\x80\x04" + TENSOR % (b"J\xff\xff\xff\xff", b"K\x04", b"K\x01"), "more numbers than it holds"),
        (b"\x80\x04" + TENSOR % (b"K\x04", b"J\xff\xff\xff\x7f", b"K\x00"), "spreads 4 numbers"),
        (b"\x80\x04" + TENSOR % (b"K\x04", b"K\x09", b"K\x01"), "out of bounds"),
        (b"\x80\x04" + TENSOR % (b"K\x04", b"K\x04", b"J\xff\xff\xff\xff"), "egative stride"),
        (b"\x80\x04" + TENSOR % (b"K\x03", b"K\x03", b"K\x01"), "holds no 'state_dict'"),
        (b"\x80\x04" + TENSOR % (b"K\x05", b"K\x05", b"K\x01"), "ends within its numbers"),
    ],
    ids=str.split("note encoding long negative-length spread out-of-bounds stride vector short"),
)
def test_sizes_and_places_in_a_pickle_are_not_believed(tmp_path: Path, pickled: bytes, named: str) -> None:
    with pytest.raises(EncoderError, match=named):
        load_encoder(f"flair:{handmade(pickled, tmp_path / 'm.pt')}")


def test_an_archive_is_what_its_first_entry_belongs_to(folder: Path, tmp_path: Path) -> None:
    """As torch has it; whatever other folders an archive holds is no model."""
    with zipfile.ZipFile(folder / "forward.pt") as good, zipfile.ZipFile(tmp_path / "two.pt", "w") as two:
        two.writestr("other/version", b"3\n")
        for name in good.namelist():
            two.writestr(name, good.read(name))
    with pytest.raises(RuntimeError):
        torch.load(tmp_path / "two.pt", weights_only=True)
    with pytest.raises(EncoderError, match=r"two\.pt: cannot be read, .*no item named 'other/data\.pkl'"):
        load_encoder(f"flair:{tmp_path / 'two.pt'}")


def test_a_compressed_archive_is_refused(folder: Path, tmp_path: Path) -> None:
    small = zipfile.ZipFile(tmp_path / "small.pt", "w", zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(folder / "forward.pt") as good, small:
        for name in good.namelist():
            small.writestr(name, good.read(name))
    with pytest.raises(EncoderError, match="compressed"):
        load_encoder(f"flair:{tmp_path / 'small.pt'}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nlayers", 10**9),
        ("hidden_size", 10**12),
        ("hidden_size", -8),
        ("hidden_size", "8"),
        ("embedding_size", None),
        ("nout", 1.5),
        ("document_delimiter", ["\n"]),
        ("recurrent_type", ["lstm"]),
        ("state_dict", [1]),
        ("state_dict", {1: 2}),
        ("state_dict", {"encoder.weight": "no tensor"}),
    ],
)
def test_values_that_no_language_model_has_are_refused(tmp_path: Path, key: str, value: Any) -> None:
    file = save({**make_state(True), key: value}, tmp_path / "odd.pt")
    with pytest.raises(EncoderError, match=r"odd\.pt"):
        load_encoder(f"flair:{file}")


def test_numbers_outside_the_table_and_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    changes: list[Callable[[Any], Any]] = [
        lambda state: state["dictionary"].item2idx.update({b"q": len(CHARACTERS)}),
        lambda state: state["dictionary"].item2idx.update({b"q": -1}),
        lambda state: state["dictionary"].item2idx.update({"q": 1}),
        lambda state: state["dictionary"].item2idx.update({b"\xff": 1}),
        lambda state: state["state_dict"]["encoder.weight"].fill_(float("nan")),
    ]
    for change in changes:
        state = make_state(True)
        change(state)
        with pytest.raises(EncoderError, match=r"odd\.pt"):
            load_encoder(f"flair:{save(state, tmp_path / 'odd.pt')}")


def test_wrong_files_are_refused_by_name(folder: Path, tmp_path: Path) -> None:
    good = folder / "forward.pt"
    whole = good.read_bytes()
    (tmp_path / "cut.pt").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "page.pt").write_text("<html>not found</html>")
    (tmp_path / "empty.pt").write_bytes(b"")
    legacy = save(make_state(True), tmp_path / "legacy.pt", zipped=False)
    legacy.write_bytes(legacy.read_bytes()[:-300])
    save({"a": torch.ones(2)}, tmp_path / "tensors.pt")
    save([1, 2], tmp_path / "list.pt")
    save({**make_state(True), "dictionary": {"a": 1}}, tmp_path / "plain.pt")
    save({**make_state(True), "hidden_size": 9}, tmp_path / "sizes.pt")
    save({**make_state(True), "recurrent_type": "xlstm"}, tmp_path / "xlstm.pt")
    for name in ("cut", "page", "empty", "legacy", "tensors", "list", "plain", "sizes", "xlstm", "absent"):
        with pytest.raises(EncoderError, match=rf"{name}\.pt"):
            load_encoder(f"flair:{good}+{tmp_path / name}.pt")
    # What the first and last bytes tell, they tell before torch is imported.
    script = (
        "import sys\nfrom medsenteval.registry import load_encoder\n"
        "for spec in sys.argv[1:]:\n"
        "    try: load_encoder('flair:' + spec)\n"
        "    except Exception as error: print(type(error).__name__)\n"
        "assert 'torch' not in sys.modules"
    )
    specs = [f"{good}+{tmp_path / name}.pt" for name in ("cut", "page", "empty", "absent")]
    done = subprocess.run([sys.executable, "-c", script, *specs], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["EncoderError"] * 4
    for spec, named in [
        ("", "FORWARD"),
        (f"{good}+{good}", r"are both forward models; expected is one of each direction"),
        (f"{folder / 'backward.pt'}+{folder / 'backward.pt'}", "are both backward models"),
        (f"{good},pooling=sum", "sum"),
        (f"{tmp_path}", "no file"),
    ]:
        with pytest.raises(EncoderError, match=named):
            load_encoder(f"flair:{spec}")


def test_a_plus_in_a_files_name_is_part_of_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a+b.pt").write_bytes((folder / "forward.pt").read_bytes())
    alone = load_encoder(f"flair:{tmp_path / 'a+b.pt'}")
    stacked = load_encoder(f"flair:{tmp_path / 'a+b.pt'}+{folder / 'backward.pt'}")
    assert alone.encode(["x"]).shape == (1, 8)
    assert stacked.encode(["x"]).shape == (1, 16)


def test_an_absent_package_is_named_with_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"medsenteval\[flair\]"):
        load_encoder(f"flair:{folder / 'forward.pt'}")


@pytest.mark.slow
def test_files_that_flair_wrote_give_flairs_own_vectors(tmp_path: Path) -> None:
    pytest.importorskip("flair")
    from flair.data import Dictionary as FlairDictionary
    from flair.data import Sentence
    from flair.embeddings import DocumentPoolEmbeddings, FlairEmbeddings
    from flair.models import LanguageModel

    dictionary = FlairDictionary()
    for character in CHARACTERS[1:]:
        dictionary.add_item(character)
    torch.manual_seed(0)
    files = []
    for way, nout in ((True, None), (False, 7)):
        files.append(str(tmp_path / f"{way}.pt"))
        LanguageModel(dictionary, way, hidden_size=12, nlayers=1, embedding_size=5, nout=nout).save(files[-1])
    texts = [text for text in TEXTS if text.strip("\u200b\ufeff ")]
    sentences = [Sentence(" ".join(text.split()), use_tokenizer=False) for text in texts]
    reference = DocumentPoolEmbeddings([FlairEmbeddings(file) for file in files], fine_tune_mode="none")
    reference.embed(sentences)
    expected = np.array([sentence.embedding.detach().cpu().numpy() for sentence in sentences])
    assert load_encoder(f"flair:{files[0]}+{files[1]}").encode(texts) == pytest.approx(expected, abs=1e-5)


def test_no_texts_have_no_rows_and_parameters_are_tensors(folder: Path, tmp_path: Path) -> None:
    encoder: Any = load_encoder(f"flair:{folder / 'forward.pt'}")
    none = encoder.encode_tokens([])
    assert (len(none), none.values.shape, none.offsets.tolist(), none.known.shape) == (0, (0, 0), [0], (0,))
    assert encoder.encode([]).shape == (0, encoder.dimension)
    state = make_state(True)
    state["state_dict"] = {key: torch.nn.Parameter(value) for key, value in state["state_dict"].items()}
    same = load_encoder(f"flair:{save(state, tmp_path / 'parameters.pt')}")
    assert np.array_equal(same.encode(["fever"]), encoder.encode(["fever"]))


@pytest.mark.parametrize("zipped", [True, False])
def test_a_tensor_without_numbers_is_read(tmp_path: Path, zipped: bool) -> None:
    file = tmp_path / "model.pt"
    torch.save({"none": torch.zeros(0), "some": torch.arange(3.0)}, file, _use_new_zipfile_serialization=zipped)
    found = read_torch_file(file, "expected is a model")
    assert (found["none"].tolist(), found["some"].tolist()) == ([], [0.0, 1.0, 2.0])


def test_characters_are_repaired_as_flair_repairs_them(folder: Path) -> None:
    encoder: Any = load_encoder(f"flair:{folder / 'forward.pt'}")
    for dropped in "\u200b\u200c\ufe0f\ufeff\u2028\u2029\u0081\u008d\u008f\u0090":
        assert np.array_equal(encoder.encode([f"fe{dropped}ver"]), encoder.encode(["fever"]))
    meant = bytes(range(0x80, 0x9A)).decode("windows-1252", "ignore")
    read = "".join(map(chr, range(0x80, 0x9A))).translate(flair._REPAIRED)
    assert read == meant
    assert "\x7f\x9a\u200a\u200d".translate(flair._REPAIRED) == "\x7f\x9a\u200a\u200d"


@pytest.mark.parametrize(("layers", "known"), [(0, False), (1, True), (64, True), (65, False)])
def test_a_network_has_some_layers_but_not_too_many(layers: int, known: bool) -> None:
    stored = {**make_state(True), "nlayers": layers}
    stored["dictionary"] = type("Read", (Characters,), vars(Dictionary(CHARACTERS)))()
    named = "Missing key|size mismatch" if known else f"it has {layers} layers"
    if layers == 1:
        assert flair.LanguageModel(stored, "cpu").dimension == 8
        return
    with pytest.raises((ValueError, RuntimeError), match=named):
        flair.LanguageModel(stored, "cpu")

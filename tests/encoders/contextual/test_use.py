"""A tiny TF2 SavedModel and a tiny TF1 hub module, against the means that they stand for, written in NumPy."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from medsenteval.encoders.contextual import use
from medsenteval.encoders.contextual.use import _called, _link, _tags, checked_files
from medsenteval.errors import EncoderError, MissingExtraError
from medsenteval.registry import load_encoder

WORDS = ["chest", "pain", "the", "patient", "denies", "fever", "β-blocker"]
TEXTS = ["", "fever", "the patient denies chest pain", "patient " * 500, "心臓 病", "β-blocker ≥ 5 µg", " \t "]
#: Importing TensorFlow takes ten seconds and more.
needs_tensorflow = pytest.mark.slow


def make_table(seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(len(WORDS) + 1, 6)).astype(np.float32)


def expected_rows(texts: list[str], seed: int = 0) -> NDArray[np.float64]:
    """The mean of word vectors, the last row being that of unknown words."""
    table = make_table(seed).astype(np.float64)
    rows = np.zeros((len(texts), 6))
    for row, text in zip(rows, texts, strict=True):
        words = text.split()
        row += sum(table[WORDS.index(word) if word in WORDS else -1] for word in words) / max(1, len(words))
    return rows


def graph_rows(tensorflow: Any, texts: Any, numbers: Any, table: Any) -> Any:
    """The same as a TensorFlow graph, for either format."""
    words = tensorflow.strings.split(texts)
    vectors = tensorflow.gather(table, numbers.lookup(words.flat_values))
    sums = tensorflow.math.unsorted_segment_sum(vectors, words.value_rowids(), words.nrows())
    counts = tensorflow.cast(tensorflow.maximum(words.row_lengths(), 1), tensorflow.float32)
    return sums / counts[:, None]


def lookup(tensorflow: Any, vocabulary: Path) -> Any:
    initializer = tensorflow.lookup.TextFileInitializer(
        str(vocabulary),
        tensorflow.string,
        tensorflow.lookup.TextFileIndex.WHOLE_LINE,
        tensorflow.int64,
        tensorflow.lookup.TextFileIndex.LINE_NUMBER,
    )
    return tensorflow.lookup.StaticVocabularyTable(initializer, num_oov_buckets=1)


def save_tf2(tensorflow: Any, folder: Path, seed: int = 0) -> Path:
    vocabulary = folder.parent / "words.txt"
    vocabulary.write_text("\n".join(WORDS), "utf-8")

    class Encoder(tensorflow.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = tensorflow.Variable(make_table(seed))
            self.numbers = lookup(tensorflow, vocabulary)

        @tensorflow.function(input_signature=[tensorflow.TensorSpec([None], tensorflow.string)])  # type: ignore[untyped-decorator]
        def __call__(self, inputs: Any) -> Any:
            return graph_rows(tensorflow, inputs, self.numbers, self.table)

    tensorflow.saved_model.save(Encoder(), str(folder))
    return folder


def save_tf1(tensorflow: Any, folder: Path, seed: int = 0, outputs: tuple[str, ...] = ("default",)) -> Path:
    """A hub module of TF1: a graph without tags and one tagged "train", each with the signature "default"."""
    v1 = tensorflow.compat.v1
    vocabulary = folder.parent / "words.txt"
    vocabulary.write_text("\n".join(WORDS), "utf-8")
    builder = v1.saved_model.Builder(str(folder))
    for tags in ([], ["train"]):
        with tensorflow.Graph().as_default(), v1.Session() as session:
            texts = v1.placeholder(tensorflow.string, [None], name="text")
            table = v1.get_variable("table", initializer=make_table(seed))
            rows = graph_rows(tensorflow, texts, lookup(tensorflow, vocabulary), table)
            if tags:
                rows = rows + 1  # so that the wrong graph would be noticed
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            describe = v1.saved_model.build_tensor_info
            signature = v1.saved_model.build_signature_def(
                {"text": describe(texts)}, {name: describe(rows) for name in outputs}, "default"
            )
            arguments = {
                "signature_def_map": {"default": signature},
                "main_op": v1.tables_initializer(),
                "assets_collection": [v1.get_default_graph().get_tensor_by_name("asset_path:0")],
            }
            if tags:
                builder.add_meta_graph(tags, **arguments)
            else:
                builder.add_meta_graph_and_variables(session, tags, **arguments)
    builder.save()
    (folder / "tfhub_module.pb").write_bytes(b"\x08\x03")
    return folder


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    return pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def tf2(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tf2(tensorflow, tmp_path_factory.mktemp("tf2") / "use")


@pytest.fixture(scope="module")
def tf1(tensorflow: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tf1(tensorflow, tmp_path_factory.mktemp("tf1") / "use")


@needs_tensorflow
@pytest.mark.parametrize("version", ["tf1", "tf2"])
def test_vectors_equal_the_means_whatever_the_neighbours(version: str, request: pytest.FixtureRequest) -> None:
    encoder = load_encoder(f"use:{request.getfixturevalue(version)}")
    assert encoder.name == "use"
    rows = encoder.encode(TEXTS)
    assert rows.dtype == np.float32
    assert rows == pytest.approx(expected_rows(TEXTS), abs=1e-5)
    assert encoder.encode(TEXTS[::-1]) == pytest.approx(rows[::-1], abs=1e-5)
    for text, row in zip(TEXTS, rows, strict=True):
        assert encoder.encode([text])[0] == pytest.approx(row, abs=1e-5)
    assert encoder.encode([]).shape == (0, 6)


@needs_tensorflow
def test_what_is_not_called_has_a_usual_signature_and_output(tensorflow: Any, tmp_path: Path) -> None:
    texts = tensorflow.TensorSpec([None], tensorflow.string)

    class Model(tensorflow.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.one = tensorflow.function(lambda inputs: {"rows": self.lengths(inputs)}, [texts])
            self.two = tensorflow.function(lambda inputs: {"a": inputs, "outputs": 2 * self.lengths(inputs)}, [texts])
            self.odd = tensorflow.function(lambda inputs: {"a": inputs, "b": self.lengths(inputs)}, [texts])
            numbers = tensorflow.TensorSpec([None], tensorflow.int32)
            self.count = tensorflow.function(lambda inputs: {"outputs": inputs}, [numbers])

        def lengths(self, inputs: Any) -> Any:
            return tensorflow.cast(tensorflow.strings.length(inputs), tensorflow.float32)[:, None]

    model = Model()

    def saved(name: str, **signatures: Any) -> str:
        tensorflow.saved_model.save(model, str(tmp_path / name), signatures=signatures)
        return f"use:{tmp_path / name}"

    for spec, factor, chosen in (
        (saved("one", serving_default=model.one), 1, "serving_default-rows"),
        (saved("two", serving_default=model.two), 2, "serving_default-outputs"),
        (saved("both", serving_default=model.two, default=model.one), 1, "default-rows"),
    ):
        encoder = load_encoder(spec)
        assert encoder.encode(["fever", ""]).tolist() == [[5 * factor], [0]]
        assert encoder.identity.endswith(f"-{chosen}")
    for spec, named in (
        (saved("odd", serving_default=model.odd), "has the outputs a, b; expected is one, or one called default"),
        (saved("count", serving_default=model.count), "int32.*expected is one input of texts"),
        (saved("other", other=model.one), "has no signature default or serving_default; it has other"),
        (saved("none"), "has no signature default or serving_default; it has none"),
    ):
        with pytest.raises(EncoderError, match=named):
            load_encoder(spec)
    several = save_tf1(tensorflow, tmp_path / "several", outputs=("default", "other"))
    assert load_encoder(f"use:{several}").encode(TEXTS) == pytest.approx(expected_rows(TEXTS), abs=1e-5)


@needs_tensorflow
def test_identity_follows_weights_and_vocabulary_but_not_the_place(tf2: Path, tensorflow: Any, tmp_path: Path) -> None:
    identity = load_encoder(f"use:{tf2}").identity
    assert re.fullmatch(r"use-[0-9a-f]{32}-call", identity)
    copy = shutil.copytree(tf2, tmp_path / "elsewhere")
    (copy / "README").write_text("moved")
    assert load_encoder(f"use:{copy}").identity == identity
    vocabulary = next((copy / "assets").iterdir())
    vocabulary.write_text("\n".join(reversed(WORDS)), "utf-8")
    assert load_encoder(f"use:{copy}").identity != identity
    other = save_tf2(tensorflow, tmp_path / "other", seed=1)
    assert load_encoder(f"use:{other}").identity != identity


@needs_tensorflow
def test_spoilt_copies_are_refused_at_once_and_by_name(
    tf2: Path, tf1: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, good in enumerate((tf1, tf2)):
        for fault, named in [
            ("data", "variables"),
            ("index", "variables"),
            ("no graph", r"saved_model\.pb"),
        ]:
            copy = shutil.copytree(good, tmp_path / f"{fault}{number}")
            graph = copy / "saved_model.pb"
            if fault == "data":
                next((copy / "variables").glob("variables.data*")).unlink()
            elif fault == "index":
                (copy / "variables" / "variables.index").unlink()
            else:
                graph.unlink()
            with monkeypatch.context() as patched:
                patched.setattr(use, "_load_saved_model", None)  # none of it is needed to tell
                with pytest.raises(EncoderError, match=named) as caught:
                    load_encoder(f"use:{copy}")
            assert str(copy) in str(caught.value)
        copy = shutil.copytree(good, tmp_path / f"graph{number}")
        whole = (copy / "saved_model.pb").read_bytes()
        for content in (whole[:-50], whole[:-1], b"<html>not found</html>", b"\x08\x01", b""):
            (copy / "saved_model.pb").write_bytes(content)
            with pytest.raises(EncoderError, match=rf"{copy}.saved_model\.pb is cut off or is no SavedModel"):
                load_encoder(f"use:{copy}")
        copy = shutil.copytree(good, tmp_path / f"short{number}")
        data = next((copy / "variables").glob("variables.data*"))
        data.write_bytes(data.read_bytes()[:20])
        with pytest.raises(EncoderError, match=str(copy)):
            load_encoder(f"use:{copy}")


def test_wrong_arguments_are_refused_without_tensorflow(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom medsenteval.registry import load_encoder\n"
        "for spec in sys.argv[1:]:\n"
        "    try: load_encoder('use:' + spec)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
        "assert 'tensorflow' not in sys.modules"
    )
    specs = ["", str(tmp_path / "absent"), __file__, str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", script, *specs], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    for line, named in zip(lines, ["PATH", "no folder", "a file", "no saved_model.pb"], strict=True):
        assert line.startswith("EncoderError use")
        assert named in line


def test_absent_packages_are_named_with_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    monkeypatch.setitem(sys.modules, "tensorflow_hub", None)
    # The outer frame of a SavedModel: version 1 and one empty graph.
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01\x12\x00")
    with pytest.raises(MissingExtraError, match=r"tensorflow.*medsenteval\[use\]"):
        load_encoder(f"use:{tmp_path}")
    with pytest.raises(MissingExtraError, match=r"tensorflow-hub.*medsenteval\[use\]"):
        load_encoder("use:https://tfhub.dev/google/universal-sentence-encoder/4")


@needs_tensorflow
def test_an_address_is_resolved_by_tensorflow_hub(tf2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("tensorflow_hub")
    asked = []

    def resolve(address: str) -> str:
        asked.append(address)
        if "absent" in address:
            raise OSError("no such model")
        return str(tf2)

    monkeypatch.setattr(hub, "resolve", resolve)
    encoder = load_encoder("use:https://tfhub.dev/google/universal-sentence-encoder/4")
    assert asked == ["https://tfhub.dev/google/universal-sentence-encoder/4"]
    assert encoder.name == "google-universal-sentence-encoder-4"
    assert encoder.identity == load_encoder(f"use:{tf2}").identity
    with pytest.raises(EncoderError, match="no such model"):
        load_encoder("use:https://tfhub.dev/absent/1")


@pytest.mark.parametrize(
    ("tags", "chosen"), [([["train"]], None), ([["train"], []], []), ([["serve"], ["train"]], ["serve"]), ([["serve"], []], [])]
)
def test_the_graph_for_inference_is_chosen(tags: list[list[str]], chosen: list[str] | None) -> None:
    graphs = [SimpleNamespace(meta_info_def=SimpleNamespace(tags=each)) for each in tags]
    assert _tags(SimpleNamespace(meta_graphs=graphs), "here") == chosen
    odd = [SimpleNamespace(meta_info_def=SimpleNamespace(tags=[each])) for each in ("a", "b")]
    with pytest.raises(EncoderError, match=r"here has the tags .*; expected is one without tags or tagged 'serve'"):
        _tags(SimpleNamespace(meta_graphs=odd), "here")


def test_a_folder_is_copied_where_no_links_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "words.txt").write_text("fever")
    _link(tmp_path / "assets", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()

    def refused(*arguments: Any, **options: Any) -> None:
        raise OSError("not permitted")

    monkeypatch.setattr("os.symlink", refused)
    _link(tmp_path / "assets", tmp_path / "copy")
    assert not (tmp_path / "copy").is_symlink()
    for place in ("link", "copy"):
        assert (tmp_path / place / "words.txt").read_text() == "fever"


def test_a_models_files_are_whole_and_in_a_fixed_order(tmp_path: Path) -> None:
    graph, variables, assets = tmp_path / "saved_model.pb", tmp_path / "variables", tmp_path / "assets"
    for wrong, reason in (
        (tmp_path, "has no saved_model.pb"),
        (tmp_path / "no", "is no folder"),
        (Path(__file__), "is a file"),
    ):
        with pytest.raises(EncoderError, match=f"^use: {wrong} {reason}; expected is an unpacked TensorFlow Hub model"):
            checked_files(wrong)
    graph.touch()
    assert checked_files(tmp_path) == [graph]
    for folder in (variables, assets):
        folder.mkdir()
    assert checked_files(tmp_path) == [graph]
    (tmp_path / "README.md").touch()
    (assets / "words.txt").touch()
    names = ("variables.index", "variables.data-00001-of-00002", "variables.data-00000-of-00002")
    for name in names:
        (variables / name).touch()
        if name == "variables.index":
            with pytest.raises(EncoderError, match=r"variables is not whole; expected are variables\.index and"):
                checked_files(tmp_path)
    assert checked_files(tmp_path) == [graph, *(variables / name for name in sorted(names)), assets / "words.txt"]
    (variables / "variables.index").unlink()
    with pytest.raises(EncoderError, match="variables is not whole"):
        checked_files(tmp_path)


def test_a_graph_that_fails_on_texts_is_named_by_its_folder(tmp_path: Path) -> None:
    assert _called(lambda: 3, tmp_path) == 3
    with pytest.raises(EncoderError, match=f"use: the model in {tmp_path} does not take a list of texts: invalid literal"):
        _called(lambda: int("x"), tmp_path)

"""Graphs that try to write, to read what is not theirs, to run Python, or to pass texts on by the names of files."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medsenteval.encoders.contextual.use import _assets, _disarm, _is_plain
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from tests.encoders.contextual.test_use import TEXTS, WORDS, expected_rows, save_tf1, save_tf2

pytestmark = pytest.mark.slow  # importing TensorFlow takes ten seconds and more


@pytest.fixture(scope="module")
def tf() -> Any:
    return pytest.importorskip("tensorflow")


def save(tf: Any, folder: Path, act: Callable[[Any], Any]) -> Path:
    """Save a TF2 model that gives each text two zeros and acts on the way; a tensor that ``act`` returns is added."""

    class Model(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])  # type: ignore[untyped-decorator]
        def __call__(self, inputs: Any) -> Any:
            zeros = tf.zeros([tf.size(inputs), 2])
            added = act(inputs)
            return zeros + tf.cast(added, tf.float32) if tf.is_tensor(added) else zeros

    tf.saved_model.save(Model(), str(folder))
    return folder


def print_to_file(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    return lambda texts: tf.print(texts, output_stream=f"file://{hacked}")


def print_in_a_branch(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    stream = f"file://{hacked}"
    return lambda texts: tf.cond(tf.size(texts) > 0, lambda: tf.print("x", output_stream=stream), lambda: tf.no_op())


def print_in_a_loop(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.print("x", output_stream=f"file://{hacked}")]):
            return (tf.add(i, 1),)

    return lambda texts: tf.while_loop(lambda i: i < 2, body, [tf.constant(0)])[0] * 0


def print_in_a_function(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    @tf.function  # type: ignore[untyped-decorator]
    def outer(texts: Any) -> Any:
        @tf.function  # type: ignore[untyped-decorator]
        def inner(texts: Any) -> Any:
            tf.print(texts, output_stream=f"file://{hacked}")
            return tf.constant(0.0)

        return inner(texts)

    return lambda texts: outer(texts)


def write_file(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    return lambda texts: tf.io.write_file(str(hacked), "x")


def python_function(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    def act() -> np.float32:
        hacked.mkdir()
        return np.float32(1)

    return lambda texts: tf.numpy_function(act, [], tf.float32)


def read_file(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    return lambda texts: tf.strings.length(tf.io.read_file("/etc/hostname"))


def list_files(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    return lambda texts: tf.size(tf.io.matching_files("/etc/*"))


def map_a_file(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    region = "/etc/hostname"
    return lambda texts: tf.raw_ops.ImmutableConst(dtype=tf.uint8, shape=[1], memory_region_name=region)[0]


def read_lines(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    return lambda texts: tf.data.TextLineDataset("/etc/hostname").reduce(0, lambda count, line: count + 1)


def debug_to_file(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    return lambda texts: tf.size(tf.raw_ops.DebugIdentity(input=texts, debug_urls=[f"file://{hacked}"]))


def summarise(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    def act(texts: Any) -> Any:
        writer = tf.raw_ops.SummaryWriter(shared_name="x")
        return tf.raw_ops.CreateSummaryFileWriter(
            writer=writer, logdir=str(hacked), max_queue=1, flush_millis=1, filename_suffix="x"
        )

    return act


def named_by(tf: Any, texts: Any, hacked: Path) -> Any:
    """Return a name that is computed from texts; were it one of a server, such as gs://, it would carry them there."""
    stored = str(hacked.parent / "stored")
    with tf.init_scope():
        tf.raw_ops.SaveV2(prefix=stored, tensor_names=["x"], shape_and_slices=[""], tensors=[tf.constant(1.0)])
    return tf.strings.join([stored, tf.strings.regex_replace(tf.strings.reduce_join(texts), "(?s).*", "")])


def restored(tf: Any, name: Any) -> Any:
    return tf.raw_ops.RestoreV2(prefix=name, tensor_names=["x"], shape_and_slices=[""], dtypes=[tf.float32])[0]


def restore_by_text(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    return lambda texts: restored(tf, named_by(tf, texts, hacked))


def restore_by_argument(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    @tf.function  # type: ignore[untyped-decorator]
    def restore(name: Any) -> Any:
        return restored(tf, name)

    return lambda texts: restore(named_by(tf, texts, hacked))


def table_by_text(tf: Any, hacked: Path) -> Callable[[Any], Any]:
    def act(texts: Any) -> Any:
        table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=table, filename="/etc/hostname", key_index=-2, value_index=-1, vocab_size=-1, delimiter="\t"
        )
        return tf.raw_ops.LookupTableSizeV2(table_handle=table)

    return act


ATTACKS = (
    print_to_file, print_in_a_branch, print_in_a_loop, print_in_a_function, write_file, python_function, read_file, list_files,
    map_a_file, read_lines, debug_to_file, summarise, restore_by_text, restore_by_argument,
    table_by_text,
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_graph_that_reaches_beyond_its_texts_is_refused(tf: Any, tmp_path: Path, attack: Callable[..., Any]) -> None:
    folder = save(tf, tmp_path / "model", attack(tf, tmp_path / "hacked"))
    with pytest.raises(EncoderError, match=str(folder)):
        load_encoder(f"use:{folder}").encode(["secret"])
    assert not (tmp_path / "hacked").exists()


def test_saving_is_taken_out_of_a_graph(tf: Any, tmp_path: Path) -> None:
    def act(texts: Any) -> Any:
        path = str(tmp_path / "hacked")
        saved = tf.raw_ops.SaveV2(prefix=path, tensor_names=["x"], shape_and_slices=[""], tensors=[texts])
        with tf.control_dependencies([saved]):
            return tf.zeros([])

    folder = save(tf, tmp_path / "model", act)
    assert load_encoder(f"use:{folder}").encode(["secret"]).tolist() == [[0, 0]]
    assert not list(tmp_path.glob("hacked*"))


def test_the_function_that_is_checked_is_the_one_that_is_called(tf: Any, tmp_path: Path) -> None:
    """A model can hold another function for one text at a time."""

    class Model(tf.Module):  # type: ignore[misc]
        @tf.function  # type: ignore[untyped-decorator]
        def __call__(self, inputs: Any) -> Any:
            zeros = tf.zeros([tf.size(inputs), 2])
            if inputs.shape[0] == 1:
                tf.raw_ops.RestoreV2(prefix=inputs[0], tensor_names=["x"], shape_and_slices=[""], dtypes=[tf.float32])
                return zeros + 1
            return zeros

    model = Model()
    model.__call__.get_concrete_function(tf.TensorSpec([1], tf.string))
    model.__call__.get_concrete_function(tf.TensorSpec([None], tf.string))
    tf.saved_model.save(model, str(tmp_path / "model"))
    try:
        rows = load_encoder(f"use:{tmp_path / 'model'}").encode(["one"])
    except EncoderError as error:
        rows = np.full((1, 2), "read" not in str(error), dtype=np.float32)
    assert rows.tolist() == [[0, 0]]


def change(folder: Path, act: Callable[[Any], None]) -> Path:
    """Change a saved graph's own description, as no Python program could save it."""
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    model.ParseFromString((folder / "saved_model.pb").read_bytes())
    for graph in model.meta_graphs:
        act(graph)
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())
    return folder


def rename_asset(graph: Any) -> None:
    from tensorflow.core.protobuf import meta_graph_pb2

    for asset in graph.asset_file_def:
        asset.filename = "../../secret.txt"
    for packed in graph.collection_def["saved_model_assets"].any_list.value if not graph.object_graph_def.nodes else ():
        asset = meta_graph_pb2.AssetFileDef()
        packed.Unpack(asset)
        asset.filename = "../../secret.txt"
        packed.Pack(asset)


def forget_asset(graph: Any) -> None:
    """Let the table be read from the path that the constant holds."""
    del graph.collection_def["saved_model_assets"].any_list.value[:]
    del graph.asset_file_def[:]


@pytest.mark.parametrize("make", [save_tf1, save_tf2], ids=["tf1", "tf2"])
def test_a_vocabulary_outside_the_folder_is_not_read(tf: Any, tmp_path: Path, make: Callable[..., Path]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "secret.txt").write_text("\n".join(WORDS), "utf-8")
    folder = change(make(tf, tmp_path / "in" / "model"), rename_asset)
    with pytest.raises(EncoderError, match=r"secret\.txt, which is not in"):
        load_encoder(f"use:{folder}")


@pytest.mark.parametrize("name", ["/etc/words.txt", "a/../../b", "..", "a\\b", "c:words.txt"])
def test_no_name_of_a_vocabulary_leads_out_of_its_folder(tf: Any, name: str) -> None:
    from tensorflow.core.protobuf import meta_graph_pb2

    graph = meta_graph_pb2.MetaGraphDef()
    for inside in ("words.txt", "a/b..txt", name):
        asset = graph.asset_file_def.add()
        asset.filename, asset.tensor_info.name = inside, f"{inside}:0"
    with pytest.raises(EncoderError, match=rf"the graph has the vocabulary {re.escape(name)}, which is not in its folder"):
        _assets(graph, "the graph")
    del graph.asset_file_def[-1]
    assert _assets(graph, "the graph") == {"words.txt", "a/b..txt"}
    assert not graph.collection_def


def test_a_files_name_is_an_argument_an_asset_or_a_constant_without_folders(tf: Any) -> None:
    nodes = tf.compat.v1.GraphDef().node
    for name, operation, inputs in [
        *(("held", "Placeholder", []), ("joined", "StringJoin", ["held"]), ("asset", "StringJoin", [])),
        *(("same", "Identity", ["held:0"]), ("default", "PlaceholderWithDefault", ["same"]), ("nothing", "Identity", [])),
        *((f"step{i}", "Identity", [f"step{i + 1}"]) for i in range(12)),
    ]:
        nodes.add(name=name, op=operation, input=inputs)
    for name, text in (("plain", b"words.txt"), ("path", b"a/b"), ("drive", b"a\\b")):
        nodes.add(name=name, op="Const").attr["value"].tensor.string_val.append(text)
    produced = {node.name: node for node in nodes}
    verdicts = {
        name: _is_plain(name, produced, frozenset({"asset"}))
        for name in (*produced, "argument", "argument:0", "", "^held", "^argument")
    }
    plain = {"held", "asset", "same", "default", "plain", "argument", "argument:0"}
    assert {name for name, is_plain in verdicts.items() if is_plain} == {*plain, *(f"step{i}" for i in range(3, 12))}


def test_a_model_that_needs_another_package_is_refused_with_the_remedy(tf: Any) -> None:
    from tensorflow.core.protobuf import meta_graph_pb2

    graph = meta_graph_pb2.MetaGraphDef()
    graph.graph_def.node.add(name="split", op="SentencepieceTokenizeOp")
    refused = "holds the operation SentencepieceTokenizeOp, which is not known to be harmless; .*TensorFlow Text.*python:"
    with pytest.raises(EncoderError, match=refused):
        _disarm(graph, "the graph")


def test_a_vocabulary_named_by_a_constant_is_not_read(tf: Any, tmp_path: Path) -> None:
    folder = change(save_tf1(tf, tmp_path / "model"), forget_asset)
    assert (tmp_path / "words.txt").is_file()  # where the constant leads
    with pytest.raises(EncoderError, match="InitializeTableFromTextFileV2 a file that is not its own"):
        load_encoder(f"use:{folder}")


def test_a_vocabulary_in_the_place_of_an_asset_is_not_read(tf: Any, tmp_path: Path) -> None:
    """The function that fills a table is handed a name as it is loaded: that of an asset, or what a constant holds."""
    (tmp_path / "secret.txt").write_text("\n".join(WORDS), "utf-8")

    def hold_a_path(graph: Any) -> None:
        (node,) = (
            node for node in graph.graph_def.node if node.name == graph.asset_file_def[0].tensor_info.name.partition(":")[0]
        )
        node.attr["value"].tensor.string_val[:] = [str(tmp_path / "secret.txt").encode()]
        for held in graph.object_graph_def.nodes:
            if held.WhichOneof("kind") == "asset":
                held.constant.operation = node.name
        del graph.asset_file_def[:]

    folder = change(save_tf2(tf, tmp_path / "model"), hold_a_path)
    with pytest.raises(EncoderError, match="reads a file that is not its own, by its function"):
        load_encoder(f"use:{folder}")


def test_a_function_that_fills_a_table_is_handed_no_computed_name(tf: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a\nb\n", "utf-8")

    @tf.function  # type: ignore[untyped-decorator]
    def fill(table: Any, name: Any) -> Any:
        places = {"key_index": -2, "value_index": -1, "vocab_size": -1, "delimiter": "\t"}
        tf.raw_ops.InitializeTableFromTextFileV2(table_handle=table, filename=name, **places)
        return tf.constant(0)

    class Table(tf.saved_model.experimental.TrackableResource):  # type: ignore[misc]
        def _create_resource(self) -> Any:
            return tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="a table")

        def _initialize(self) -> Any:
            return fill(self.resource_handle, tf.strings.join([f"{tmp_path}/", "secret.txt"]))

    class Model(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = Table()

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])  # type: ignore[untyped-decorator]
        def __call__(self, inputs: Any) -> Any:
            size = tf.raw_ops.LookupTableSizeV2(table_handle=self.table.resource_handle)
            return tf.zeros([tf.size(inputs), 2]) + tf.cast(size, tf.float32)

    tf.saved_model.save(Model(), str(tmp_path / "model"))
    with pytest.raises(EncoderError, match=r"reads files by names that its function .* computes"):
        load_encoder(f"use:{tmp_path / 'model'}")


@pytest.mark.parametrize("spec", ["use:{}/tf2", "use:{}/tf1"])
def test_a_text_is_not_taken_for_the_name_of_a_file(tf: Any, tmp_path: Path, spec: str) -> None:
    """An argument that is handed on as it is looks like the name that the loader gives."""
    v1 = tf.compat.v1

    class Model(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec(None, tf.string)])  # type: ignore[untyped-decorator]
        def __call__(self, inputs: Any) -> Any:
            return tf.zeros([tf.size(inputs), 2]) + restored(tf, inputs)

    if "tf2" in spec:
        tf.saved_model.save(Model(), str(tmp_path / "tf2"), signatures={})
    else:
        builder = v1.saved_model.Builder(str(tmp_path / "tf1"))
        with tf.Graph().as_default(), v1.Session() as session:
            texts = v1.placeholder(tf.string)
            rows = tf.zeros([tf.size(texts), 2]) + restored(tf, texts)
            describe = v1.saved_model.build_tensor_info
            signature = v1.saved_model.build_signature_def({"text": describe(texts)}, {"default": describe(rows)}, "default")
            builder.add_meta_graph_and_variables(session, [], signature_def_map={"default": signature})
        builder.save()
    with pytest.raises(EncoderError, match="would read files while it encodes, by RestoreV2"):
        load_encoder(spec.format(tmp_path)).encode(["secret"])


@pytest.mark.parametrize("operation", ["PrintV2", "SaveV2", "RestoreV2"])
def test_what_a_graph_does_while_it_is_loaded_is_checked_too(tf: Any, tmp_path: Path, operation: str) -> None:
    """The operation that initialises a TF1 graph runs before anyone asks for a vector."""
    v1 = tf.compat.v1
    builder = v1.saved_model.Builder(str(tmp_path / "model"))
    with tf.Graph().as_default(), v1.Session() as session:
        texts = v1.placeholder(tf.string, [None])
        table = v1.get_variable("table", initializer=np.zeros((1, 2), dtype=np.float32))
        rows = tf.zeros([tf.size(texts), 2]) + table
        path = str(tmp_path / "hacked")
        if operation == "PrintV2":
            start = tf.print("x", output_stream=f"file://{path}")
        elif operation == "SaveV2":
            start = tf.raw_ops.SaveV2(prefix=path, tensor_names=["x"], shape_and_slices=[""], tensors=[tf.constant(1.0)])
        else:
            named = tf.strings.join(["/etc/", "hostname"])
            (read,) = tf.raw_ops.RestoreV2(prefix=named, tensor_names=["x"], shape_and_slices=[""], dtypes=[tf.float32])
            start = read.op
        session.run(v1.global_variables_initializer())
        describe = v1.saved_model.build_tensor_info
        signature = v1.saved_model.build_signature_def({"text": describe(texts)}, {"default": describe(rows)}, "default")
        builder.add_meta_graph_and_variables(session, [], signature_def_map={"default": signature}, main_op=start)
    builder.save()
    if operation == "SaveV2":
        assert load_encoder(f"use:{tmp_path / 'model'}").encode(["x"]).tolist() == [[0, 0]]
    else:
        with pytest.raises(EncoderError, match=operation):
            load_encoder(f"use:{tmp_path / 'model'}")
    assert not list(tmp_path.glob("hacked*"))


def test_two_models_of_one_process_keep_their_own_vocabularies(tf: Any, tmp_path: Path) -> None:
    for make in (save_tf1, save_tf2):
        (tmp_path / make.__name__).mkdir()
        first = make(tf, tmp_path / make.__name__ / "model")
        before = load_encoder(f"use:{first}")
        assert before.encode(TEXTS) == pytest.approx(expected_rows(TEXTS), abs=1e-5)
        vocabulary = next((first / "assets").iterdir())
        vocabulary.write_text("\n".join(reversed(WORDS)), "utf-8")
        mirrored = [
            " ".join(WORDS[::-1][WORDS.index(word)] if word in WORDS else word for word in text.split()) for text in TEXTS
        ]
        assert load_encoder(f"use:{first}").encode(mirrored) == pytest.approx(expected_rows(TEXTS), abs=1e-5)
        assert before.encode(TEXTS) == pytest.approx(expected_rows(TEXTS), abs=1e-5)


def test_the_allowed_operations_are_known_and_name_no_files(tf: Any) -> None:
    """Judged by TensorFlow's own descriptions: no input or attribute of an allowed operation is a file, a stream or a place."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    described = op_def_pb2.OpList()
    described.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    known = {operation.name: operation for operation in described.op}
    listed = re.findall(r'(?ms)^(\w+) = "+(.*?)"', (files("medsenteval.encoders") / "tensorflow_operations.toml").read_text())
    families = {family: names.split() for family, names in listed}
    assert len(families) == 8
    for family, names in families.items():
        if family in ("reading", "saving"):
            continue
        assert set(names) <= set(known)
        for name in names:
            operation = known[name]
            words = [part.name for part in (*operation.input_arg, *operation.attr)]
            assert not [
                word for word in words if re.search("file|path|url|stream|address|dir|host|token|memory_region", word)
            ], name

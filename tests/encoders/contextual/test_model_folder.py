"""Folders that try to run code, or to read what is not theirs, through the settings that the libraries obey."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medsenteval.encoders.contextual.model_folder import (
    _leads_outside,
    _safetensors_fault,
    check_model_folder,
    check_modules,
    check_settings,
    find_model,
    model_name,
)
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from tests.conftest import lazily, pipes
from tests.encoders.contextual.test_sentence_transformer import save_model
from tests.encoders.contextual.traps import Scripted, Trap

torch = lazily("torch")

KINDS = ("transformers", "sentence-transformers")
MODULE = "sentence_transformers.models"


def change(file: Path, **entries: Any) -> None:
    """Change entries of a JSON object, or make one."""
    held = json.loads(file.read_text()) if file.is_file() else {}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**held, **entries}))


def list_module(folder: Path, kind: str, path: str = "") -> None:
    """Make a module the second of a model."""
    modules = json.loads((folder / "modules.json").read_text())
    modules[1] = {"idx": 1, "name": "1", "path": path, "type": kind}
    (folder / "modules.json").write_text(json.dumps(modules))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "good")


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    copied = shutil.copytree(good, tmp_path / "model")
    (copied / "mine.py").write_text(f"import os; os.mkdir({str(tmp_path / 'hacked')!r})")
    return copied


def router(folder: Path, hacked: Path) -> None:
    list_module(folder, f"{MODULE}.Router", "1_Router")
    change(folder / "1_Router" / "router_config.json", types={"0": "mine.Module"}, structure={"q": ["0"]}, parameters={})
    shutil.copy(folder / "mine.py", folder / "1_Router" / "mine.py")


def old_router(folder: Path, hacked: Path) -> None:
    list_module(folder, f"{MODULE}.Asym", "1_Asym")
    change(folder / "1_Asym" / "config.json", types={"0": "mine.Module"}, structure={"q": ["0"]}, parameters={})


def router_in_a_router(folder: Path, hacked: Path) -> None:
    list_module(folder, "sentence_transformers.base.modules.router.Router", "1_Router")
    types = {"0": f"{MODULE}.Router"}
    change(folder / "1_Router" / "router_config.json", types=types, structure={"q": ["0"]}, parameters={})
    change(folder / "1_Router" / "0" / "router_config.json", types={"1": "mine.Module"}, structure={"q": ["1"]}, parameters={})


def router_of_itself(folder: Path, hacked: Path) -> None:
    list_module(folder, f"{MODULE}.Router", "1_Router")
    types = {".": f"{MODULE}.Router", "x": "mine.Module"}
    change(folder / "1_Router" / "router_config.json", types=types, structure={"q": ["."]}, parameters={})


def listed(folder: Path, hacked: Path) -> None:
    list_module(folder, "mine.Module")


def word_splitter(folder: Path, hacked: Path) -> None:
    list_module(folder, f"{MODULE}.WordEmbeddings", "1_Words")
    change(folder / "1_Words" / "wordembedding_config.json", tokenizer_class="mine.Splitter", max_seq_length=9)


def pickle_by_option(folder: Path, hacked: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": Trap(hacked)}, folder / "pytorch_model.bin")
    change(folder / "sentence_bert_config.json", model_args={"weights_only": False})


def adapter_of_another_model(folder: Path, hacked: Path) -> None:
    change(folder / "adapter_config.json", base_model_name_or_path=str(hacked), peft_type="LORA")


def dense_pickle(folder: Path, hacked: Path) -> None:
    list_module(folder, f"{MODULE}.Dense", "1_Dense")
    change(folder / "1_Dense" / "config.json", in_features=16, out_features=2, bias=True)
    torch.save({"linear.weight": Trap(hacked)}, folder / "1_Dense" / "pytorch_model.bin")


def pickled_weights(folder: Path, hacked: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": Trap(hacked)}, folder / "pytorch_model.bin")


def old_pickled_weights(folder: Path, hacked: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": Trap(hacked)}, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)


def scripted_weights(folder: Path, hacked: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.jit.script(Scripted(hacked)).save(str(folder / "pytorch_model.bin"))
    hacked.unlink(missing_ok=True)


def own_model_class(folder: Path, hacked: Path) -> None:
    change(folder / "config.json", model_type="mine", auto_map={"AutoConfig": "mine.C", "AutoModel": "mine.M"})


def own_tokenizer_class(folder: Path, hacked: Path) -> None:
    change(folder / "tokenizer_config.json", tokenizer_class="Mine", auto_map={"AutoTokenizer": ["mine.T", None]})


def own_inner_class(folder: Path, hacked: Path) -> None:
    inner = {"model_type": "bert", "auto_map": {"AutoModel": "mine.M"}}
    change(folder / "config.json", model_type="encoder-decoder", encoder=inner, decoder=inner)


def own_processor_class(folder: Path, hacked: Path) -> None:
    change(folder / "processor_config.json", processor_class="Mine", auto_map={"AutoProcessor": "mine.P"})


FOR_MODULES = (
    router, old_router, router_in_a_router, router_of_itself, listed, word_splitter, pickle_by_option, dense_pickle,
)  # fmt: skip
FOR_BOTH = (
    pickled_weights, old_pickled_weights, scripted_weights, own_model_class, own_inner_class, adapter_of_another_model,
)  # fmt: skip
#: Refused by a library or ignored by it; both are well.
HARMLESS = (own_tokenizer_class, own_processor_class)


@pytest.mark.parametrize("attack", [*FOR_MODULES, *FOR_BOTH], ids=lambda attack: attack.__name__)
def test_a_folder_of_sentence_transformers_runs_no_code(
    folder: Path, tmp_path: Path, attack: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr("builtins.input", lambda prompt="": "y")
    attack(folder, tmp_path / "hacked")
    with pytest.raises(EncoderError, match="model"):
        load_encoder(f"sentence-transformers:{folder}")
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("attack", FOR_BOTH, ids=lambda attack: attack.__name__)
def test_a_folder_of_transformers_runs_no_code(
    folder: Path, tmp_path: Path, attack: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt="": "y")
    attack(folder, tmp_path / "hacked")
    with pytest.raises(EncoderError, match="model"):
        load_encoder(f"transformers:{folder}")
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attack", HARMLESS, ids=lambda attack: attack.__name__)
def test_classes_of_a_folder_are_not_imported(
    folder: Path, tmp_path: Path, attack: Callable[[Path, Path], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr("builtins.input", lambda prompt="": "y")
    attack(folder, tmp_path / "hacked")
    with suppress(EncoderError):
        assert load_encoder(f"{kind}:{folder}").encode(["fever"]).shape == (1, 16)
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_asked_whether_to_run_a_class(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a class below the top, transformers asks at the terminal, and a tired user says yes."""
    asked: list[object] = []

    def consent(*prompt: object) -> str:
        asked.append(prompt)
        return "y"

    monkeypatch.setattr("builtins.input", consent)
    own_inner_class(folder, folder)
    with pytest.raises(EncoderError, match=r"config\.json names classes of its own by auto_map"):
        load_encoder(f"{kind}:{folder}")
    assert asked == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["top", "nested", "option"])
def test_no_kernel_of_a_model_hub_is_fetched_by_a_folder(
    folder: Path, kind: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    modeling = pytest.importorskip("transformers.modeling_utils")
    if not hasattr(modeling, "load_and_register_kernel"):
        pytest.skip("this version of transformers fetches no kernels")
    fetched: list[str] = []
    monkeypatch.setattr(modeling, "load_and_register_kernel", lambda name, *rest: fetched.append(name))
    if place == "option":
        change(folder / "sentence_bert_config.json", model_kwargs={"attn_implementation": "evil/kernel"})
        if kind == "transformers":
            return  # does not read that file
    elif place == "nested":
        change(folder / "config.json", text_config={"_attn_implementation": {"": "evil/kernel@main:run"}})
    else:
        change(folder / "config.json", _attn_implementation="evil/kernel")
    with pytest.raises(EncoderError, match="attn_implementation"):
        load_encoder(f"{kind}:{folder}")
    assert fetched == []


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("sentence_bert_config.json", {"model_args": {"gguf_file": "/etc/hostname"}}),
        ("sentence_bert_config.json", {"model_args": {"offload_folder": "/tmp", "device_map": {"": "disk"}}}),
        ("sentence_bert_config.json", {"tokenizer_args": {"vocab_file": "/etc/hostname"}}),
        ("sentence_bert_config.json", {"config_kwargs": {"_configuration_file": "other.json"}}),
        ("sentence_bert_config.json", {"config_kwargs": "no dictionary"}),
        ("sentence_roberta_config.json", {"tokenizer_name_or_path": "/etc"}),
        ("sentence_bert_config.json", {"modality_config": {"text": {"method": "push_to_hub", "method_output_name": "x"}}}),
        ("sentence_bert_config.json", {"modality_config": ["text"]}),
        ("config_sentence_transformers.json", {"model_type": "SparseEncoder"}),
        ("modules.json", None),
        ("1_Pooling/config.json", {"activation_function": "torch.seed"}),
        ("1_Pooling/config.json", {"activation_function": "torch.hub._get_torch_home"}),
        ("1_Pooling/config.json", {"activation_function": ["torch.nn.modules.activation.Tanh"]}),
    ],
)
def test_options_that_no_text_encoder_needs_are_refused(
    folder: Path, name: str, entries: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(torch, "seed", lambda: called.append("seed"))
    if entries is None:
        # A name of the library, but of torch itself as one of its modules imported it.
        list_module(folder, "sentence_transformers.base.modules.module.torch")
    else:
        if name.startswith("1_Pooling"):
            list_module(folder, f"{MODULE}.Dense", "1_Pooling")
        change(folder / name, **entries)
    with pytest.raises(EncoderError, match=Path(name).name):
        load_encoder(f"sentence-transformers:{folder}")
    assert called == []


@pytest.mark.parametrize("path", ["../other", "/etc", "1_Pooling/../../other", "..\\other", 5, None])
def test_a_module_lies_inside_its_folder(folder: Path, tmp_path: Path, path: Any) -> None:
    (tmp_path / "other").mkdir()
    shutil.copy(folder / "1_Pooling" / "config.json", tmp_path / "other")
    list_module(folder, f"{MODULE}.Pooling", path)
    with pytest.raises(EncoderError, match=r"modules\.json"):
        load_encoder(f"sentence-transformers:{folder}")


@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_vocabularies_of_other_folders_are_not_read(folder: Path, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "words.txt"
    outside.write_text("[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nsecret\n")
    change(folder / "tokenizer_config.json", vocab_file=str(outside))
    with pytest.raises(EncoderError, match=r"vocab_file.*words\.txt"):
        load_encoder(f"{kind}:{folder}")
    # A path that remains from where the model was made leads nowhere and is in real checkpoints.
    change(folder / "tokenizer_config.json", vocab_file=None, special_tokens_map_file="/nowhere/special_tokens_map.json")
    (folder / "model.safetensors").rename(tmp_path / "model.safetensors")
    for listed in ("../model.safetensors", str(tmp_path / "model.safetensors"), "", "a\\b", 5):
        change(folder / "model.safetensors.index.json", metadata={}, weight_map={"x": listed})
        with pytest.raises(EncoderError, match=r"index\.json"):
            load_encoder(f"{kind}:{folder}")
    for spoilt in ("[]", "{}", '{"weight_map": []}', "[" * 100_000):
        (folder / "model.safetensors.index.json").write_text(spoilt)
        with pytest.raises(EncoderError, match=r"index\.json"):
            load_encoder(f"{kind}:{folder}")


def test_settings_as_they_are_in_real_checkpoints_load(folder: Path) -> None:
    pytest.importorskip("sentence_transformers")
    change(folder / "config.json", auto_map={"AutoModel": "mine.M"}, _attn_implementation="eager")
    change(folder / "tokenizer_config.json", name_or_path="/nowhere", tokenizer_file="/nowhere/tokenizer.json")
    options = {
        "model_args": {"torch_dtype": "float32", "attn_implementation": "sdpa"},
        "tokenizer_args": {"padding_side": "left"},
    }
    change(folder / "sentence_bert_config.json", **options, config_args={})
    modules = json.loads((folder / "modules.json").read_text())
    for number, kind in ((2, "Dense"), (3, "Normalize")):
        modules.append({"idx": number, "name": str(number), "path": f"{number}_{kind}", "type": f"{MODULE}.{kind}"})
    (folder / "modules.json").write_text(json.dumps(modules))
    activation = "torch.nn.modules.linear.Identity"
    change(folder / "2_Dense" / "config.json", in_features=16, out_features=3, bias=True, activation_function=activation)
    torch.save({"linear.weight": torch.eye(3, 16), "linear.bias": torch.zeros(3)}, folder / "2_Dense" / "pytorch_model.bin")
    rows = load_encoder(f"sentence-transformers:{folder}").encode(["fever", "chest pain"])
    assert rows.shape == (2, 3)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1], abs=1e-6)
    assert load_encoder(f"transformers:{folder}").encode(["fever"]).shape == (1, 16)


_FROM_THE_HUB = """
import sys
from pathlib import Path
from medsenteval.registry import load_encoder
folder, config = sys.argv[1], Path(sys.argv[2])
for kind in ("transformers", "sentence-transformers"):
    print(load_encoder(f"{kind}:someone/good").identity == load_encoder(f"{kind}:{folder}").identity)
config.write_text(config.read_text().replace("{", '{"_attn_implementation": "evil/kernel", ', 1))
for kind in ("transformers", "sentence-transformers"):
    for name in ("someone/good", "someone/absent"):
        try: load_encoder(f"{kind}:{name}")
        except Exception as error: print(type(error).__name__, "kernel" in str(error))
"""


@pytest.mark.slow
def test_a_model_of_the_hub_is_checked_like_a_folder(good: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    revision = "0123456789abcdef0123456789abcdef01234567"
    snapshot = tmp_path / "hub" / "models--someone--good" / "snapshots" / revision
    shutil.copytree(good, snapshot)
    (tmp_path / "hub" / "models--someone--good" / "refs").mkdir()
    (tmp_path / "hub" / "models--someone--good" / "refs" / "main").write_text(revision)
    done = subprocess.run(
        [sys.executable, "-c", _FROM_THE_HUB, str(good), str(snapshot / "config.json")],
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    refused = ["EncoderError True", "EncoderError False"]
    assert done.stdout.splitlines() == ["True", "True", *refused, *refused], done.stderr[-2000:]


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has pipes among files")
@pytest.mark.parametrize("name", ["x.index.json", "sentence_bert_config.json", "1_Dense/config.json"])
def test_a_pipe_in_a_folder_is_not_waited_for(folder: Path, name: str) -> None:
    list_module(folder, f"{MODULE}.Dense", "1_Dense")
    (folder / "1_Dense").mkdir()
    (folder / name).unlink(missing_ok=True)
    with pipes(folder / name) as opened, pytest.raises(EncoderError, match=f"{name} is missing or no file"):
        load_encoder(f"sentence-transformers:{folder}")
    assert opened == []


def test_a_model_of_the_hub_is_fixed_to_its_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    asked = []

    def download(argument: str, allow_patterns: list[str]) -> str:
        asked.append((argument, allow_patterns))
        return str(tmp_path / "models--o--n" / "0123abc")

    monkeypatch.setattr(hub, "snapshot_download", download)
    found = find_model("owner/name", "transformers")
    assert found == (tmp_path / "models--o--n" / "0123abc", "owner/name", {"revision": "0123abc"})
    assert asked == [("owner/name", ["*.json"])]
    assert find_model(str(tmp_path), "transformers") == (tmp_path, str(tmp_path), {})
    for wrong in ("a/b/c", "./absent", "~/absent", "/absent", "a b"):
        with pytest.raises(EncoderError, match=r"there is no folder .*, and it cannot be the ID of a model hub"):
            find_model(wrong, "transformers")

    def refused(*arguments: Any, **options: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr(hub, "snapshot_download", refused)
    with pytest.raises(EncoderError, match=r"^transformers: 'owner/name' could not be loaded: no network$"):
        find_model("owner/name", "transformers")
    (tmp_path / "file").touch()
    with pytest.raises(EncoderError, match="is a file; expected is the folder"):
        find_model(str(tmp_path / "file"), "transformers")


def test_a_safetensors_file_is_judged_by_its_header(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    entries = {
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
    }
    header = json.dumps({"__metadata__": {}, **entries}).encode()
    whole = len(header).to_bytes(8, "little") + header + bytes(12)
    empty = (2).to_bytes(8, "little") + b"{}"
    for sound in (whole, empty):
        file.write_bytes(sound)
        assert _safetensors_fault(file, "transformers") == ""
    cut = [whole[:-1], whole + b"x", (3).to_bytes(8, "little") + b"{}", b"", b"\xff" * 8]
    for content in [*cut, (2).to_bytes(8, "little") + b"[]", (3).to_bytes(8, "little") + b"{,}"]:
        file.write_bytes(content)
        assert _safetensors_fault(file, "transformers")
    assert _safetensors_fault(tmp_path, "transformers")


def test_a_name_that_no_file_can_have_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "own.txt").touch()
    (tmp_path / "other.txt").touch()
    names = ["a\0b", str(tmp_path / "absent"), str(tmp_path / "model" / "own.txt"), str(tmp_path / "other.txt")]
    assert [_leads_outside(name, tmp_path / "model") for name in names] == [False, False, False, True]


def settings_folder(folder: Path, **files: Any) -> Path:
    """A folder of settings alone."""
    for name, content in {"config": {}, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize("name", [
    "config", "tokenizer_config", "processor_config", "preprocessor_config", "generation_config", "special_tokens_map",
    "added_tokens",
])  # fmt: skip
def test_every_file_of_settings_is_read_to_its_depths(tmp_path: Path, name: str) -> None:
    for sound in (
        {"_attn_implementation": "sdpa", "experts_implementation": "eager", "auto_map": {"AutoModel": "a.B"}},
        {"implementation": "owner/kernel", "inner": [{"vocab_file": "/absent/words.txt", "auto_maps": 1}]},
    ):
        check_settings(settings_folder(tmp_path, **{name: sound}), "k")
    (tmp_path.parent / "words.txt").touch()
    outside = str(tmp_path / ".." / "words.txt")
    for wrong, reason in (
        ({"attn_implementation": "owner/kernel"}, "asks by attn_implementation for the kernel owner/kernel"),
        ({"a": {"x_experts_implementation": "o/k"}}, "asks by x_experts_implementation for the kernel o/k"),
        ({"a": {"auto_map": {}}}, "names classes of its own by auto_map"),
        ({"a": [1, [{"auto_map": {}}]]}, "names classes of its own by auto_map"),
        ({"a": {"b": {"vocab_file": outside}}}, "names by vocab_file the file .*, which is not in the model's folder"),
    ):
        with pytest.raises(EncoderError, match=rf"^k: .*{name}\.json {reason}"):
            check_settings(settings_folder(tmp_path, **{name: wrong}), "k")


@pytest.mark.parametrize("other", ["model.ckpt-10.index", "tf_model.h5", "flax_model.msgpack", "model.onnx", "notes.txt"])
def test_weights_of_another_framework_are_told_from_none(tmp_path: Path, other: str) -> None:
    (settings_folder(tmp_path) / other).touch()
    listed = r"model\.safetensors, .*, pytorch_model\.bin\.index\.json"
    hint = "" if other == "notes.txt" else f"; {other} is of another framework and must be converted"
    with pytest.raises(EncoderError, match=rf"has no weights; expected is one of {listed}{hint}$"):
        check_model_folder(tmp_path, "k")


def test_weights_are_those_that_the_library_would_take(tmp_path: Path) -> None:
    """In the order of the library: whole before in parts, safetensors before pickles."""
    settings_folder(tmp_path)
    for name in ("pytorch_model.bin.index.json", "pytorch_model.bin", "model.safetensors.index.json", "model.safetensors"):
        (tmp_path / name).write_text('{"weight_map": {"a": "part-2", "b": "part-1"}}')
        named = "part-1 is missing, but" if name.endswith("index.json") else f"{name} is not whole or not a file of its kind"
        with pytest.raises(EncoderError, match=named):
            check_model_folder(tmp_path, "k")


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"max_seq_length": 5, "do_lower_case": True, "processing_kwargs": {"text": {"x": "a/b"}}}, ""),
        ({"model_args": {}, "tokenizer_kwargs": {"padding_side": "left"}, "config_args": {"is_causal": True}}, ""),
        ({"modality_config": {"text": {"method": "forward"}, "other": {"method": "get_text_features"}}}, ""),
        ({"modality_config": {"text": {"method": "get_features"}}}, "'get_features'"),
        ({"modality_config": {"text": {"method": "forwards"}}}, "'forwards'"),
        ({"modality_config": {"text": {}}}, "'None'"),
        ({"modality_config": {"text": 1}}, "''"),
        ({"model_args": {"attn_implementation": "owner/kernel"}}, "'attn_implementation'"),
        ({"model_args": {"state_dict": {}}, "x": 1}, "'x', 'state_dict'"),
        ({"model_args": "text"}, "'model_args'"),
    ],
)
def test_options_of_a_transformer_are_the_known_ones(tmp_path: Path, options: dict[str, Any], refused: str) -> None:
    settings_folder(tmp_path, sentence_bert_config=options)
    if not refused:
        check_modules(tmp_path, weights=False)
        return
    with pytest.raises(EncoderError, match=f"sets {refused}, which text encoders do not need; remove it$"):
        check_modules(tmp_path, weights=False)


def test_names_that_say_nothing_are_passed_over(tmp_path: Path) -> None:
    nothing = (
        "model",
        "Models",
        "checkpoint",
        "checkpoints",
        "Snapshot",
        "snapshots",
        "sentencetransformer",
        "0" * 40,
        "aF" * 20,
    )
    for name in (*nothing, "models-2", "checkpoint-500", "0" * 39, "0" * 41, "g" * 40):
        folder = tmp_path / "org--fine-bert" / name
        folder.mkdir(parents=True)
        assert model_name(str(folder)) == ("fine-bert" if name in nothing else name)
        (folder / "README.md").write_text("# A title of words\n# org/titled\n")
        assert model_name(str(folder)) == ("titled" if name in nothing else name)
    assert (model_name(""), model_name("org/name")) == ("", "name")

"""Adapters of PEFT: merged into the model that the user names, and nothing else of them is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medsenteval.encoders.contextual.peft_adapter import PeftAdapter
from medsenteval.errors import EncoderError
from medsenteval.registry import load_encoder
from tests.conftest import lazily
from tests.encoders.contextual.test_sentence_transformer import save_model
from tests.encoders.contextual.test_transformer import TEXTS, save_bert

torch, transformers, peft = lazily("torch"), lazily("transformers"), lazily("peft")

WORDY = [text for text in TEXTS if text.strip()]


def save_lora(model_folder: Path, folder: Path, seed: int = 0) -> Any:
    """Write a LoRA adapter whose change is not zero, and return the model with it, not merged."""
    torch.manual_seed(seed)
    model = transformers.AutoModel.from_pretrained(model_folder)
    changed = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["query", "value"]))
    with torch.no_grad():
        for name, parameter in changed.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.5)
    changed.save_pretrained(str(folder))
    return changed.eval()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "tiny-bert"
    save_bert(folder)
    return folder


def test_vectors_are_those_of_the_model_with_its_adapter(base: Path, tmp_path: Path) -> None:
    changed = save_lora(base, tmp_path / "lora")
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    expected = []
    for text in WORDY:
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=20)
        with torch.no_grad():
            expected.append(changed(**inputs).last_hidden_state[0, 1:-1].mean(0).numpy())
    encoder = load_encoder(f"transformers:{base},max_length=20,adapter={tmp_path / 'lora'}")
    plain = load_encoder(f"transformers:{base},max_length=20")
    assert encoder.encode(WORDY) == pytest.approx(np.array(expected), abs=1e-5)
    assert np.abs(plain.encode(WORDY) - np.array(expected)).max() > 0.01
    assert encoder.name == "tiny-bert+lora"
    save_lora(base, tmp_path / "other", seed=1)
    other = load_encoder(f"transformers:{base},max_length=20,adapter={tmp_path / 'other'}")
    assert len({encoder.identity, plain.identity, other.identity}) == 3


@pytest.mark.slow
def test_sentence_transformers_takes_the_same_adapter(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_model(tmp_path / "tiny")
    save_lora(folder, tmp_path / "lora")
    model = SentenceTransformer(str(folder), device="cpu")
    model.load_adapter(str(tmp_path / "lora"))
    encoder = load_encoder(f"sentence-transformers:{folder},adapter={tmp_path / 'lora'}")
    assert encoder.encode(TEXTS) == pytest.approx(model.encode(TEXTS), abs=1e-5)
    assert encoder.identity != load_encoder(f"sentence-transformers:{folder}").identity


def test_an_adapter_alone_is_refused_with_how_to_name_its_model(base: Path, tmp_path: Path) -> None:
    save_lora(base, tmp_path / "lora")
    (tmp_path / "lora" / "config.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"name both: transformers:MODEL,adapter="):
        load_encoder(f"transformers:{tmp_path / 'lora'}")


def test_what_cannot_be_merged_or_is_not_there_is_said(base: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(EncoderError, match=r"has no adapter_config\.json"):
        load_encoder(f"transformers:{base},adapter={empty}")
    (empty / "adapter_config.json").write_text(json.dumps({"peft_type": "PREFIX_TUNING"}))
    with pytest.raises(EncoderError, match="peft_type PREFIX_TUNING; it can be ADALORA"):
        load_encoder(f"transformers:{base},adapter={empty}")
    (empty / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    # A pickle in place of safetensors is not opened.
    (empty / "adapter_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(EncoderError, match=r"has no adapter_model\.safetensors"):
        load_encoder(f"transformers:{base},adapter={empty}")
    (empty / "adapter_model.safetensors").write_bytes(b"nothing")
    with pytest.raises(EncoderError, match="does not fit the model"):
        load_encoder(f"transformers:{base},adapter={empty}")


@pytest.mark.parametrize(
    "settings",
    [
        {"megatron_config": {"x": 1}, "megatron_core": "mine"},
        {"megatron_config": {"x": 1}, "megatron_core": "transformers.mine"},
        {"init_lora_weights": "corda", "corda_config": {"cache_file": "cache.pt"}},
        {"init_lora_weights": "lora_ga", "lora_ga_config": {"cache_file": "cache.pt"}},
        {"a_setting_of_tomorrow": "mine.Class"},
    ],
)
def test_settings_that_import_or_read_are_refused(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    save_lora(base, tmp_path / "lora")
    (tmp_path / "mine.py").write_text(f"import os; os.mkdir({str(tmp_path / 'hacked')!r})")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "lora" / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))
    with pytest.raises(EncoderError, match="which no merged adapter needs; remove it"):
        load_encoder(f"transformers:{base},adapter={tmp_path / 'lora'}").encode(["x"])
    assert not (tmp_path / "hacked").exists()


def test_an_adapter_of_the_hub_is_fetched_once_its_settings_are_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    folder = tmp_path / "0123abc"
    folder.mkdir()
    asked: list[tuple[str, list[str], str | None]] = []

    def download(argument: str, allow_patterns: list[str], revision: str | None = None) -> str:
        asked.append((argument, allow_patterns, revision))
        if revision:
            (folder / "adapter_model.safetensors").write_bytes(b"weights")
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", download)
    (folder / "adapter_config.json").write_text('{"peft_type": "PREFIX_TUNING"}')
    with pytest.raises(EncoderError, match="peft_type PREFIX_TUNING"):
        PeftAdapter("owner/lora", "transformers")
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "auto_mapping": null, "unknown": false}')
    adapter = PeftAdapter("owner/lora", "transformers")
    assert asked == [("owner/lora", ["*.json"], None)] * 2 + [("owner/lora", ["adapter_model.safetensors"], "0123abc")]
    assert adapter.name == "lora"
    key = adapter.key
    (folder / "adapter_model.safetensors").write_bytes(b"others!")
    assert PeftAdapter(str(folder), "transformers").key != key
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    assert PeftAdapter(str(folder), "transformers").key == key
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 2}')
    assert PeftAdapter(str(folder), "transformers").key != key

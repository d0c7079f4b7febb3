"""What is remembered of a model belongs to its files, the options and the libraries, and to nobody else."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from medsenteval.encoders.contextual import lazy_model
from medsenteval.encoders.contextual.lazy_model import LazyModel, content_key


def test_a_models_key_follows_what_any_way_of_loading_reads(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "config.json").write_text("{}")
    plain = content_key(tmp_path, {}, {"b": 1, "a": 2})
    pictures, others = ("a.png", "part/b.jpg"), ("tf.h5", "f.msgpack", "r.ot", "m.tflite")
    for name in (*pictures, *others, "README.md", ".gitattributes", "c.py", "x.lock", "x.metadata"):
        (tmp_path / name).write_text("bystander")
    (tmp_path / "empty").mkdir()
    assert content_key(tmp_path, {}, {"a": 2, "b": 1}) == plain
    keys = {plain, content_key(tmp_path, {}, {"a": 2, "b": 1}, "more"), content_key(tmp_path, {}, {"a": 2, "b": 2})}
    (tmp_path / "part" / "vocab.txt").write_text("x")
    keys.add(content_key(tmp_path, {}, {"a": 2, "b": 1}))
    (tmp_path / "part" / "vocab.txt").rename(tmp_path / "part" / "words.txt")
    keys.add(content_key(tmp_path, {}, {"a": 2, "b": 1}))
    (tmp_path / "part" / "words.txt").write_text("y")
    keys.add(content_key(tmp_path, {}, {"a": 2, "b": 1}))
    assert len(keys) == 6


def test_of_a_model_of_the_hub_the_revision_stands_for_the_files(tmp_path: Path) -> None:
    known = content_key(tmp_path, {"revision": "1"}, {})
    (tmp_path / "config.json").write_text("{}")
    assert content_key(tmp_path, {"revision": "1"}, {}) == known
    assert len({known, content_key(tmp_path, {"revision": "2"}, {}), content_key(tmp_path, {}, {})}) == 3


def test_facts_are_found_out_again_for_other_libraries_options_and_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    folder.mkdir()
    loaded: list[int] = []

    def load() -> tuple[Any, dict[str, Any]]:
        loaded.append(len(loaded))
        return f"model {len(loaded)}", {"n": len(loaded)}

    first = LazyModel.remembered(folder, {}, {"a": 1}, load)
    assert (first.facts, first.model, first.model) == ({"n": 1}, "model 1", "model 1")
    again = LazyModel.remembered(folder, {}, {"a": 1}, load)
    assert (again.facts, len(loaded)) == ({"n": 1}, 1)
    assert (again.model, again.model, len(loaded)) == ("model 2", "model 2", 2)
    assert LazyModel.remembered(folder, {}, {"a": 2}, load).facts == {"n": 3}
    for package in ("torch", "transformers", "tokenizers", "sentence-transformers"):

        def found(name: str, changed: str = package) -> Any:
            return [SimpleNamespace(version="0.0.1")] if name == changed else importlib.metadata.distributions(name=name)

        with monkeypatch.context() as patched:
            patched.setattr(lazy_model, "distributions", found)
            assert LazyModel.remembered(folder, {}, {"a": 1}, load).facts == {"n": len(loaded)}
    assert len(loaded) == 7
    monkeypatch.setattr(lazy_model, "_LAYOUT", lazy_model._LAYOUT + 1)
    assert LazyModel.remembered(folder, {}, {"a": 1}, load).facts == {"n": 8}


@pytest.mark.parametrize("damage", [b"", b"[1]", b"\xff", b"[" * 100_000])
def test_facts_that_cannot_be_read_are_found_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model").mkdir()

    def remembered(width: int) -> dict[str, Any]:
        return LazyModel.remembered(tmp_path / "model", {}, {}, lambda: (None, {"width": width})).facts

    assert (remembered(3), remembered(4)) == ({"width": 3}, {"width": 3})
    [known] = (tmp_path / "cache" / "models-known").iterdir()
    known.write_bytes(damage)
    assert (remembered(5), remembered(6)) == ({"width": 5}, {"width": 5})


def test_a_cache_that_cannot_be_written_costs_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setenv("MEDSENTEVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model").mkdir()
    assert LazyModel.remembered(tmp_path / "model", {}, {}, lambda: ("loaded", {"width": 3})).model == "loaded"

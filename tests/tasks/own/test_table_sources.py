"""Data sets of the model hub, from a cache that the test makes: configurations, splits, shards, class names, the revision."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medsenteval import Settings, own_task, registry
from medsenteval.contracts import Dataset, Task
from medsenteval.datasets.locate import load_dataset
from medsenteval.errors import DataError, DataMissingError
from medsenteval.tasks.own.table_sources import table_in_memory

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Hub = Callable[..., Path]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Return what writes a repository into a cache as the hub's library lays it out; the network is off."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    def write(name: str, files: dict[str, bytes | str]) -> Path:
        repository = tmp_path / f"datasets--{name.replace('/', '--')}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(COMMIT)
        for path, content in files.items():
            file = repository / "snapshots" / COMMIT / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return repository

    return write


def _read(task: Task) -> Dataset:
    return load_dataset(task, Path("/nonexistent"), Settings(allow_incomplete=True))


def _parquet(columns: dict[str, list[Any]], names: dict[str, list[str]], path: Path) -> bytes:
    import pyarrow
    from pyarrow import parquet

    features = {column: {"names": each, "_type": "ClassLabel"} for column, each in names.items()}
    described = {"huggingface": json.dumps({"info": {"features": features}})}
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(described), path)
    return path.read_bytes()


def test_a_data_set_is_read_from_the_cache_with_its_class_names_and_commit(hub: Hub, tmp_path: Path) -> None:
    parts = {}
    for split, n, shards in (("train", 12, 2), ("validation", 6, 1), ("test", 6, 1)):
        for shard in range(shards):
            columns: dict[str, list[Any]] = {
                "text": [f"{split} {shard} {i}" for i in range(n // shards)],
                "label": [i % 2 for i in range(n // shards)],
            }
            if split == "test":
                columns["label"][0] = -1
            content = _parquet(columns, {"label": ["sick", "well"]}, tmp_path / "x.parquet")
            parts[f"data/{split}-{shard:05}-of-{shards:05}.parquet"] = content
    hub("clinic/notes", {"README.md": "---\nlicense: mit\n---\n", **parts})
    task = own_task("hf:clinic/notes")
    dataset = _read(task)
    assert (task.name, task.protocol, task.labels) == ("hf:clinic/notes", "split", ("sick", "well"))
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 12, "dev": 6, "test": 5}
    assert dataset.options["revision"] == COMMIT
    assert [str(row) for row in dataset.rejected] == ["test-00000-of-00001.parquet:1: column 'label': no label"]
    assert dataset.splits["train"].texts[:7:6] == ("train 0 0", "train 1 0")
    (one,) = registry.select_tasks("hf:clinic/notes:test,name=Clinic")
    assert (one.name, one.protocol, len(_read(one))) == ("Clinic", "nested", 5)


def test_the_card_names_configurations_and_their_files(hub: Hub) -> None:
    card = """---
configs:
- config_name: pairs
  data_files:
  - {split: train, path: p/a*.csv}
  - {split: test, path: [p/z.csv]}
- config_name: odd
  data_files:
  - {split: first, path: o/1.jsonl}
  - {split: second, path: o/2.jsonl}
---
"""
    pair = "sentence1,sentence2,label\n" + "a,b,1\nc,d,0\n" * 3
    odd = '{"text": "a", "label": 1}\n{"text": "b", "label": 0}\n' * 3
    hub("o/n", {"README.md": card, "p/a1.csv": pair, "p/a2.csv": pair, "p/z.csv": pair, "o/1.jsonl": odd, "o/2.jsonl": odd})
    pairs = own_task("hf:o/n:pairs")
    assert (pairs.family, pairs.protocol) == ("pair classification", "kfold")
    assert {name: len(split) for name, split in _read(pairs).splits.items()} == {"train": 12, "test": 6}
    assert len(_read(own_task("hf:o/n:odd:second"))) == 6
    for name, message in (
        ("o/n", "name one of its configurations, as hf:o/n:CONFIG: pairs, odd"),
        ("o/n:none", "name one of its configurations"),
        ("o/n:odd", "its splits are first, second; name one of them"),
        ("o/n:pairs:dev", "its splits are train, test; name one of them"),
    ):
        with pytest.raises(DataError, match=message):
            own_task(f"hf:{name}")


def test_one_configuration_need_not_be_named_and_its_files_may_say_their_splits(hub: Hub) -> None:
    rows = "text,label\na,1\nb,0\nc,1\nd,0\n"
    for number, files in enumerate(("d/*.csv", "[d/train.csv, d/test.csv]", "[{path: d/*}]")):
        card = f"---\nconfigs:\n- config_name: default\n  data_files: {files}\n---\n"
        hub(f"o/{number}", {"README.md": card, "d/train.csv": rows, "d/test.csv": rows, "d/dev.txt": "x", "train.csv": "x"})
        for name in (f"hf:o/{number}", f"hf:o/{number}:default"):
            task = own_task(name)
            assert (task.protocol, {part: len(split) for part, split in _read(task).splits.items()}) == (
                "kfold", {"train": 4, "test": 4},
            )  # fmt: skip
        assert len(_read(own_task(f"hf:o/{number}:train"))) == 4
    # Without a card a configuration is a folder.
    hub("o/folders", {"en/train.csv": rows, "en/test.csv": rows, "en/notes.md": "x", "de/train.csv": rows + "e,1\nf,0\n"})
    assert {name: len(split) for name, split in _read(own_task("hf:o/folders:en")).splits.items()} == {"train": 4, "test": 4}
    assert len(_read(own_task("hf:o/folders:de:train"))) == 6
    with pytest.raises(DataError, match=r"^hf:o/folders: several files could be train: de/train\.csv, en/train\.csv; keep one"):
        own_task("hf:o/folders")


def test_what_is_neither_cached_nor_to_be_had_says_so(hub: Hub) -> None:
    hub("o/empty", {"README.md": "nothing"})
    with pytest.raises(DataMissingError, match="hf:o/absent: neither in the cache nor to be had"):
        own_task("hf:o/absent")
    with pytest.raises(DataError, match="no file named train, dev or test"):
        own_task("hf:o/empty")
    for wrong in ("hf:name", "hf:o/n:a:b:c"):
        with pytest.raises(DataError, match="expected hf:OWNER/NAME"):
            own_task(wrong)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "a list of data holds a dict for each row"),
        ([1, 2], "a list of data holds a dict for each row"),
        ([{"text": "a"}, 3], "a list of data holds a dict for each row"),
        ((["a"], ["b"], ["c"]), "a tuple of data is"),
        ((["a"], "b"), "a tuple of data is"),
        ((["a"], 3), "a tuple of data is"),
        (object(), "a object is no table; give a DataFrame, a list of dicts"),
    ],
)
def test_what_is_no_table_in_memory_is_refused(source: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        table_in_memory(source)


def test_a_table_in_memory_has_the_columns_of_all_its_rows() -> None:
    rows: list[dict[Any, Any]] = [{"text": "a", 1: "x"}, {"text": "b", "more": 2.0}]
    table = table_in_memory(rows)
    assert table.columns == ("text", "1", "more")
    assert list(table.pick(["more", "text"])) == [(1, (None, "a")), (2, (2.0, "b"))]
    assert list(table_in_memory((["a", "b"], ("x", "y"))).pick(["label", "text"])) == [(1, ("x", "a")), (2, ("y", "b"))]
    assert table_in_memory(table) is table

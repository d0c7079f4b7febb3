"""Data folders: found in any case, described when absent, compared with the published counts, limited without bias."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from medsenteval.datasets import data_root, load_dataset, locate, sample_root
from medsenteval.errors import DataMissingError, SettingsError
from medsenteval.registry import select_tasks, task
from medsenteval.settings import Settings

Write = Callable[..., Path]

CITATIONS = "".join(f"{label}\ttext {i} [C]\n" for i, label in enumerate(["neutral"] * 40 + ["positive"] * 9 + ["negative"]))


def test_every_sample_task_reads_without_a_difference_to_explain() -> None:
    for each in select_tasks("sentence"):
        dataset = load_dataset(each, sample_root(), Settings())
        assert dataset.synthetic
        assert len(dataset) >= 100
        assert {name for split in dataset.splits.values() for name in split.ids}


def test_folders_are_found_whatever_their_case_or_as_the_root_itself(write: Write) -> None:
    root = write({"citationsa/train.txt": CITATIONS})
    assert locate(task("CitationSA"), root) == root / "citationsa"
    assert locate(task("CitationSA"), root / "citationsa") == root / "citationsa"
    misspelt = write({"CitaionSA/train.txt": CITATIONS}, "other")
    assert locate(task("CitationSA"), misspelt).name == "CitaionSA"


def test_absent_data_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=r"no folder MedNLI .*physionet"):
        load_dataset(task("MedNLI"), tmp_path, Settings())
    (tmp_path / "MedNLI").mkdir()
    with pytest.raises(DataMissingError, match=r"holds no file mli_train_v1.jsonl.*physionet"):
        load_dataset(task("MedNLI"), tmp_path, Settings())


def test_the_root_comes_from_the_argument_then_the_environment_then_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_root() == sample_root()
    monkeypatch.setenv("MEDSENTEVAL_DATA", str(tmp_path))
    assert data_root() == tmp_path
    assert data_root(tmp_path.parent) == tmp_path.parent
    with pytest.raises(DataMissingError, match="does not exist"):
        data_root(tmp_path / "absent")


def test_a_difference_to_the_published_counts_is_noted(write: Write) -> None:
    dataset = load_dataset(task("CitationSA"), write({"CitationSA/train.txt": CITATIONS + "bad\trow\n"}), Settings())
    assert "all has 50 rows, 4,182 are published" in dataset.notes
    assert any(note.startswith("1 row(s) rejected; the first: train.txt:51") for note in dataset.notes)
    assert not dataset.synthetic


def test_a_limit_keeps_the_proportions_of_the_classes_and_every_class(write: Write) -> None:
    root = write({"CitationSA/train.txt": CITATIONS})
    limited = load_dataset(task("CitationSA"), root, Settings(limit=10)).splits["all"]
    assert limited.labels is not None
    assert np.bincount(limited.labels).tolist() in ([2, 7, 1], [1, 8, 1])
    positions = [int(item.split(":")[1]) for item in limited.ids]
    assert positions == sorted(positions)
    whole = load_dataset(task("CitationSA"), root, Settings())
    assert load_dataset(task("CitationSA"), root, Settings(limit=10)).fingerprint != whole.fingerprint


def test_reading_options_are_checked(write: Write) -> None:
    root = write({"CitationSA/train.txt": CITATIONS})
    with pytest.raises(SettingsError, match="no reading option 'snippets'"):
        load_dataset(task("CitationSA"), root, Settings(task_options={"CitationSA": {"snippets": "all"}}))
    with pytest.raises(SettingsError, match="it can be first, all, concat"):
        load_dataset(task("BioASQ"), sample_root(), Settings(task_options={"BioASQ": {"snippets": "some"}}))


def test_the_fingerprint_sees_every_change(write: Write) -> None:
    def fingerprint(text: str, folder: str) -> str:
        return load_dataset(task("CitationSA"), write({"CitationSA/train.txt": text}, folder), Settings()).fingerprint

    base = "positive\ta b\nneutral\tc\n"
    changed = [
        "positive\ta  b\nneutral\tc\n",
        "positive\ta\nneutral\tb c\n",
        "neutral\ta b\npositive\tc\n",
        "neutral\tc\npositive\ta b\n",
    ]
    prints = [fingerprint(text, f"d{i}") for i, text in enumerate([base, *changed])]
    assert prints[1] == prints[0]  # white space alone is no change: texts are cleaned
    assert len(set(prints)) == 4
